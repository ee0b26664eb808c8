#include "compress/random_k_codec.h"
#include "tests/compress/sparse_samples.h"

namespace hobnob {
namespace {

RngKey key_of(std::uint64_t stream) {
  return {.seed = 17, .stream = stream};
}

TEST(RandomK, HasTheMannersOfACodec) {
  for (const std::uint32_t one_in : {1U, 7U, 100U, 65536U}) {
    for (const bool is_unbiased : {false, true}) {
      SCOPED_TRACE(one_in);
      expect_codec_manners(RandomKCodec({.one_in = one_in, .is_unbiased = is_unbiased}));
      expect_differences_are_fused(RandomKCodec({.one_in = one_in, .is_unbiased = is_unbiased}));
    }
  }
}

TEST(RandomK, SendsOneGroupOfEachStratum) {
  const std::vector<float> values(64 * 100, 1.0F);
  const RandomKCodec codec({.one_in = 10});
  for (std::uint64_t stream = 0; stream < 50; ++stream) {
    const std::vector<float> decoded =
        decode(codec, encode(codec, values, 0, key_of(stream)), values.size());
    for (std::size_t stratum = 0; stratum < 10; ++stratum) {
      const auto first = decoded.begin() + static_cast<std::ptrdiff_t>(stratum * 640);
      ASSERT_EQ(std::count(first, first + 640, 1.0F), 64);
      const auto at = std::find(first, first + 640, 1.0F) - first;
      ASSERT_EQ(at % 64, 0);
      ASSERT_EQ(std::count(first + at, first + at + 64, 1.0F), 64);
    }
  }
}

TEST(RandomK, PlacesFollowFromTheKeyAlone) {
  const RandomKCodec codec({.one_in = 10});
  const std::vector<float> a =
      decode(codec, encode(codec, bell_values(70000, 1), 0, key_of(1)), 70000);
  const std::vector<float> b =
      decode(codec, encode(codec, bell_values(70000, 2), 0, key_of(1)), 70000);
  const std::vector<float> c =
      decode(codec, encode(codec, bell_values(70000, 2), 0, key_of(2)), 70000);
  std::size_t same = 0;
  std::size_t other = 0;
  for (std::size_t k = 0; k < 70000; ++k) {
    same += (a[k] != 0.0F) != (b[k] != 0.0F) ? 1U : 0U;
    other += (c[k] != 0.0F) != (b[k] != 0.0F) ? 1U : 0U;
  }
  EXPECT_LE(same, 10U);  // values that are zero by chance
  EXPECT_GE(other, 5000U);
}

TEST(RandomK, IsUnbiased) {
  // 257 values in 5 groups, the last of one value; strata of 3 groups, the last of 2.
  constexpr std::size_t kCount = 257;
  constexpr std::size_t kDraws = 10000;
  const RandomKCodec codec({.one_in = 3, .is_unbiased = true});
  const std::vector<float> values = random_values(Source::kGauss, kCount, 1);
  std::vector<double> sum(kCount);
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    Bytes bytes;
    codec.encode(std::span<const float>(values), key_of(draw), bytes);
    ASSERT_TRUE(codec.decode_add(bytes, 1.0, std::span<double>(sum)).ok());
  }
  // Of a value v: variance 2 v^2, and the rounding to 8 bits.
  double squares = 0.0;
  for (std::size_t k = 0; k < kCount; ++k) {
    const auto v = static_cast<double>(values[k]);
    const double sigma = std::abs(v) * std::sqrt((2.0 + 0x1.0p-14) / kDraws);
    const double error = (sum[k] / kDraws - v) / sigma;
    squares += error * error;
    EXPECT_LE(std::abs(error), 4.0) << k;
  }
  EXPECT_GT(squares, 1.0);
}

TEST(RandomK, RoundsAtRandomWithoutBias) {
  // Everything is sent, so that only the rounding is left: values a third of the way between two
  // bf16.
  constexpr std::size_t kCount = 65536;
  const std::vector<float> values(kCount, 1.0F + 0x1.0p-7F / 3.0F);
  const RandomKCodec codec({.one_in = 1, .is_unbiased = true});
  const std::vector<float> decoded = decode(codec, encode(codec, values), kCount);
  const auto up = static_cast<double>(std::ranges::count(decoded, 1.0F + 0x1.0p-7F));
  const auto down = static_cast<double>(std::ranges::count(decoded, 1.0F));
  EXPECT_EQ(up + down, kCount);
  EXPECT_NEAR(up, kCount / 3.0, 4.0 * std::sqrt(kCount * 2.0 / 9.0));
}

TEST(RandomK, IsAContractionInTheMean) {
  constexpr std::size_t kCount = 1280;
  const RandomKCodec codec({.one_in = 10});
  double lost = 0.0;
  double all = 0.0;
  for (std::uint64_t draw = 0; draw < 1000; ++draw) {
    const std::vector<float> values = random_values(Source::kGauss, kCount, draw);
    lost += squared_error(values, decode(codec, encode(codec, values, 0, key_of(draw)), kCount));
    all += squared_norm(values);
  }
  EXPECT_NEAR(lost / all, 0.9, 0.001);
}

TEST(RandomK, TakesItsNominalBits) {
  constexpr std::size_t kCount = 1U << 20U;
  const RandomKCodec codec({.one_in = 10});
  const auto bits = 8.0 * static_cast<double>(encode(codec, bell_values(kCount)).size()) / kCount;
  EXPECT_NEAR(bits, codec.traits().nominal_bits, 0.02 * bits);
}

TEST(RandomK, SendsAPoisonedGroupAsZerosAndHarmsNoOther) {
  for (const bool is_unbiased : {false, true}) {
    const RandomKCodec codec({.one_in = 1, .is_unbiased = is_unbiased});
    std::vector<float> values = bell_values(300);
    const std::vector<float> clean = decode(codec, encode(codec, values), 300);
    for (const float poison : {kNan, -kInfinity, std::numeric_limits<float>::max()}) {
      values[70] = poison;
      const std::vector<float> decoded = decode(codec, encode(codec, values, 1), 300);
      for (std::size_t k = 0; k < 300; ++k) {
        EXPECT_EQ(decoded[k], k / 64 == 1 ? 0.0F : clean[k]);
      }
    }
  }
  const RandomKCodec scaled({.one_in = 65536, .is_unbiased = true});
  std::size_t poisoned = 0;
  const std::vector<float> huge(65536, 0x1.0p120F);
  for (std::uint64_t stream = 0; stream < 2000; ++stream) {
    Bytes bytes;
    poisoned += scaled.encode(std::span<const float>(huge), key_of(stream), bytes);
  }
  EXPECT_GT(poisoned, 0U);
}

TEST(RandomK, ReturnsWhatItLost) {
  expect_conservation<float>(RandomKCodec({.one_in = 4}), 1e-6);
  expect_conservation<double>(RandomKCodec({.one_in = 4}), 1e-12);
}

TEST(RandomK, HostileBytesAreHarmless) {
  const RandomKCodec codec({.one_in = 2});
  expect_hostile_bytes_are_harmless(codec, encode(codec, bell_values(300)), 300);
}

TEST(RandomK, RefusesWhatNoEncoderSends) {
  const RandomKCodec codec({.one_in = 1});
  const Bytes good = encode(codec, bell_values(300));
  const std::size_t body = kHeader + kFrameHeader;
  const auto expect_refused = [&](std::size_t at, unsigned value, const char* what) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    seal(bytes);
    EXPECT_TRUE(is_refused(codec, bytes, 300)) << what;
  };
  expect_refused(40, 0, "one in none");
  expect_refused(40, 2, "a body of another length");
  expect_refused(43, 1, "one in too many");
  expect_refused(44, 1, "a reserved byte");
  expect_refused(good.size() - 1, 1, "padding");
  Bytes infinite = good;
  infinite[body] = std::byte{0x80};
  infinite[body + 1] = std::byte{0x7f};
  seal(infinite);
  EXPECT_TRUE(is_refused(codec, infinite, 300));
  Bytes zeros = good;
  std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(body), zeros.end(), std::byte{0});
  seal(zeros);
  EXPECT_TRUE(is_refused(codec, zeros, 300));
}

TEST(RandomK, BytesAreAlikeForAllTargets) {
  expect_targets_agree(RandomKCodec({.one_in = 10}), 70001);
}

TEST(RandomK, HashesAreGolden) {
  const std::vector<float> values = bell_values(70000);
  EXPECT_EQ(hash_bytes(encode(RandomKCodec({.one_in = 10}), values, 0, key_of(5))),
            0x60df10b882d2bdffULL);
  EXPECT_EQ(
      hash_bytes(encode(RandomKCodec({.one_in = 10, .is_unbiased = true}), values, 0, key_of(5))),
      0x4e8ea3886ed4187cULL);
}

}  // namespace
}  // namespace hobnob
