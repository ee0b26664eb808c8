#include "topology/view_disagreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mixing_samples.h"

namespace hobnob {
namespace {

// `matrix` among the peers named by `peers`, in the union of `size`; the others are idle.
SparseMatrix embedded(const SparseMatrix& matrix,
                      const std::vector<std::uint32_t>& peers,
                      std::uint32_t size) {
  std::vector<SparseMatrix::Entry> entries;
  std::vector<bool> is_in(size, false);
  for (std::uint32_t row = 0; row < matrix.size(); ++row) {
    is_in[peers[row]] = true;
    for (std::size_t k = 0; k < matrix.columns(row).size(); ++k) {
      entries.push_back({.row = peers[row],
                         .column = peers[matrix.columns(row)[k]],
                         .value = matrix.values(row)[k]});
    }
  }
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    if (!is_in[peer]) {
      entries.push_back({.row = peer, .column = peer, .value = 1.0});
    }
  }
  return {size, std::move(entries)};
}

std::vector<std::uint32_t> all_but(std::uint32_t size, std::uint32_t newcomer) {
  std::vector<std::uint32_t> peers;
  for (std::uint32_t peer = 0; peer < size; ++peer) {
    if (peer != newcomer) {
      peers.push_back(peer);
    }
  }
  return peers;
}

TEST(AgreedRound, OfEqualViewsIsTheRound) {
  const SparseMatrix matrix = samples::metropolis(5, {{0, 1}, {1, 2}, {3, 4}});
  const AgreedRound round = agreed_round(matrix, matrix, {false, true, false, true, true});
  EXPECT_EQ(round.planned, round.agreed);
  EXPECT_EQ(round.planned, 12U);  // each of three edges planned twice by both ends
  for (std::uint32_t row = 0; row < 5; ++row) {
    for (std::uint32_t column = 0; column < 5; ++column) {
      EXPECT_NEAR(round.matrix.at(row, column), matrix.at(row, column), 1e-15);
    }
  }
}

TEST(AgreedRound, KeepsTheEdgesThatBothEndsPlan) {
  // Stale: 0-1, 2-3. Fresh, with the newcomer 4: 0-4, 1-2.
  const SparseMatrix stale = samples::averaging(5, {{0, 1}, {2, 3}});
  const SparseMatrix fresh = samples::averaging(5, {{0, 4}, {1, 2}});
  const AgreedRound round = agreed_round(stale, fresh, {true, false, false, false, true});
  EXPECT_EQ(round.matrix.at(0, 4), 0.5);  // both fresh
  EXPECT_EQ(round.matrix.at(2, 3), 0.5);  // both stale
  EXPECT_EQ(round.matrix.at(1, 1), 1.0);  // wants 0, which wants 4
  EXPECT_TRUE(round.matrix.is_symmetric());
  EXPECT_TRUE(round.matrix.is_row_stochastic());
  EXPECT_EQ(round.planned, 10U);
  EXPECT_EQ(round.agreed, 8U);
}

TEST(AgreedRound, TakesTheLesserWeight) {
  const SparseMatrix stale = samples::metropolis(4, {{0, 1}, {1, 2}});
  const SparseMatrix fresh = samples::metropolis(4, {{0, 1}, {1, 2}, {1, 3}});
  const AgreedRound round = agreed_round(stale, fresh, {false, true, true, true});
  EXPECT_EQ(round.matrix.at(0, 1), 0.25);
  EXPECT_EQ(round.matrix.at(1, 0), 0.25);
  EXPECT_EQ(round.agreed, round.planned);
}

TEST(AgreedRound, AsksForTheSameGroup) {
  const SparseMatrix stale = samples::averaging(4, {{0, 1, 2}});
  const SparseMatrix fresh = samples::averaging(4, {{0, 1, 2, 3}});
  const AgreedRound round = agreed_round(stale, fresh, {false, false, true, true});
  EXPECT_EQ(round.matrix.at(0, 1), 1.0 / 3);
  EXPECT_EQ(round.matrix.at(2, 3), 0.25);
  EXPECT_EQ(round.matrix.at(1, 2), 0.0);
  EXPECT_TRUE(round.matrix.is_symmetric());
}

// Every second peer knows of one newcomer. By rank, half of the messages across its place go
// astray: of (1 + 2 + 4 + ... + 512) / 10 in 1000.
TEST(ViewDisagreement, OfShiftsByRankIsTheWidthOfTheShifts) {
  constexpr std::uint32_t kSize = 1001;
  constexpr std::uint32_t kNewcomer = 417;
  MixingSequence old_rounds = samples::one_peer_exponential(kSize - 1);
  MixingSequence new_rounds = samples::one_peer_exponential(kSize);
  MixingSequence stale(kSize, 10, [&](std::uint64_t round) {
    return embedded(old_rounds.at(round), all_but(kSize, kNewcomer), kSize);
  });
  Rng rng({.seed = 2, .stream = 2});
  std::vector<bool> holds_fresh(kSize);
  for (std::uint32_t peer = 0; peer < kSize; ++peer) {
    holds_fresh[peer] = peer == kNewcomer || rng.below(2) == 0;
  }
  const ViewDisagreement result =
      trace_disagreement(stale, new_rounds, holds_fresh, {.max_rounds = 20});
  EXPECT_NEAR(result.agreed_share, 0.949, 0.005);
  // A quarter of the messages of the longest shift is missing: far from the 9e-5 of one view.
  EXPECT_GT(result.trace.error_after(20), 1e-3);
  EXPECT_LT(result.trace.error_after(20), 2e-2);
}

TEST(ViewDisagreement, OfUnrelatedPairsIsHalf) {
  constexpr std::uint32_t kSize = 201;
  MixingSequence fresh = samples::random_groups(kSize, 2);
  MixingSequence old_rounds = samples::random_groups(kSize - 1, 2);
  MixingSequence stale(kSize, 0, [&](std::uint64_t round) {
    return embedded(old_rounds.at(round + 1000), all_but(kSize, 200), kSize);
  });
  std::vector<bool> holds_fresh(kSize);
  for (std::uint32_t peer = 0; peer < kSize; ++peer) {
    holds_fresh[peer] = peer % 2 == 0;
  }
  const ViewDisagreement result = trace_disagreement(stale, fresh, holds_fresh, {.max_rounds = 40});
  EXPECT_NEAR(result.agreed_share, 0.5, 0.03);
  EXPECT_LT(result.trace.error_after(40), 0.2);
  EXPECT_GT(result.trace.error_after(20), 5e-3);  // five times that of one view
}

}  // namespace
}  // namespace hobnob
