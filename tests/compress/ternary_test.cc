#include "compress/rice_code.h"
#include "compress/ternary_codec.h"
#include "tests/compress/sparse_samples.h"

namespace hobnob {
namespace {

TEST(RiceCode, ReadsWhatItWrote) {
  for (unsigned parameter = 0; parameter <= kMaxRiceParameter; ++parameter) {
    std::vector<std::uint16_t> numbers{0, 1, 2, 65535, 0, 31, 32, 33, 64, 100};
    Bytes bytes;
    BitWriter writer(bytes);
    for (const std::uint16_t number : numbers) {
      writer.put_rice(number, parameter);
      writer.put(number & 1U, 1);
    }
    writer.flush();
    BitReader reader(bytes);
    for (const std::uint16_t number : numbers) {
      ASSERT_EQ(reader.get_rice(parameter, 65536), number) << parameter;
      ASSERT_EQ(reader.get(1), number & 1U);
    }
    EXPECT_TRUE(reader.done());
  }
}

TEST(RiceCode, FailsStickilyAtTheEndAndAtTheLimit) {
  const Bytes zeros(9, std::byte{0});
  BitReader endless(zeros);
  EXPECT_EQ(endless.get_rice(3, 1000), 0U);
  EXPECT_FALSE(endless.ok());
  Bytes bytes;
  BitWriter writer(bytes);
  writer.put_rice(10, 2);
  writer.flush();
  EXPECT_EQ(BitReader(bytes).get_rice(2, 11), 10U);
  BitReader limited(bytes);
  limited.get_rice(2, 10);
  EXPECT_FALSE(limited.ok());
  BitReader empty{ByteSpan()};
  EXPECT_TRUE(empty.done());
  empty.get(1);
  EXPECT_FALSE(empty.done());
  bytes.push_back(std::byte{0});
  BitReader longer(bytes);
  longer.get_rice(2, 11);
  EXPECT_FALSE(longer.done());
}

TEST(RiceCode, ChoosesTheShortestParameter) {
  std::vector<std::uint16_t> gaps(1000);
  for (std::size_t k = 0; k < gaps.size(); ++k) {
    gaps[k] = static_cast<std::uint16_t>(mix64(k) % 200);
  }
  std::vector<std::size_t> bytes;
  for (unsigned parameter = 0; parameter <= kMaxRiceParameter; ++parameter) {
    Bytes out;
    BitWriter writer(out);
    for (const std::uint16_t gap : gaps) {
      writer.put_rice(gap, parameter);
    }
    writer.flush();
    bytes.push_back(out.size());
  }
  EXPECT_EQ(bytes[best_rice_parameter(gaps)], *std::ranges::min_element(bytes));
}

TEST(SparseTernary, HasTheMannersOfACodec) {
  for (const double density : {0.01, 0.1, 1.0}) {
    SCOPED_TRACE(density);
    expect_codec_manners(SparseTernaryCodec(density));
    expect_differences_are_fused(SparseTernaryCodec(density));
  }
}

TEST(SparseTernary, SendsTheLargestAsTheirMean) {
  std::vector<float> values(1000, 0.25F);
  values[3] = 5.0F;
  values[500] = -7.0F;
  values[999] = 9.0F;
  const SparseTernaryCodec codec(0.003);
  std::vector<float> expected(1000);
  expected[3] = 7.0F;
  expected[500] = -7.0F;
  expected[999] = 7.0F;
  EXPECT_EQ(decode(codec, encode(codec, values), 1000), expected);
}

TEST(SparseTernary, MeanIsThatOfTheExactSum) {
  constexpr std::size_t kCount = 1000;
  const SparseTernaryCodec codec(0.1);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<float> values = random_values(static_cast<Source>(seed % 3), kCount, seed);
    const float size = std::ldexp(1.0F, static_cast<int>(seed % 230) - 125);
    for (float& value : values) {
      value *= size;
    }
    const std::vector<float> decoded = decode(codec, encode(codec, values), kCount);
    double sum = 0.0;  // exact enough: 100 numbers of 24 bits, a few binades apart
    std::size_t sent = 0;
    for (std::size_t k = 0; k < kCount; ++k) {
      if (decoded[k] != 0.0F) {
        sum += std::abs(static_cast<double>(values[k]));
        EXPECT_EQ(std::signbit(decoded[k]), std::signbit(values[k]));
        ++sent;
      }
    }
    ASSERT_EQ(sent, 100U);
    const float mean = *std::ranges::max_element(decoded);
    EXPECT_EQ(mean, static_cast<float>(sum / 100.0));
    // Replacing magnitudes by their mean: |v - Q(v)|^2 = |v|^2 - k mean^2.
    const double expected =
        squared_norm(values) - 100.0 * static_cast<double>(mean) * static_cast<double>(mean);
    EXPECT_NEAR(squared_error(values, decoded), expected, 1e-5 * squared_norm(values));
  }
}

TEST(SparseTernary, IsAContraction) {
  // k mean^2 >= (k / d) |v|^2 needs mean >= rms: true of the largest tenth of these sources.
  constexpr std::size_t kCount = 200;
  const SparseTernaryCodec codec(0.1);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<float> values = random_values(static_cast<Source>(seed % 2), kCount, seed);
    const double lost = squared_error(values, decode(codec, encode(codec, values), kCount));
    ASSERT_LE(lost, 0.9 * squared_norm(values));
  }
}

TEST(SparseTernary, TakesHalfTheBitsOfTopK) {
  constexpr std::size_t kCount = 1U << 19U;
  const std::vector<float> values = random_values(Source::kLaplace, kCount, 5);
  for (const double density : {0.001, 0.01, 0.1}) {
    const SparseTernaryCodec codec(density);
    const double bits = 8.0 * static_cast<double>(encode(codec, values).size()) / kCount;
    // Rice codes of geometric gaps, frame headers and rounding up to 16 bytes.
    EXPECT_LE(bits, 1.04 * codec.traits().nominal_bits + 0.005);
    EXPECT_GE(bits, codec.traits().nominal_bits);
  }
}

TEST(SparseTernary, SendsAPoisonedBlockAsZerosAndHarmsNoOther) {
  std::vector<float> values = bell_values(70000);
  values[300] = kNan;
  values[69999] = -kInfinity;
  const SparseTernaryCodec codec(0.1);
  const std::vector<float> decoded = decode(codec, encode(codec, values, 2), 70000);
  EXPECT_EQ(nonzeros(decoded), 7000U);
  EXPECT_EQ(nonzeros({decoded.begin() + 256, decoded.begin() + 512}), 0U);
}

TEST(SparseTernary, ReturnsWhatItLost) {
  expect_conservation<float>(SparseTernaryCodec(0.05), 1e-6);
  expect_conservation<double>(SparseTernaryCodec(0.05), 1e-12);
}

TEST(SparseTernary, HostileBytesAreHarmless) {
  expect_hostile_bytes_are_harmless(SparseTernaryCodec(),
                                    encode(SparseTernaryCodec(0.1), bell_values(600)), 600);
}

TEST(SparseTernary, RefusesWhatNoEncoderSends) {
  const SparseTernaryCodec codec(0.1);
  const Bytes good = encode(codec, bell_values(300));
  const std::size_t body = kHeader + kFrameHeader;
  const auto expect_refused = [&](std::size_t at, unsigned value, const char* what) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    seal(bytes);
    EXPECT_TRUE(is_refused(codec, bytes, 300)) << what;
  };
  expect_refused(40, 1, "a parameter");
  expect_refused(body, 29, "bits left over");
  expect_refused(body, 31, "bits missing");
  expect_refused(body, 0, "no values");
  expect_refused(body + 2, 1, "more values than there are");
  expect_refused(body + 3, 16, "a Rice parameter out of range");
  expect_refused(body + 7, 0xbf, "a negative mean");
  expect_refused(body + 7, 0x7f, "a mean that is too large");
  expect_refused(good.size() - 1, 1, "padding");
}

TEST(SparseTernary, BytesAreAlikeForAllTargets) {
  expect_targets_agree(SparseTernaryCodec(0.03), 70001);
}

TEST(SparseTernary, HashIsGolden) {
  EXPECT_EQ(hash_bytes(encode(SparseTernaryCodec(0.01), bell_values(70000))),
            0x88e1acd0e1983796ULL);
}

}  // namespace
}  // namespace hobnob
