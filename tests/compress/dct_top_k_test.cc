#include "compress/dct64.h"
#include "compress/dct64_table.h"
#include "compress/dct_top_k_codec.h"
#include "tests/compress/sparse_samples.h"

namespace hobnob {
namespace {

// The definition, in double.
std::vector<double> exact_forward(const std::vector<float>& values) {
  std::vector<double> coefficients(64);
  for (std::size_t k = 0; k < 64; ++k) {
    const double size = k == 0 ? 0.125 : std::sqrt(1.0 / 32.0);
    for (std::size_t n = 0; n < 64; ++n) {
      const double angle = std::numbers::pi * static_cast<double>((2 * n + 1) * k) / 128.0;
      coefficients[k] += size * std::cos(angle) * static_cast<double>(values[n]);
    }
  }
  return coefficients;
}

TEST(Dct64, ConstantsAreTheNearestFloats) {
  for (std::size_t m = 0; m < 64; ++m) {
    const double exact =
        std::sqrt(1.0 / 32.0) * std::cos(std::numbers::pi * static_cast<double>(m) / 128.0);
    EXPECT_EQ(kDctCosines[m], static_cast<float>(exact)) << m;
  }
  EXPECT_EQ(kDctCosines[64], 0.0F);
  EXPECT_EQ(dct_cosine(128), -kDctCosines[0]);
  EXPECT_EQ(dct_cosine(255), kDctCosines[1]);
  EXPECT_EQ(dct_cosine(100), -kDctCosines[28]);
}

TEST(Dct64, IsTheTransformOfItsDefinition) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<float> values = random_values(Source::kGauss, 64, seed);
    const std::vector<double> exact = exact_forward(values);
    std::vector<float> coefficients(64);
    dct64_forward(values.data(), coefficients.data(), 1);
    for (std::size_t k = 0; k < 64; ++k) {
      EXPECT_NEAR(static_cast<double>(coefficients[k]), exact[k], 1e-5);
    }
  }
}

TEST(Dct64, InverseUndoesIt) {
  const std::vector<float> values = random_values(Source::kGauss, 640, 1);
  std::vector<float> coefficients(640);
  std::vector<float> back(640);
  dct64_forward(values.data(), coefficients.data(), 10);
  dct64_inverse(coefficients.data(), back.data(), 10);
  EXPECT_LE(squared_error(values, back), 1e-12 * squared_norm(values));
  EXPECT_NEAR(squared_norm(coefficients), squared_norm(values), 1e-5 * squared_norm(values));
}

TEST(DctTopK, HasTheMannersOfACodec) {
  for (const std::size_t kept : {1U, 8U, 9U, 32U, 64U}) {
    SCOPED_TRACE(kept);
    expect_codec_manners(DctTopKCodec(kept));
    expect_differences_are_fused(DctTopKCodec(kept));
  }
}

TEST(DctTopK, LengthFollowsFromTheCount) {
  for (const std::size_t count : kSparseSizes) {
    for (const std::size_t kept : {4U, 32U}) {
      const DctTopKCodec codec(kept);
      const std::size_t bytes = encode(codec, bell_values(count)).size();
      EXPECT_GT(bytes + 16 * (count / 65536 + 1), codec.max_bytes(count, DType::kFloat32));
    }
  }
  EXPECT_EQ(DctTopKCodec(32).traits().nominal_bits, 5.0625);
  EXPECT_EQ(DctTopKCodec(4).traits().nominal_bits, 1.0625);
}

TEST(DctTopK, SendsASlowWaveInOneCoefficient) {
  std::vector<float> values(256);
  for (std::size_t n = 0; n < 256; ++n) {
    values[n] = static_cast<float>(
        std::cos(std::numbers::pi * static_cast<double>(2 * (n % 64) + 1) * 3 / 128.0));
  }
  const DctTopKCodec codec(1);
  const std::vector<float> decoded = decode(codec, encode(codec, values), 256);
  EXPECT_LE(squared_error(values, decoded), 1e-4 * squared_norm(values));
}

TEST(DctTopK, IsAContraction) {
  constexpr std::size_t kCount = 256;
  for (const std::size_t kept : {4U, 32U}) {
    const DctTopKCodec codec(kept);
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      SCOPED_TRACE(seed);
      const std::vector<float> values = random_values(static_cast<Source>(seed % 3), kCount, seed);
      const double lost = squared_error(values, decode(codec, encode(codec, values), kCount));
      std::vector<float> coefficients(kCount);
      dct64_forward(values.data(), coefficients.data(), 4);
      const auto largest = static_cast<double>(std::abs(
          *std::ranges::max_element(coefficients, {}, [](float v) { return std::abs(v); })));
      const double half_scale = largest / 127 * (0.5 + 0x1.0p-7);
      const double bound = (1.0 - static_cast<double>(kept) / 64.0) * squared_norm(values) +
                           static_cast<double>(4 * kept) * half_scale * half_scale;
      ASSERT_LE(lost, bound * (1.0 + 1e-5));
    }
  }
}

TEST(DctTopK, SendsAPoisonedBlockAsZerosAndHarmsNoOther) {
  for (const float poison : {kNan, -kInfinity, 0x1.0p116F}) {
    std::vector<float> values = bell_values(1100);
    const DctTopKCodec codec(32);
    const std::vector<float> clean = decode(codec, encode(codec, values), 1100);
    values[300] = poison;
    const std::vector<float> decoded = decode(codec, encode(codec, values, 1), 1100);
    for (std::size_t k = 0; k < 1100; ++k) {
      EXPECT_EQ(decoded[k], k / 256 == 1 ? 0.0F : clean[k]);
    }
  }
  std::vector<float> large(256, -0x1.fffffep115F);
  const std::vector<float> decoded = decode(DctTopKCodec(32), encode(DctTopKCodec(32), large), 256);
  EXPECT_TRUE(std::ranges::all_of(decoded, [](float v) { return std::isfinite(v); }));
}

TEST(DctTopK, ReturnsWhatItLost) {
  expect_conservation<float>(DctTopKCodec(8), 1e-6);
  expect_conservation<double>(DctTopKCodec(8), 1e-12);
}

TEST(DctTopK, HostileBytesAreHarmless) {
  for (const std::size_t kept : {2U, 20U}) {
    expect_hostile_bytes_are_harmless(DctTopKCodec(kept),
                                      encode(DctTopKCodec(kept), bell_values(300)), 300);
  }
}

TEST(DctTopK, DecodesTheLargestThatItAcceptsToNumbers) {
  const DctTopKCodec codec(64);
  Bytes bytes = encode(codec, bell_values(64));
  const std::size_t body = kHeader + kFrameHeader;
  bytes[body] = std::byte{0x7f};
  bytes[body + 1] = std::byte{0x78};
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(body + 2 + 8), 64, std::byte{127});
  seal(bytes);
  EXPECT_FALSE(is_refused(codec, bytes, 64));
}

TEST(DctTopK, RefusesWhatNoEncoderSends) {
  const DctTopKCodec few(2);
  const DctTopKCodec many(20);
  const Bytes good_few = encode(few, bell_values(64));
  const Bytes good_many = encode(many, bell_values(64));
  const std::size_t body = kHeader + kFrameHeader;
  const auto expect_refused = [&](const Bytes& good, std::size_t at, unsigned value,
                                  const char* what) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    seal(bytes);
    EXPECT_TRUE(is_refused(few, bytes, 64)) << what;
  };
  expect_refused(good_few, 32, 0, "none kept");
  expect_refused(good_few, 32, 65, "more kept than there are");
  expect_refused(good_few, 32, 3, "another length");
  expect_refused(good_few, 33, 1, "a reserved byte");
  expect_refused(good_few, body + 1, 0x79, "a scale that overflows");
  expect_refused(good_few, body + 2, 64, "a place past the end");
  expect_refused(good_few, body + 3, static_cast<unsigned>(good_few[body + 2]), "a place twice");
  expect_refused(good_few, body + 4, 0x80, "-128");
  expect_refused(good_many, body + 2, static_cast<unsigned>(good_many[body + 2]) ^ 1U,
                 "another number of places");
  Bytes zeros = good_few;
  zeros[body + 4] = std::byte{0};
  zeros[body + 5] = std::byte{0};
  seal(zeros);
  EXPECT_TRUE(is_refused(few, zeros, 64));
}

TEST(DctTopK, BytesAreAlikeForAllTargets) {
  expect_targets_agree(DctTopKCodec(32), 70001);
  expect_targets_agree(DctTopKCodec(4), 1000);
}

TEST(DctTopK, HashesAreGolden) {
  const std::vector<float> values = bell_values(70000);
  EXPECT_EQ(hash_bytes(encode(DctTopKCodec(32), values)), 0xd9261dc00799fe03ULL);
  EXPECT_EQ(hash_bytes(encode(DctTopKCodec(4), values)), 0x02834419cda44214ULL);
  const std::vector<float> decoded =
      decode(DctTopKCodec(32), encode(DctTopKCodec(32), values), 70000);
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(decoded))), 0xf3a52b5a79303108ULL);
}

}  // namespace
}  // namespace hobnob
