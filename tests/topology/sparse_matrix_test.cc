#include "topology/sparse_matrix.h"

#include <gtest/gtest.h>

#include "runtime/base/rng.h"
#include "tests/support/mixing_samples.h"

namespace hobnob {
namespace {

TEST(SparseMatrix, SumsEntriesOfOnePlaceAndDropsZeros) {
  const SparseMatrix matrix(3, {{.row = 2, .column = 1, .value = 4.0},
                                {.row = 0, .column = 2, .value = 1.5},
                                {.row = 0, .column = 0, .value = 1.0},
                                {.row = 0, .column = 2, .value = 0.5},
                                {.row = 1, .column = 1, .value = 3.0},
                                {.row = 1, .column = 1, .value = -3.0}});
  EXPECT_EQ(matrix.size(), 3U);
  EXPECT_EQ(matrix.entry_count(), 3U);
  EXPECT_EQ(matrix.at(0, 2), 2.0);
  EXPECT_EQ(matrix.at(0, 1), 0.0);
  EXPECT_EQ(matrix.at(1, 1), 0.0);
  EXPECT_TRUE(matrix.columns(1).empty());
  ASSERT_EQ(matrix.columns(0).size(), 2U);
  EXPECT_EQ(matrix.columns(0)[0], 0U);
  EXPECT_EQ(matrix.columns(0)[1], 2U);
}

TEST(SparseMatrix, AppliesLikeTheDenseMatrix) {
  for (const std::size_t size : {1U, 2U, 7U, 33U}) {
    for (const std::size_t columns : {1U, 3U, 32U}) {
      SCOPED_TRACE(testing::Message() << "n " << size << ", columns " << columns);
      Rng rng({.seed = size, .stream = columns});
      std::vector<double> dense(size * size, 0.0);
      std::vector<SparseMatrix::Entry> entries;
      for (std::size_t k = 0; k < 4 * size; ++k) {
        const auto row = static_cast<std::uint32_t>(rng.below(size));
        const auto column = static_cast<std::uint32_t>(rng.below(size));
        entries.push_back({.row = row, .column = column, .value = rng.normal()});
        dense[row * size + column] += entries.back().value;
      }
      const SparseMatrix matrix(size, entries);
      std::vector<double> x(size * columns);
      for (double& value : x) {
        value = rng.normal();
      }
      std::vector<double> y(x.size(), 7.0);
      std::vector<double> transposed(x.size(), 7.0);
      matrix.apply(x, y, columns);
      matrix.apply_transposed(x, transposed, columns);
      for (std::size_t row = 0; row < size; ++row) {
        for (std::size_t k = 0; k < columns; ++k) {
          double expected = 0.0;
          double expected_transposed = 0.0;
          for (std::size_t j = 0; j < size; ++j) {
            expected += dense[row * size + j] * x[j * columns + k];
            expected_transposed += dense[j * size + row] * x[j * columns + k];
          }
          EXPECT_NEAR(y[row * columns + k], expected, 1e-12);
          EXPECT_NEAR(transposed[row * columns + k], expected_transposed, 1e-12);
        }
      }
    }
  }
}

TEST(SparseMatrix, KnowsStochasticAndSymmetricOnes) {
  EXPECT_TRUE(SparseMatrix::identity(5).is_symmetric());
  EXPECT_TRUE(SparseMatrix::identity(5).is_row_stochastic());
  EXPECT_TRUE(samples::circulant(6, {1, 5}).is_symmetric());
  EXPECT_FALSE(samples::circulant(6, {1}).is_symmetric());
  EXPECT_TRUE(samples::circulant(6, {1}).is_row_stochastic());
  EXPECT_FALSE(SparseMatrix(2, {{.row = 0, .column = 0, .value = 1.0}}).is_row_stochastic());
  EXPECT_FALSE(SparseMatrix(2, {{.row = 0, .column = 1, .value = 1.0}}).is_symmetric());
  EXPECT_TRUE(SparseMatrix(0, {}).is_symmetric());
}

TEST(MixingSequence, BuildsARoundOnce) {
  int built = 0;
  MixingSequence rounds(4, 3, [&](std::uint64_t round) {
    ++built;
    return samples::circulant(4, {static_cast<std::uint32_t>(round) + 1});
  });
  for (std::uint64_t round = 0; round < 12; ++round) {
    EXPECT_GT(rounds.at(round).at(0, static_cast<std::uint32_t>(3 - round % 3)), 0.0);
  }
  EXPECT_EQ(rounds.at(301).at(0, 2), 0.5);  // phase 1
  EXPECT_EQ(built, 3);
}

TEST(MixingSequence, GivesTheRoundThatIsAskedForInAnyOrder) {
  MixingSequence rounds(64, 0, [&](std::uint64_t round) {
    return samples::circulant(64, {static_cast<std::uint32_t>(round)});
  });
  for (const std::uint32_t round : {5U, 0U, 1U, 9U, 1U, 2U, 3U, 9U, 0U, 5U}) {
    EXPECT_GT(rounds.at(round).at(round, 0), 0.0) << round;
  }
}

TEST(MixingSequence, TreatsAVeryLongPeriodAsNone) {
  const auto idle = [](std::uint64_t) { return SparseMatrix::identity(2); };
  EXPECT_EQ(MixingSequence(2, MixingSequence::kMaxPeriod + 1, idle).period(), 0U);
  EXPECT_EQ(MixingSequence(2, MixingSequence::kMaxPeriod, idle).period(),
            MixingSequence::kMaxPeriod);
}

}  // namespace
}  // namespace hobnob
