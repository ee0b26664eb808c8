#include "compress/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "compress/codec_config.h"
#include "compress/low_rank_codec.h"
#include "compress/message_parts.h"
#include "runtime/base/rng.h"

namespace hobnob {
namespace {

std::unique_ptr<Codec> codec_of(const std::string& kind,
                                std::size_t rank,
                                std::size_t columns = 0) {
  return make_codec(CodecConfig{.kind = kind, .rank = rank, .columns = columns});
}

std::vector<float> normal(std::size_t count, std::uint64_t stream) {
  Rng rng({.seed = 7, .stream = stream});
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(rng.normal());
  }
  return values;
}

// A sum of `rank` outer products.
std::vector<float> of_rank(std::size_t rank, std::size_t rows, std::size_t columns) {
  const auto p = normal(rank * rows, 1);
  const auto q = normal(rank * columns, 2);
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < rank; ++k) {
        values[i * columns + j] += p[k * rows + i] * q[k * columns + j];
      }
    }
  }
  return values;
}

double norm(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(sum);
}

std::vector<float> decoded(const Codec& codec, const Bytes& bytes, std::size_t count) {
  std::vector<float> into(count);
  EXPECT_TRUE(codec.decode_add(bytes, 1.0, std::span<float>(into)).ok());
  return into;
}

// |values - decode(encode(values))| / |values|
double relative_error(const Codec& codec, const std::vector<float>& values, std::uint64_t stream) {
  Bytes bytes;
  codec.encode(std::span<const float>(values), {.seed = 1, .stream = stream}, bytes);
  EXPECT_LE(bytes.size(), codec.max_bytes(values.size(), DType::kFloat32));
  std::vector<float> left = decoded(codec, bytes, values.size());
  for (std::size_t k = 0; k < left.size(); ++k) {
    left[k] = values[k] - left[k];
  }
  return norm(left) / norm(values);
}

TEST(LowRank, FindsAMatrixOfItsRank) {
  const auto values = of_rank(3, 100, 160);
  EXPECT_LT(relative_error(*codec_of("power-sgd", 3, 160), values, 1), 0.01);
  EXPECT_LT(relative_error(*codec_of("power-sgd", 8, 160), values, 1), 0.01) << "and spare ones";
  EXPECT_GT(relative_error(*codec_of("power-sgd", 2, 160), values, 1), 0.2);
  EXPECT_LT(relative_error(*codec_of("lq-sgd", 3, 160), values, 1), 0.35) << "4 bits a factor";
}

TEST(LowRank, LooksForRowsOfTheGivenLength) {
  const auto values = of_rank(1, 150, 96);
  EXPECT_LT(relative_error(*codec_of("power-sgd", 1, 96), values, 1), 0.01);
  EXPECT_GT(relative_error(*codec_of("power-sgd", 1, 97), values, 1), 0.5);
}

TEST(LowRank, LeavesNoMoreThanTheBestOfItsRankTimesAFew) {
  // Orthogonal outer products of weights 8, 4, 2, 1: rank 2 must leave sqrt(5 / 85).
  constexpr std::size_t kSide = 64;
  std::vector<float> values(kSide * kSide);
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) {
        // Rows k and k + 1 of a Hadamard matrix are orthogonal.
        const int sign = __builtin_popcountll(i & (k + 1)) + __builtin_popcountll(j & (k + 9));
        values[i * kSide + j] += (sign % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(8U >> k);
      }
    }
  }
  const double best = std::sqrt(5.0 / 85.0);
  const double error = relative_error(*codec_of("power-sgd", 2, kSide), values, 1);
  EXPECT_GE(error, 0.99 * best);
  EXPECT_LE(error, 1.3 * best);
}

TEST(LowRank, NeverAddsToTheError) {
  for (const std::string kind : {"power-sgd", "lq-sgd"}) {
    for (const std::size_t count : {1U, 2U, 33U, 256U, 1000U, 4097U}) {
      for (std::uint64_t draw = 0; draw < 50; ++draw) {
        EXPECT_LE(relative_error(*codec_of(kind, 4), normal(count, draw), draw), 1.0)
            << kind << " " << count;
      }
    }
  }
}

TEST(LowRank, WhatIsLostReturns) {
  const auto values = normal(4096, 3);
  for (const std::string kind : {"power-sgd", "lq-sgd"}) {
    const auto codec = codec_of(kind, 4);
    std::vector<float> hat(values.size());
    double before = norm(values);
    for (std::uint64_t round = 0; round < 60; ++round) {
      Bytes bytes;
      codec->encode_advance(std::span<const float>(values), std::span<float>(hat),
                            {.seed = 1, .stream = round}, bytes);
      std::vector<float> left(values.size());
      for (std::size_t k = 0; k < left.size(); ++k) {
        left[k] = values[k] - hat[k];
      }
      const double error = norm(left);
      EXPECT_LT(error, before) << kind << " round " << round;
      before = error;
    }
    EXPECT_LT(before, 0.02 * norm(values)) << kind;
  }
}

TEST(LowRank, TakesPoisonedBlocksForZeros) {
  const auto codec = codec_of("power-sgd", 4, 64);
  auto values = of_rank(2, 64, 64);
  for (std::size_t k = 512; k < 768; ++k) {
    values[k] = 0.0F;
  }
  Bytes clean;
  EXPECT_EQ(codec->encode(std::span<const float>(values), {}, clean), 0U);
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(),
                             -std::numeric_limits<float>::infinity(), 0x1p96F}) {
    values[600] = poison;
    Bytes bytes;
    EXPECT_EQ(codec->encode(std::span<const float>(values), {}, bytes), 1U);
    EXPECT_EQ(bytes, clean);
  }
}

TEST(LowRank, TakesTheLargestAndTheLeastNumbers) {
  for (const std::string kind : {"power-sgd", "lq-sgd"}) {
    for (const float size : {0x1p95F, 0x1p-90F}) {
      std::vector<float> values = of_rank(2, 40, 50);
      for (float& value : values) {
        value = std::min(std::max(value * 0.1F, -1.0F), 1.0F) * size;
      }
      EXPECT_LT(relative_error(*codec_of(kind, 8, 50), values, 1), 0.5) << kind << " " << size;
    }
  }
}

TEST(LowRank, RefusesFactorsWhoseProductIsTooLarge) {
  const auto codec = codec_of("power-sgd", 1, 16);
  Bytes bytes;
  codec->encode(std::span<const float>(of_rank(1, 16, 16)), {}, bytes);
  EXPECT_TRUE(codec->check(bytes, 256, DType::kFloat32).ok());
  const auto& low_rank = dynamic_cast<const LowRankCodec&>(*codec);
  const std::size_t p_bytes = low_rank.split(bytes, 256).value().p.size();
  // The first value of each factor: 2^70 times 2^70.
  for (const std::size_t start : {std::size_t{64}, 64 + p_bytes}) {
    bytes[start + 80] = std::byte{0x80};
    bytes[start + 81] = std::byte{0x62};
  }
  message::seal(*codec, 256, DType::kFloat32, bytes);
  const Result<void> result = codec->check(bytes, 256, DType::kFloat32);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("too large"), std::string::npos);
}

TEST(LowRank, RefusesRanksAndColumnsThatDoNotFit) {
  const auto codec = codec_of("power-sgd", 2, 16);
  Bytes good;
  codec->encode(std::span<const float>(of_rank(2, 16, 16)), {}, good);
  for (const auto& [rank, columns] :
       {std::pair(0, 16), {3, 16}, {2, 0}, {2, 8}, {2, 257}, {65, 16}, {-1, -1}, {0, 0}}) {
    Bytes bytes = good;
    store_value(bytes.data() + 32, rank);
    store_value(bytes.data() + 36, columns);
    message::seal(*codec, 256, DType::kFloat32, bytes);
    EXPECT_FALSE(codec->check(bytes, 256, DType::kFloat32).ok()) << rank << " " << columns;
  }
}

TEST(LowRank, OrthonormalisesWhatDepends) {
  // Rank 1, asked for 3.
  const std::vector<float> values(30 * 20, 2.0F);
  const Matrix matrix{values, 30, 20};
  const std::vector<float> p = left_factor(matrix, 3, 5);
  EXPECT_NEAR(norm(std::span(p).first(30)), 1.0, 1e-5);
  EXPECT_EQ(norm(std::span(p).subspan(30)), 0.0);
  const std::vector<float> q = right_factor(matrix, p, 3);
  EXPECT_NEAR(norm(std::span(q).first(20)), norm(values), 1e-3);
  EXPECT_EQ(norm(std::span(q).subspan(20)), 0.0);
}

}  // namespace
}  // namespace hobnob
