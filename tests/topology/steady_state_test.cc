#include "topology/steady_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/mixing_samples.h"

namespace hobnob {
namespace {

SteadyState by_modes(MixingSequence rounds, double discount = 0.95) {
  return steady_state(joint_spectrum(rounds).value(), discount);
}

SteadyState by_recursion(MixingSequence rounds, double discount = 0.95) {
  return steady_state(rounds, {.discount = discount, .contraction = contraction(rounds)});
}

SteadyState of_random(MixingSequence rounds, double contraction) {
  return steady_state(rounds, {.contraction = contraction});
}

void expect_both(const SteadyState& state, double xi, double zeta, double share) {
  ASSERT_TRUE(state.xi && state.zeta);
  EXPECT_NEAR(*state.xi, xi, share * xi + 1e-12);
  EXPECT_NEAR(*state.zeta, zeta, share * zeta + 1e-12);
}

TEST(SteadyState, OfStaticGraphsIsThatOfTheTable) {
  expect_both(by_modes(samples::ring(8)), 0.51, 4.3, 0.01);
  expect_both(by_modes(samples::ring(100)), 12, 1.2e4, 0.05);
  expect_both(by_modes(samples::torus(10, 10)), 0.52, 7.7, 0.01);
  expect_both(by_modes(samples::hypercube(64)), 0.2, 0.74, 0.01);
  expect_both(by_modes(samples::static_exponential(1000)), 0.12, 0.21, 0.03);
  expect_both(by_modes(samples::star(100)), 48, 9.6e3, 0.01);
  expect_both(by_modes(samples::complete(25)), 0, 0, 0);
}

// Slow graphs are computed, not waited for: xi and zeta go like n and n^3.
TEST(SteadyState, OfALongRingIsThere) {
  expect_both(by_modes(samples::ring(1000)), 1.2e2, 1.2e7, 0.05);
}

// S = W_t + W_t W_{t-1} + ... ends with the period: the digits of a group are averaged out.
TEST(SteadyState, OfExactSchedulesIsAFraction) {
  expect_both(by_recursion(samples::grid({5, 5})), 4.0 / 25, 4.0 / 25, 1e-9);
  expect_both(by_recursion(samples::grid({10, 10})), 9.0 / 100, 9.0 / 100, 1e-9);
  expect_both(by_recursion(samples::one_peer_hypercube(8)), 4.0 / 8, 6.0 / 8, 1e-9);
  expect_both(by_modes(samples::one_peer_exponential(8)), 4.0 / 8, 6.0 / 8, 1e-9);
  expect_both(by_recursion(samples::one_peer_hypercube(64)), 57.0 / 64, 141.0 / 64, 1e-9);
  expect_both(by_modes(samples::one_peer_exponential(64)), 57.0 / 64, 141.0 / 64, 1e-9);
  expect_both(by_recursion(samples::complete(9)), 0, 0, 1e-9);
}

// Matchings in cyclic order: (n^2 - 4) / 12 n.
TEST(SteadyState, OfShiftOneGrowsWithTheNumberOfPeers) {
  for (const std::uint32_t size : {8U, 16U, 32U}) {
    const double expected = (size * size - 4.0) / (12.0 * size);
    expect_both(by_recursion(samples::shift_one(size)), expected, expected, 1e-3);
  }
}

TEST(SteadyState, ByRecursionIsThatOfTheModes) {
  for (const bool is_static : {false, true}) {
    for (const std::uint32_t size : {3U, 7U, 25U, 30U}) {
      SCOPED_TRACE(testing::Message() << "n " << size << ", static " << is_static);
      const auto make = [&] {
        return is_static ? samples::static_exponential(size) : samples::one_peer_exponential(size);
      };
      const SteadyState expected = by_modes(make());
      const SteadyState state = by_recursion(make());
      expect_both(state, expected.xi.value(), expected.zeta.value(), 2e-3);
      EXPECT_NEAR(state.effective_neighbours / expected.effective_neighbours, 1.0, 2e-3);
    }
  }
}

TEST(SteadyState, OfManyPeersBySamplingIsThatOfTheModes) {
  const SteadyState expected = by_modes(samples::one_peer_exponential(300));
  const SteadyState state = by_recursion(samples::one_peer_exponential(300));
  expect_both(state, expected.xi.value(), expected.zeta.value(), 0.03);
  EXPECT_NEAR(state.effective_neighbours / expected.effective_neighbours, 1.0, 0.03);
}

// Only row-stochastic: the mean moves, the distances from it have their own recursion. Against the
// series sum_k ||P W^k||^2 and ||sum_k P W^k||^2.
TEST(SteadyState, OfUnequalWeightsIsTheSumOfTheSeries) {
  constexpr std::uint32_t kSize = 9;
  Rng rng({.seed = 4, .stream = 4});
  std::vector<SparseMatrix::Entry> entries;
  for (std::uint32_t row = 0; row < kSize; ++row) {
    const auto other = static_cast<std::uint32_t>((row + 1 + rng.below(kSize - 1)) % kSize);
    const auto third = (row + 1) % kSize;
    entries.push_back({.row = row, .column = row, .value = 0.4});
    entries.push_back({.row = row, .column = other, .value = 0.35});
    entries.push_back({.row = row, .column = third, .value = 0.25});
  }
  const SparseMatrix matrix(kSize, entries);
  ASSERT_FALSE(matrix.is_symmetric());
  std::vector<double> power(kSize * kSize, 0.0);
  for (std::size_t k = 0; k < kSize; ++k) {
    power[k * kSize + k] = 1.0;
  }
  const auto centred = [&](std::vector<double> block) {
    for (std::size_t column = 0; column < kSize; ++column) {
      double mean = 0.0;
      for (std::size_t row = 0; row < kSize; ++row) {
        mean += block[row * kSize + column] / kSize;
      }
      for (std::size_t row = 0; row < kSize; ++row) {
        block[row * kSize + column] -= mean;
      }
    }
    return block;
  };
  const auto squared = [](const std::vector<double>& block) {
    return std::inner_product(block.begin(), block.end(), block.begin(), 0.0);
  };
  double xi = 0.0;
  double discounted = 0.0;
  std::vector<double> response(kSize * kSize, 0.0);
  std::vector<double> next(power);
  for (int k = 0; k < 2000; ++k) {
    matrix.apply(power, next, kSize);
    power.swap(next);
    const std::vector<double> apart = centred(power);
    xi += squared(apart) / kSize;
    discounted += std::pow(0.9, k) * squared(power) / kSize;
    for (std::size_t j = 0; j < response.size(); ++j) {
      response[j] += apart[j];
    }
  }
  const SteadyState state = by_recursion(samples::fixed(matrix), 0.9);
  expect_both(state, xi, squared(response) / kSize, 3e-3);
  EXPECT_NEAR(state.effective_neighbours, 1.0 / (0.1 * discounted), 0.01);
}

TEST(SteadyState, OfRandomGroupsHasItsClosedForm) {
  for (const auto& [size, group] :
       {std::pair{8U, 2U}, {64U, 2U}, {64U, 8U}, {100U, 4U}, {120U, 2U}, {400U, 4U}}) {
    SCOPED_TRACE(testing::Message() << "n " << size << ", g " << group);
    const double n = size;
    const double f = (n / group - 1) / (n - 1);
    const double xi = (1 - 1 / n) * f / (1 - f);
    const double zeta = (1 - 1 / n) * f * (1 + f) / ((1 - f) * (1 - f));
    expect_both(of_random(samples::random_groups(size, group), std::sqrt(f)), xi, zeta, 0.05);
  }
}

TEST(EffectiveNeighbours, AreThoseOfTheTable) {
  const double discounts[] = {0.9, 0.95, 0.99};
  const double ring[] = {6.6, 8.8, 18};
  const double torus[] = {20, 31, 66};
  const double one_peer[] = {10, 18, 55};
  const double shift_one[] = {6, 9, 20};
  for (std::size_t k = 0; k < 3; ++k) {
    const double g = discounts[k];
    EXPECT_NEAR(by_modes(samples::ring(100), g).effective_neighbours / ring[k], 1.0, 0.02);
    EXPECT_NEAR(by_modes(samples::torus(10, 10), g).effective_neighbours / torus[k], 1.0, 0.02);
    EXPECT_NEAR(by_modes(samples::one_peer_exponential(100), g).effective_neighbours / one_peer[k],
                1.0, 0.06);
    EXPECT_NEAR(by_modes(samples::complete(100), g).effective_neighbours, 100.0, 1e-9);
  }
  MixingSequence cyclic = samples::shift_one(100);
  // Without a contraction only the discounted sum is asked for.
  const SteadyState state = steady_state(cyclic, {.discount = 0.9, .contraction = 1.0});
  EXPECT_NEAR(state.effective_neighbours / shift_one[0], 1.0, 0.06);
  EXPECT_FALSE(state.xi || state.zeta);
}

TEST(SteadyState, OfIslandsDoesNotExist) {
  const SparseMatrix islands = samples::averaging(6, {{0, 1, 2}, {3, 4, 5}});
  const SteadyState state = by_modes(samples::fixed(islands));
  EXPECT_FALSE(state.xi || state.zeta);
  EXPECT_NEAR(state.effective_neighbours, 3.0, 1e-9);
  const SteadyState recursion = by_recursion(samples::fixed(islands));
  EXPECT_FALSE(recursion.xi || recursion.zeta);
  EXPECT_NEAR(recursion.effective_neighbours, 3.0, 0.01);
}

TEST(SteadyState, OfOnePeerIsNothing) {
  MixingSequence one = samples::fixed(SparseMatrix::identity(1));
  const SteadyState state = steady_state(one, {});
  EXPECT_EQ(state.xi, 0.0);
  EXPECT_EQ(state.zeta, 0.0);
  EXPECT_EQ(state.effective_neighbours, 1.0);
}

}  // namespace
}  // namespace hobnob
