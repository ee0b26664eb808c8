// Schedules that average exactly, and the proof that they do.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/topology_fixture.h"
#include "topology/ceca.h"
#include "topology/exact_average.h"
#include "topology/plan_parts.h"
#include "topology/verify.h"

namespace hobnob {
namespace {

std::vector<MixingMatrix> rounds_of(const Schedule& schedule,
                                    std::uint32_t size,
                                    std::uint64_t first,
                                    std::uint64_t count) {
  const MembershipView view(random_peers(size, size));
  std::vector<MixingMatrix> rounds;
  for (std::uint64_t round = first; round < first + count; ++round) {
    rounds.push_back(schedule.matrix(view, round / 1024, round));
  }
  return rounds;
}

MixingMatrix average(std::uint32_t size) {
  std::vector<MixingMatrix::Edge> edges;
  for (std::uint32_t a = 0; a < size; ++a) {
    for (std::uint32_t b = a + 1; b < size; ++b) {
      edges.push_back({.a = a, .b = b, .weight = {1, size}});
    }
  }
  return MixingMatrix::symmetric(size, edges);
}

TEST(AveragesExactly, IsTrueOfJOnly) {
  for (const std::uint32_t size : {1U, 2U, 3U, 8U, 61U, 100U}) {
    EXPECT_TRUE(averages_exactly(std::vector{average(size)})) << size;
    EXPECT_EQ(averages_exactly(std::vector{MixingMatrix(size, {})}), size == 1);
  }
  EXPECT_FALSE(averages_exactly({}));
}

// One weight off by 1e-19: no float64 computation could tell.
TEST(AveragesExactly, SeesWhatNoFloatCould) {
  const MixingMatrix pair =
      MixingMatrix::symmetric(2, {{.a = 0, .b = 1, .weight = {2147483647U, 4294967295U}}});
  EXPECT_TRUE(pair.is_doubly_stochastic());
  EXPECT_FALSE(averages_exactly(std::vector{pair}));
  EXPECT_FALSE(averages_exactly(std::vector{pair, pair}));  // off by 5e-20
  // Four times: off by less than 2^-126, and J times anything is J.
  EXPECT_FALSE(averages_exactly(std::vector{pair, pair, pair, pair}));
  EXPECT_TRUE(averages_exactly(std::vector{pair, average(2), pair}));
}

// These two multiply to J modulo the prime 2^61 - 1, the first that is tried, and not otherwise:
// the second row of the product is about (0.675, 0.325).
TEST(AveragesExactly, IsNotFooledByWhatHoldsModuloOnePrime) {
  const MixingMatrix first(2, {{.row = 0, .column = 0, .weight = {1073741820U, 2147483647U}},
                               {.row = 0, .column = 1, .weight = {1073741827U, 2147483647U}},
                               {.row = 1, .column = 0, .weight = {1, 1}},
                               {.row = 1, .column = 1, .weight = {0, 1}}});
  const MixingMatrix second(2, {{.row = 0, .column = 0, .weight = {2147483647U, 2147483654U}},
                                {.row = 0, .column = 1, .weight = {7, 2147483654U}},
                                {.row = 1, .column = 0, .weight = {1994091958U, 3067833789U}},
                                {.row = 1, .column = 1, .weight = {1073741831U, 3067833789U}}});
  ASSERT_TRUE(first.is_row_stochastic() && second.is_row_stochastic());
  EXPECT_FALSE(averages_exactly(std::vector{first, second}));
}

TEST(AveragesExactly, IsFalseOfRowsThatDoNotSumToOne) {
  EXPECT_FALSE(
      averages_exactly(std::vector{MixingMatrix(2, {{.row = 0, .column = 1, .weight = {1, 2}}})}));
}

// Every schedule that states a period keeps its word, from each multiple of it, and no fewer rounds
// do.
TEST(ExactPeriod, IsTheNumberOfRoundsThatMultiplyToJ) {
  for (const TopologyConfig& config : all_configs()) {
    const auto schedule = make_schedule(config);
    for (const std::uint32_t size : {2U, 3U, 5U, 6U, 7U, 8U, 12U, 16U, 25U, 32U, 36U, 60U, 64U}) {
      const auto period = schedule->exact_period(size);
      if (!period) {
        continue;
      }
      SCOPED_TRACE(name_of(config) + ", n " + std::to_string(size));
      EXPECT_TRUE(averages_exactly(rounds_of(*schedule, size, 0, *period)));
      EXPECT_TRUE(averages_exactly(rounds_of(*schedule, size, 7 * *period, *period)));
      if (config.dims.empty() && *period > 1) {
        EXPECT_FALSE(averages_exactly(rounds_of(*schedule, size, 0, *period - 1)));
      }
    }
    EXPECT_EQ(schedule->exact_period(1).value_or(0), 0U);
  }
}

TEST(ExactPeriod, IsKnownForTheKindsThatHaveOne) {
  EXPECT_EQ(make_schedule({.kind = "base-k", .k = 1})->exact_period(25), 9U);
  EXPECT_EQ(make_schedule({.kind = "base-k", .k = 4})->exact_period(1000), 5U);
  EXPECT_EQ(make_schedule({.kind = "grid"})->exact_period(1000), 3U);
  EXPECT_EQ(make_schedule({.kind = "grid"})->exact_period(100), 2U);
  EXPECT_EQ(make_schedule({.kind = "grid"})->exact_period(34), std::nullopt);  // 2 x 17
  EXPECT_EQ(make_schedule({.kind = "grid", .dims = {4, 2}})->exact_period(24), 2U);
  EXPECT_EQ(make_schedule({.kind = "grid", .dims = {4, 2}})->exact_period(25), std::nullopt);
  EXPECT_EQ(make_schedule({.kind = "one-peer-exponential"})->exact_period(64), 6U);
  EXPECT_EQ(make_schedule({.kind = "one-peer-exponential"})->exact_period(100), std::nullopt);
  EXPECT_EQ(make_schedule({.kind = "ceca"})->exact_period(64), 6U);
  EXPECT_EQ(make_schedule({.kind = "ceca"})->exact_period(100), std::nullopt);  // with one buffer
  EXPECT_EQ(make_schedule({.kind = "trie-groups", .g = 8})->exact_period(8), 1U);
  EXPECT_EQ(make_schedule({.kind = "trie-groups", .g = 8})->exact_period(9), std::nullopt);
  EXPECT_EQ(make_schedule({.kind = "random-matching"})->exact_period(64), std::nullopt);
}

TEST(OnePeerKinds, AreExactFromAnyPhase) {
  for (const char* kind : {"one-peer-exponential", "one-peer-hypercube", "ceca"}) {
    const auto schedule = make_schedule({.kind = kind});
    for (const std::uint32_t size : {2U, 8U, 64U}) {
      for (std::uint64_t phase = 0; phase < ceil_log2(size); ++phase) {
        EXPECT_TRUE(averages_exactly(rounds_of(*schedule, size, 1000 + phase, ceil_log2(size))))
            << kind << " n " << size << " phase " << phase;
      }
    }
  }
}

TEST(BaseK, NeedsItsPhaseAndIsNotExactFromAnother) {
  const auto schedule = make_schedule({.kind = "base-k", .k = 1});
  EXPECT_FALSE(averages_exactly(rounds_of(*schedule, 25, 1, 9)));
  EXPECT_TRUE(averages_exactly(rounds_of(*schedule, 25, 1, 17)));  // a whole period is inside
}

// The rule on numbers, as a mixer with two buffers will run it.
TEST(Ceca, GivesEveryPeerTheMean) {
  for (const std::uint32_t size : {1U, 2U, 3U, 5U, 8U, 25U, 100U, 127U}) {
    std::vector<double> wide = normal_columns(size, 1, size)[0];
    std::vector<double> narrow = wide;
    double mean = 0.0;
    for (const double value : wide) {
      mean += value / size;
    }
    for (const CecaRound& round : ceca_rounds(size)) {
      const std::vector<double> sent = round.sends_wide ? wide : narrow;
      for (std::uint32_t peer = 0; peer < size; ++peer) {
        const double message = sent[(peer + size - round.shift) % size];
        wide[peer] += round.wide_in.value() * (message - wide[peer]);
        narrow[peer] += round.narrow_in.value() * (message - narrow[peer]);
      }
    }
    for (const double value : wide) {
      EXPECT_NEAR(value, mean, 1e-13) << "n " << size;
    }
  }
}

TEST(Ceca, ScheduleHasItsEdges) {
  const auto schedule = make_schedule({.kind = "ceca"});
  const MembershipView view(random_peers(25, 1));
  const std::vector<CecaRound> rounds = ceca_rounds(25);
  ASSERT_EQ(rounds.size(), 5U);
  for (std::uint64_t round = 0; round < 10; ++round) {
    const CecaRound& now = rounds[round % 5];
    for (const Exchange& exchange : schedule->plan(view, 3, 0, round).partners) {
      const std::uint32_t wanted = exchange.in.is_zero() ? now.shift : 25 - now.shift;
      EXPECT_EQ((exchange.peer + 25 - 3) % 25, wanted);
    }
  }
}

TEST(VerifyTopology, PassesEveryCheck) {
  const VerifyOptions small{.base_peers = 48,
                            .base_k = 8,
                            .large_base = {100, 127},
                            .ceca_peers = 200,
                            .one_peer_peers = 64};
  const std::vector<Check> checks = verify_topology(small);
  EXPECT_EQ(checks.size(), 3U + 8U + 2U + 1U + 2U);
  for (const Check& check : checks) {
    EXPECT_TRUE(check.passed) << check.name << ": " << check.detail;
    EXPECT_FALSE(check.name.empty());
  }
}

}  // namespace
}  // namespace hobnob
