#include "topology/round_faults.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mixing_samples.h"

namespace hobnob {
namespace {

constexpr std::size_t kColumns = 3;

std::vector<double> random_block(std::size_t size, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = size});
  std::vector<double> x(size * kColumns);
  for (double& value : x) {
    value = rng.normal();
  }
  return x;
}

double column_sum(const std::vector<double>& x, std::size_t column) {
  double sum = 0.0;
  for (std::size_t k = column; k < x.size(); k += kColumns) {
    sum += x[k];
  }
  return sum;
}

std::vector<bool> random_mask(std::size_t size, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 77});
  std::vector<bool> mask(size);
  for (std::size_t k = 0; k < size; ++k) {
    mask[k] = rng.uniform() < 0.3;
  }
  return mask;
}

// A peer pushes to some others; receivers weigh all alike: neither symmetric nor doubly stochastic.
SparseMatrix random_push(std::uint32_t size, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 5});
  std::vector<std::vector<std::uint32_t>> sources(size);
  for (std::uint32_t k = 0; k < size; ++k) {
    sources[k].push_back(k);
    sources[(k + 1 + rng.below(size - 1)) % size].push_back(k);
  }
  std::vector<SparseMatrix::Entry> entries;
  for (std::uint32_t row = 0; row < size; ++row) {
    for (const std::uint32_t source : sources[row]) {
      entries.push_back(
          {.row = row, .column = source, .value = 1.0 / static_cast<double>(sources[row].size())});
    }
  }
  return {size, std::move(entries)};
}

TEST(GroupSizes, AreThoseOfTheAveragingSets) {
  EXPECT_EQ(group_sizes(samples::averaging(7, {{0, 3, 5}, {1, 6}})),
            (std::vector<std::uint32_t>{3, 2, 1, 3, 1, 3, 2}));
  EXPECT_EQ(group_sizes(samples::ring(3).at(0)), (std::vector<std::uint32_t>(3, 3)));
  EXPECT_EQ(group_sizes(samples::ring(5).at(0)), (std::vector<std::uint32_t>(5, 0)));
  EXPECT_EQ(group_sizes(samples::circulant(4, {1})), (std::vector<std::uint32_t>(4, 0)));
  // A pair that is not averaged in full is no group.
  EXPECT_EQ(group_sizes(samples::metropolis(3, {{0, 1}, {1, 2}})),
            (std::vector<std::uint32_t>(3, 0)));
  EXPECT_TRUE(group_sizes(SparseMatrix(0, {})).empty());
}

TEST(VectorsPerPeer, TakeTheCheaperWayInAGroup) {
  EXPECT_DOUBLE_EQ(vectors_per_peer(samples::complete(8).at(0)), 1.75);
  EXPECT_DOUBLE_EQ(vectors_per_peer(samples::averaging(4, {{0, 1}, {2, 3}})), 1.0);
  EXPECT_DOUBLE_EQ(vectors_per_peer(samples::averaging(4, {{0, 1}})), 0.5);
  EXPECT_DOUBLE_EQ(vectors_per_peer(samples::ring(10).at(0)), 2.0);
  EXPECT_DOUBLE_EQ(vectors_per_peer(samples::circulant(10, {1, 2, 4, 8})), 4.0);
  EXPECT_DOUBLE_EQ(vectors_per_peer(samples::star(100).at(0)), 1.98);
  EXPECT_EQ(vectors_per_peer(SparseMatrix(0, {})), 0.0);
  EXPECT_EQ(max_out_degree(samples::star(100).at(0)), 99U);
  EXPECT_EQ(max_out_degree(SparseMatrix::identity(3)), 0U);
}

TEST(UnreachablePeers, ChangeNothingWhenThereAreNone) {
  for (const SparseMatrix& matrix :
       {samples::ring(9).at(0), samples::averaging(9, {{0, 4, 8}, {1, 2}}),
        samples::circulant(9, {2})}) {
    const std::vector<double> x = random_block(9, 1);
    std::vector<double> expected(x.size());
    matrix.apply(x, expected, kColumns);
    const std::vector<double> y =
        apply_with_unreachable(matrix, std::vector<bool>(9, false), x, kColumns);
    for (std::size_t k = 0; k < x.size(); ++k) {
      EXPECT_NEAR(y[k], expected[k], 1e-14);
    }
  }
}

TEST(UnreachablePeers, NeverChangeTheSum) {
  for (std::uint32_t size = 4; size <= 40; size += 6) {
    const std::vector<double> x = random_block(size, 3);
    MixingSequence groups = samples::random_groups(size, 4);
    for (const SparseMatrix& matrix :
         {samples::ring(size).at(0), samples::expander(size, 4).at(0), groups.at(2),
          samples::circulant(size, {1, 3}), random_push(size, size)}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        SCOPED_TRACE(testing::Message() << "n " << size << ", seed " << seed);
        const std::vector<bool> mask = random_mask(size, seed);
        const std::vector<double> y = apply_with_unreachable(matrix, mask, x, kColumns);
        for (std::size_t column = 0; column < kColumns; ++column) {
          EXPECT_NEAR(column_sum(y, column), column_sum(x, column), 1e-12);
        }
        for (std::size_t row = 0; row < size; ++row) {
          if (mask[row]) {
            EXPECT_NEAR(y[row * kColumns], x[row * kColumns], 1e-15);
          }
        }
      }
    }
  }
}

TEST(UnreachablePeers, LeaveTheSurvivorsOfAGroupAveraging) {
  const std::vector<double> y = apply_with_unreachable(samples::averaging(5, {{0, 1, 2, 3}}),
                                                       {false, true, false, false, false},
                                                       std::vector<double>{1, 10, 2, 6, 5}, 1);
  EXPECT_EQ(y, (std::vector<double>{3, 10, 3, 3, 5}));
}

TEST(UnreachablePeers, TakeTheirEdgesWithThem) {
  // A ring of four with weights 1/3; 0 is out.
  const std::vector<double> y = apply_with_unreachable(
      samples::ring(4).at(0), {true, false, false, false}, std::vector<double>{9, 0, 3, 6}, 1);
  EXPECT_NEAR(y[0], 9.0, 1e-15);
  EXPECT_NEAR(y[1], 1.0, 1e-15);  // 2/3 of its own, 1/3 of 2's
  EXPECT_NEAR(y[2], 3.0, 1e-15);
  EXPECT_NEAR(y[3], 5.0, 1e-15);
}

TEST(UnreachablePeers, GetTheirShareKeptBySenders) {
  // 0 -> 1 -> 2 -> 0 with halves; 1 is out, so 0 keeps all and 2 gets nothing.
  const std::vector<double> y = apply_with_unreachable(
      samples::circulant(3, {1}), {false, true, false}, std::vector<double>{8, 4, 2}, 1);
  EXPECT_EQ(y, (std::vector<double>{9, 4, 1}));
}

}  // namespace
}  // namespace hobnob
