#include "topology/consensus_trace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mixing_samples.h"

namespace hobnob {
namespace {

ConsensusTrace traced(MixingSequence rounds, const TraceConfig& config = {}) {
  return trace_consensus(rounds, config);
}

// The median of eleven runs of 20 rounds with 5 % of the peers out.
double lossy(MixingSequence rounds) {
  std::vector<double> errors;
  for (std::uint64_t seed = 1; seed <= 11; ++seed) {
    errors.push_back(trace_consensus(rounds, {.seed = seed, .max_rounds = 20, .unreachable = 0.05})
                         .error_after(20));
  }
  std::ranges::sort(errors);
  return errors[5];
}

TEST(ConsensusTrace, StartsAtOneAndIsAFunctionOfTheSeed) {
  const ConsensusTrace first = traced(samples::ring(10), {.seed = 3, .max_rounds = 30});
  EXPECT_EQ(first.errors.size(), 31U);
  EXPECT_EQ(first.errors[0], 1.0);
  EXPECT_EQ(first.errors, traced(samples::ring(10), {.seed = 3, .max_rounds = 30}).errors);
  EXPECT_NE(first.errors, traced(samples::ring(10), {.seed = 4, .max_rounds = 30}).errors);
}

TEST(ConsensusTrace, NeverGrowsForDoublyStochasticRounds) {
  for (MixingSequence rounds : {samples::ring(17), samples::star(17), samples::random_groups(17, 2),
                                samples::one_peer_exponential(17), samples::expander(40, 4)}) {
    const std::vector<double> errors = traced(rounds, {.max_rounds = 60}).errors;
    for (std::size_t round = 1; round < errors.size(); ++round) {
      EXPECT_LE(errors[round], errors[round - 1] * (1.0 + 1e-12));
    }
  }
}

TEST(ConsensusTrace, EndsWhenAnExactScheduleDoes) {
  EXPECT_EQ(traced(samples::complete(25)).rounds_to(1e-13), 1U);
  EXPECT_EQ(traced(samples::one_peer_exponential(64)).rounds_to(1e-13), 6U);
  EXPECT_EQ(traced(samples::one_peer_hypercube(8)).rounds_to(1e-13), 3U);
  EXPECT_EQ(traced(samples::grid({5, 5})).rounds_to(1e-13), 2U);
  EXPECT_EQ(traced(samples::grid({5, 5})).error_after(100),
            traced(samples::grid({5, 5})).errors[2]);
}

TEST(ConsensusTrace, TellsWhenAnErrorIsNotReached) {
  EXPECT_EQ(traced(samples::ring(64), {.max_rounds = 100}).rounds_to(1e-3), std::nullopt);
}

TEST(ConsensusTrace, TakesTheRoundsOfTheTable) {
  const auto rounds_to = [](MixingSequence rounds) {
    return static_cast<double>(traced(std::move(rounds)).rounds_to(1e-6).value());
  };
  EXPECT_NEAR(rounds_to(samples::ring(25)), 585, 0.05 * 585);
  EXPECT_NEAR(rounds_to(samples::torus(10, 10)), 155, 0.05 * 155);
  EXPECT_NEAR(rounds_to(samples::hypercube(64)), 38, 1);
  EXPECT_NEAR(rounds_to(samples::static_exponential(100)), 40, 2);
  EXPECT_NEAR(rounds_to(samples::one_peer_exponential(100)), 55, 2);
  EXPECT_NEAR(rounds_to(samples::star(64)), 877, 10);
  EXPECT_NEAR(rounds_to(samples::random_groups(100, 2)), 40, 4);
  EXPECT_NEAR(rounds_to(samples::random_groups(100, 8)), 14, 1.4);
}

TEST(ConsensusTrace, WithFivePercentOutIsThatOfTheTable) {
  const std::pair<double, double> pairs[] = {
      {lossy(samples::ring(64)), 0.24},
      {lossy(samples::torus(10, 10)), 5.0e-2},
      {lossy(samples::hypercube(64)), 6.6e-4},
      {lossy(samples::static_exponential(100)), 4.9e-4},
      {lossy(samples::star(100)), 0.82},
      {lossy(samples::one_peer_exponential(100)), 3.4e-3},
      {lossy(samples::one_peer_hypercube(100)), 1.3e-2},
      {lossy(samples::random_groups(100, 2)), 1.9e-3},
      {lossy(samples::random_groups(100, 4)), 5.2e-6},
  };
  for (const auto& [error, expected] : pairs) {
    EXPECT_LT(std::abs(std::log(error / expected)), std::log(1.5)) << error << " " << expected;
  }
  EXPECT_LT(lossy(samples::complete(25)), 1e-14);
}

TEST(ConsensusTrace, OfOnePeerIsAtTheMean) {
  const ConsensusTrace trace = traced(samples::fixed(SparseMatrix::identity(1)));
  EXPECT_EQ(trace.errors, (std::vector<double>{1.0, 0.0}));
}

}  // namespace
}  // namespace hobnob
