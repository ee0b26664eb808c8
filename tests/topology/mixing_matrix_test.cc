#include "topology/mixing_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace hobnob {
namespace {

MixingMatrix ring(std::uint32_t size, Weight weight) {
  std::vector<MixingMatrix::Edge> edges;
  for (std::uint32_t k = 0; k < size; ++k) {
    edges.push_back({.a = k, .b = (k + 1) % size, .weight = weight});
  }
  return MixingMatrix::symmetric(size, edges);
}

// i takes `weight` of i - 1.
MixingMatrix circle(std::uint32_t size, Weight weight) {
  std::vector<MixingMatrix::Entry> entries;
  for (std::uint32_t k = 0; k < size; ++k) {
    entries.push_back({.row = (k + 1) % size, .column = k, .weight = weight});
  }
  return {size, std::move(entries)};
}

TEST(MixingMatrix, WithANegativeSelfWeightIsNotDoublyStochastic) {
  EXPECT_TRUE(ring(5, {1, 2}).is_doubly_stochastic());   // self weight exactly 0
  EXPECT_FALSE(ring(5, {2, 3}).is_doubly_stochastic());  // self weight -1/3
  // Above 1 by 2^-63: float64 would say 1.
  EXPECT_FALSE(MixingMatrix::symmetric(3, {{.a = 0, .b = 1, .weight = {2147483648U, 4294967295U}},
                                           {.a = 0, .b = 2, .weight = {1, 2}}})
                   .is_doubly_stochastic());
}

TEST(MixingMatrix, WithTooLargeACommonDenominatorIsRefused) {
  std::vector<MixingMatrix::Edge> edges;
  std::uint32_t peer = 1;
  for (const std::uint32_t prime :
       {4294967291U, 4294967279U, 4294967231U, 4294967197U, 4294967189U}) {
    edges.push_back({.a = 0, .b = peer++, .weight = {1, prime}});
  }
  const MixingMatrix matrix = MixingMatrix::symmetric(6, edges);
  EXPECT_FALSE(matrix.is_doubly_stochastic());
  EXPECT_FALSE(matrix.diagonal(0).is_exact());
  EXPECT_NEAR(matrix.diagonal(0).value(), 1.0, 2e-9);
  edges.resize(3);
  EXPECT_TRUE(MixingMatrix::symmetric(6, edges).is_doubly_stochastic());
}

TEST(MixingMatrix, KnowsItsDirections) {
  const MixingMatrix directed = circle(5, {1, 3});
  EXPECT_TRUE(directed.is_doubly_stochastic());
  EXPECT_FALSE(directed.is_symmetric());
  EXPECT_TRUE(directed.symmetric_part().is_symmetric());
  EXPECT_EQ(directed.symmetric_part().entries().front().weight, (Weight{1, 6}));
  EXPECT_TRUE(circle(2, {1, 3}).is_symmetric());
  EXPECT_TRUE(ring(5, {1, 3}).is_symmetric());
  // Same places, other weights.
  EXPECT_FALSE(MixingMatrix(2, {{.row = 0, .column = 1, .weight = {1, 2}},
                                {.row = 1, .column = 0, .weight = {1, 3}}})
                   .is_symmetric());
}

// One message of a circle lost. Its sender keeps what it did not send: columns sum to 1.
TEST(MixingMatrix, LeavesWhatIsNotSentWithTheSender) {
  std::vector<MixingMatrix::Entry> entries = circle(4, {1, 2}).entries();
  std::erase_if(entries, [](const MixingMatrix::Entry& entry) { return entry.column == 1; });
  const MixingMatrix lossy(4, entries);
  EXPECT_TRUE(lossy.is_column_stochastic());
  EXPECT_FALSE(lossy.is_row_stochastic());
  EXPECT_TRUE(lossy.symmetric_part().is_doubly_stochastic());
  const std::vector<double> y = lossy.apply({8, 4, 2, 1});
  EXPECT_EQ(y, (std::vector<double>{4.5, 8, 1, 1.5}));
}

// The receiver keeps its own instead: a diagonal that is given.
TEST(MixingMatrix, TakesAGivenDiagonalAsItIs) {
  std::vector<MixingMatrix::Entry> entries = circle(4, {1, 2}).entries();
  std::erase_if(entries, [](const MixingMatrix::Entry& entry) { return entry.column == 1; });
  for (std::uint32_t peer = 0; peer < 4; ++peer) {
    entries.push_back(
        {.row = peer, .column = peer, .weight = peer == 2 ? Weight{1, 1} : Weight{1, 2}});
  }
  const MixingMatrix naive(4, entries);
  EXPECT_TRUE(naive.is_row_stochastic());
  EXPECT_FALSE(naive.is_column_stochastic());
  EXPECT_EQ(naive.apply({8, 4, 2, 1}), (std::vector<double>{4.5, 6, 2, 1.5}));
}

TEST(MixingMatrix, KeepsTheSumAndApproachesTheMean) {
  const MixingMatrix matrix = ring(8, {1, 3});
  std::vector<double> x{8, 0, 0, 0, 16, 0, 0, 0};
  const std::vector<double> once = matrix.apply(x);
  EXPECT_DOUBLE_EQ(once[0], 8.0 / 3);
  EXPECT_DOUBLE_EQ(once[1], 8.0 / 3);
  EXPECT_DOUBLE_EQ(once[2], 0.0);
  for (int round = 0; round < 200; ++round) {
    x = matrix.apply(x);
  }
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0), 24.0, 1e-12);
  EXPECT_NEAR(x[3], 3.0, 1e-12);
}

TEST(MixingMatrix, GapOfARingHasItsClosedForm) {
  for (const std::uint32_t size : {3U, 8U, 17U, 64U}) {
    const double second = (1 + 2 * std::cos(2 * std::numbers::pi / size)) / 3;
    EXPECT_NEAR(ring(size, {1, 3}).spectral_gap(), 1 - second, 1e-9) << size;
  }
}

TEST(MixingMatrix, GapSeesNegativeEigenvalues) {
  // Self weight 0 on an even ring: eigenvalue -1, it swings for ever.
  EXPECT_NEAR(ring(8, {1, 2}).spectral_gap(), 0.0, 1e-9);
}

// The singular values of (I + P) / 2 are
// cos(pi f / n).
TEST(MixingMatrix, GapOfADirectedMatrixIsThatOfItsSingularValues) {
  for (const std::uint32_t size : {3U, 8U, 17U}) {
    const double second = std::cos(std::numbers::pi / size);
    EXPECT_NEAR(circle(size, {1, 2}).spectral_gap(), 1 - second, 1e-9) << size;
  }
}

TEST(MixingMatrix, GapOfAMatchingIsZeroAndOfOnePeerIsOne) {
  const MixingMatrix matching = MixingMatrix::symmetric(
      4, {{.a = 0, .b = 1, .weight = {1, 2}}, {.a = 2, .b = 3, .weight = {1, 2}}});
  EXPECT_NEAR(matching.spectral_gap(), 0.0, 1e-9);
  EXPECT_EQ(MixingMatrix(1, {}).spectral_gap(), 1.0);
  EXPECT_EQ(MixingMatrix(0, {}).spectral_gap(), 1.0);
}

}  // namespace
}  // namespace hobnob
