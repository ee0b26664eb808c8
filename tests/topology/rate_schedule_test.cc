// Ratings against measured ones (an independent implementation's, with its own random numbers).

#include "topology/rate_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/hobnob/topology_spec.h"

namespace hobnob {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Rating rating_of(const char* schedule, std::size_t peers) {
  return rate_schedule(parse_topology_spec(schedule, "test").value(), peers, {});
}

TEST(RateSchedule, MatchaMixesAsFastWithoutNegativeWeights) {
  struct Row {
    std::size_t peers;
    std::uint64_t rounds_1e6;
    double gap;
    double xi;
  };

  // With the paper's alpha, whose own weights go down to -0.78.
  constexpr Row kPaper[] = {
      {8, 21, 0.486, 0.31}, {25, 26, 0.413, 0.41}, {64, 33, 0.358, 0.42}, {100, 33, 0.355, 0.48}};
  for (const Row& row : kPaper) {
    SCOPED_TRACE(testing::Message() << row.peers << " peers");
    const Rating rating = rating_of("matcha", row.peers);
    EXPECT_GE(rating.gap, 0.90 * row.gap);
    EXPECT_LE(rating.rounds_1e6.value_or(4000), row.rounds_1e6 + row.rounds_1e6 / 10);
    EXPECT_LE(rating.xi.value_or(1.0), row.xi);
  }
}

TEST(RateSchedule, KnowsWhatDifferingDataCosts) {
  // x <- W (x + b) at rest, averaged over the phases; fractions computed by hand from the spectra.
  EXPECT_NEAR(rating_of("one-peer-exponential", 8).zeta.value_or(kNone), 0.75, 1e-9);
  EXPECT_NEAR(rating_of("one-peer-hypercube", 64).zeta.value_or(kNone), 141.0 / 64.0, 1e-9);
  EXPECT_NEAR(rating_of("grid:dims=5x5", 25).zeta.value_or(kNone), 0.16, 1e-9);
}

TEST(RateSchedule, EveryKindIsRatedForFewPeers) {
  for (const std::string& kind : topology_kinds()) {
    if (kind == "file") {
      continue;
    }
    for (const std::size_t peers : {1U, 2U, 3U, 7U}) {
      SCOPED_TRACE(testing::Message() << kind << ", " << peers << " peers");
      const Rating rating = rating_of(kind.c_str(), peers);
      EXPECT_GE(rating.gap, -1e-9);
      EXPECT_LE(rating.gap, 1.0);
      EXPECT_LT(rating.out_degree, peers);
    }
  }
}

TEST(RateSchedule, ASequenceHasThePeriodOfItsSchedule) {
  for (const char* schedule : {"ring", "one-peer-exponential", "base-k:k=2", "grid", "ceca",
                               "round-robin:shuffled=false"}) {
    for (const std::uint32_t peers : {2U, 5U, 8U, 24U}) {
      SCOPED_TRACE(testing::Message() << schedule << ", " << peers << " peers");
      const auto plan = make_schedule(parse_topology_spec(schedule, "test").value());
      const MembershipView view = numbered_view(peers, "").value();
      const std::uint32_t period = plan->period(peers);
      ASSERT_GT(period, 0U);
      for (std::uint64_t round = 0; round < 3 * period; ++round) {
        EXPECT_EQ(plan->plans(view, 0, round), plan->plans(view, 0, round + period));
      }
    }
  }
}

}  // namespace
}  // namespace hobnob
