#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compress/binomial_codec.h"
#include "compress/message_parts.h"
#include "tests/compress/sparse_samples.h"

namespace hobnob {
namespace {

RngKey key_of(std::uint64_t stream) {
  return {.seed = 5, .stream = stream};
}

TEST(Binomial, HasTheMannersOfACodec) {
  for (const std::uint32_t trials : {2U, 32U, 256U}) {
    expect_differences_are_fused(BinomialCodec({.trials = trials}));
  }
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

// Of what `draws` messages make of one value.
Moments moments_of(const BinomialCodec& codec, float value, std::size_t draws) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const std::vector<float> values(64, value);
    for (const float decoded : decode(codec, encode(codec, values, 0, key_of(draw)), 64)) {
      sum += static_cast<double>(decoded);
      squares += static_cast<double>(decoded) * static_cast<double>(decoded);
    }
  }
  const double count = 64.0 * static_cast<double>(draws);
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

TEST(Binomial, IsUnbiasedAndAddsTheVarianceItSays) {
  constexpr std::size_t kDraws = 2000;
  for (const std::uint32_t trials : {0U, 2U, 30U, 64U, 256U}) {
    const BinomialCodec codec({.clip = 2.0F, .levels = 8, .trials = trials});
    for (const float value : {0.0F, 0.1F, -1.3F, 2.0F}) {
      const double step = 2.0 / 8.0;
      const double place = static_cast<double>(value) / step;
      const double fraction = place - std::floor(place);
      const double expected =
          step * step * (static_cast<double>(trials) / 4.0 + fraction * (1.0 - fraction));
      const Moments found = moments_of(codec, value, kDraws);
      const double count = 64.0 * kDraws;
      EXPECT_NEAR(found.mean, static_cast<double>(value), 4.5 * std::sqrt(expected / count) + 2e-5)
          << trials << " " << value;
      EXPECT_NEAR(found.variance, expected, 0.03 * expected + 1e-9) << trials << " " << value;
    }
  }
}

TEST(Binomial, ClipsWhatIsBeyond) {
  const BinomialCodec codec({.clip = 0.5F, .levels = 4, .trials = 0});
  const std::vector<float> values{0.5F, 3.0F, -1e30F, std::numeric_limits<float>::max()};
  EXPECT_EQ(decode(codec, encode(codec, values, 0, key_of(1)), 4),
            (std::vector<float>{0.5F, 0.5F, -0.5F, 0.5F}));
}

TEST(Binomial, NoiseIsOfTheKeyAndCoversZerosAndPoison) {
  const BinomialCodec codec({.clip = 1.0F, .levels = 8, .trials = 64});
  const std::vector<float> zeros(70000);
  const Bytes first = encode(codec, zeros, 0, key_of(1));
  EXPECT_EQ(first, encode(codec, zeros, 0, key_of(1)));
  EXPECT_NE(first, encode(codec, zeros, 0, key_of(2)));
  std::vector<float> values = zeros;
  values[66000] = std::numeric_limits<float>::quiet_NaN();
  const auto clean = decode(codec, first, zeros.size());
  EXPECT_EQ(decode(codec, encode(codec, values, 1, key_of(1)), zeros.size()), clean);
  EXPECT_GT(std::ranges::count_if(clean, [](float v) { return v != 0.0F; }), 55000);
}

TEST(Binomial, RefusesWhatNoEncoderSends) {
  const BinomialCodec codec({.clip = 1.0F, .levels = 8, .trials = 16});
  const Bytes good = encode(codec, std::vector<float>(300, 0.2F), 0, key_of(1));
  const auto is_taken = [&](std::size_t at, auto value) {
    Bytes bytes = good;
    store_value(bytes.data() + at, value);
    message::seal(codec, 300, DType::kFloat32, bytes);
    return codec.check(bytes, 300, DType::kFloat32).ok();
  };
  EXPECT_TRUE(is_taken(80, std::int8_t{16}));
  EXPECT_FALSE(is_taken(80, std::int8_t{17}));
  EXPECT_FALSE(is_taken(80, std::int8_t{-128}));
  EXPECT_TRUE(is_taken(32, 0x1p60F));
  for (const float clip : {0.0F, -1.0F, 0x1p61F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(is_taken(32, clip)) << clip;
  }
  EXPECT_FALSE(is_taken(36, 0U)) << "levels";
  EXPECT_FALSE(is_taken(36, 1025U)) << "levels";
  EXPECT_FALSE(is_taken(40, 15U)) << "trials";
  EXPECT_FALSE(is_taken(40, 258U)) << "trials";
  EXPECT_FALSE(is_taken(44, 1U)) << "reserved";
}

}  // namespace
}  // namespace hobnob
