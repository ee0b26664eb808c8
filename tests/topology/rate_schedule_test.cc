// Ratings against measured ones (an independent implementation's, with its own random numbers).

#include "topology/rate_schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/hobnob/topology_spec.h"

namespace hobnob {
namespace {

constexpr std::uint64_t kNever = 0;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Row {
  const char* schedule;
  std::size_t peers;
  std::uint64_t exact;
  std::uint64_t rounds_1e6;
  double gap;
  double xi;  // two digits
};

// Round robin is not here: the table has one draw of it, 37 rounds at 64 peers where the median of
// seven is 33; nor are erdos-renyi and small-world, for the same reason. matcha has a test of its
// own.
constexpr Row kTable[] = {
    {"ring", 8, kNever, 61, 0.1953, 0.51},
    {"ring", 25, kNever, 585, 0.0209, 2.6},
    {"ring", 64, kNever, 3738, 0.0032, 7.4},
    {"torus", 8, kNever, 20, 0.5000, 0.17},
    {"torus", 25, kNever, 40, 0.2764, 0.27},
    {"torus", 64, kNever, 101, 0.1172, 0.44},
    {"torus", 100, kNever, 155, 0.0764, 0.52},
    {"chordal-ring", 8, kNever, 26, 0.4000, 0.1},
    {"chordal-ring", 25, kNever, 39, 0.2764, 0.27},
    {"chordal-ring", 64, kNever, 100, 0.1172, 0.44},
    {"chordal-ring", 100, kNever, 154, 0.0764, 0.52},
    {"hypercube", 8, kNever, 20, 0.5000, 0.17},
    {"hypercube", 25, kNever, 60, 0.1826, 0.29},
    {"hypercube", 64, kNever, 38, 0.2857, 0.2},
    {"hypercube", 100, kNever, 80, 0.1370, 0.22},
    {"directed-exponential", 8, kNever, 19, 0.5000, 0.15},
    {"directed-exponential", 25, kNever, 19, 0.4891, 0.16},
    {"directed-exponential", 64, kNever, 35, 0.2857, 0.18},
    {"directed-exponential", 100, kNever, 40, 0.2500, 0.15},
    {"star", 8, kNever, 103, 0.1250, 2.4},
    {"star", 25, kNever, 338, 0.0400, 11},
    {"star", 64, kNever, 877, 0.0156, 30},
    {"star", 100, kNever, 1375, 0.0100, 48},
    {"complete", 8, 1, 1, 1.0000, 0},
    {"complete", 25, 1, 1, 1.0000, 0},
    {"complete", 64, 1, 1, 1.0000, 0},
    {"complete", 100, 1, 1, 1.0000, 0},
    {"one-peer-exponential", 8, 3, 3, 1.0000, 0.5},
    {"one-peer-exponential", 25, kNever, 40, 0.2810, 0.81},
    {"one-peer-exponential", 64, 6, 6, 1.0000, 0.9},
    {"one-peer-exponential", 100, kNever, 55, 0.2102, 0.93},
    {"one-peer-hypercube", 8, 3, 3, 1.0000, 0.5},
    {"one-peer-hypercube", 25, kNever, 45, 0.1410, 1.1},
    {"one-peer-hypercube", 64, 6, 6, 1.0000, 0.89},
    {"one-peer-hypercube", 100, kNever, 62, 0.1029, 1.1},
    {"base-k:k=1", 8, 3, 3, 1.0000, 0.5},
    {"base-k:k=1", 25, 9, 9, 1.0000, 1.1},
    {"base-k:k=1", 64, 6, 6, 1.0000, 0.89},
    {"base-k:k=1", 100, 11, 11, 1.0000, 1.1},
    {"base-k:k=2", 8, 3, 3, 1.0000, 0.5},
    {"base-k:k=2", 25, 6, 6, 1.0000, 0.63},
    {"base-k:k=2", 64, 6, 6, 1.0000, 0.89},
    {"base-k:k=2", 100, 8, 8, 1.0000, 0.77},
    {"base-k:k=4", 8, 2, 2, 1.0000, 0.26},
    {"base-k:k=4", 25, 2, 2, 1.0000, 0.16},
    {"base-k:k=4", 64, 3, 3, 1.0000, 0.28},
    {"base-k:k=4", 100, 3, 3, 1.0000, 0.24},
    {"ceca", 8, 3, 3, 1.0000, kNone},
    {"ceca", 25, 5, 5, 1.0000, kNone},
    {"ceca", 64, 6, 6, 1.0000, kNone},
    {"ceca", 100, 7, 7, 1.0000, kNone},
    {"grid", 25, 2, 2, 1.0000, 0.16},
    {"grid", 64, 2, 2, 1.0000, 0.11},
    {"grid", 100, 2, 2, 1.0000, 0.089},
    {"trie-pairs", 64, kNever, 39, 0.2994, 0.96},
    {"trie-pairs", 100, kNever, 39, 0.3029, 0.96},
    {"random-matching", 64, kNever, 39, 0.3003, 0.94},
    {"one-peer-exponential:relabel=true", 64, kNever, 6, 0.9977, 0.91},
    {"trie-groups:g=4", 64, kNever, 21, 0.4895, 0.31},
    {"trie-groups:g=8", 64, kNever, 13, 0.6685, 0.12},
    {"trie-groups:g=8", 100, kNever, 14, 0.6570, 0.14},
    {"hash-buckets:g=8", 64, kNever, 16, 0.5931, 0.2},
    {"expander:degree=4", 100, kNever, 87, 0.1240, 0.38},
    {"expander:degree=8", 100, kNever, 31, 0.3129, 0.14},
};

Rating rating_of(const char* schedule, std::size_t peers) {
  return rate_schedule(parse_topology_spec(schedule, "test").value(), peers, {});
}

bool is_random(const Row& row) {
  return make_schedule(parse_topology_spec(row.schedule, "test").value())->period(64) == 0 ||
         std::string(row.schedule).rfind("expander", 0) == 0;
}

TEST(RateSchedule, ReproducesTheMeasuredTable) {
  for (const Row& row : kTable) {
    SCOPED_TRACE(testing::Message() << row.schedule << ", " << row.peers << " peers");
    const Rating rating = rating_of(row.schedule, row.peers);
    EXPECT_EQ(rating.exact_rounds.value_or(kNever), row.exact);
    const double tolerance = is_random(row) ? 0.10 : 0.05;
    const auto rounds = static_cast<double>(rating.rounds_1e6.value_or(0));
    const auto wanted = static_cast<double>(row.rounds_1e6);
    EXPECT_NEAR(rounds, wanted, std::max(1.0, tolerance * wanted));
    // Both the table's rho and its distance from 1 have four digits.
    EXPECT_NEAR(rating.gap, row.gap, std::max(tolerance * row.gap, 1e-4));
    ASSERT_EQ(rating.xi.has_value(), !std::isnan(row.xi));
    if (rating.xi) {
      EXPECT_NEAR(*rating.xi, row.xi, (tolerance + 0.05) * row.xi);  // of two printed digits
    }
  }
}

// The table's MATCHA has the paper's alpha and with it own weights down to -0.8. Here they are not
// negative, which costs nothing: Xi is 5 to 34 % lower.
TEST(RateSchedule, MatchaMixesAsFastWithoutNegativeWeights) {
  constexpr Row kPaper[] = {{"matcha", 8, kNever, 21, 0.486, 0.31},
                            {"matcha", 25, kNever, 26, 0.413, 0.41},
                            {"matcha", 64, kNever, 33, 0.358, 0.42},
                            {"matcha", 100, kNever, 33, 0.355, 0.48}};
  for (const Row& row : kPaper) {
    SCOPED_TRACE(testing::Message() << row.peers << " peers");
    const Rating rating = rating_of(row.schedule, row.peers);
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
  EXPECT_NEAR(rating_of("star", 25).zeta.value_or(kNone), 530.0, 0.05 * 530.0);
  EXPECT_NEAR(rating_of("trie-groups:g=8", 100).zeta.value_or(kNone), 0.18, 0.10 * 0.18);
  EXPECT_NEAR(rating_of("trie-pairs", 100).zeta.value_or(kNone), 3.0, 0.10 * 3.0);
}

TEST(RateSchedule, FaultsCostWhatTheTableSays) {
  for (const auto& [schedule, error] : {std::pair("torus", 0.050),
                                        {"hypercube", 9.0e-3},
                                        {"directed-exponential", 4.9e-4},
                                        {"trie-pairs", 1.9e-3},
                                        {"trie-groups:g=4", 5.2e-6},
                                        {"ceca", 2.5e-4},
                                        {"one-peer-exponential", 3.4e-3},
                                        {"star", 0.82}}) {
    SCOPED_TRACE(schedule);
    const double lossy = rating_of(schedule, 100).err20_lossy;
    EXPECT_LT(lossy, 1.5 * error);
    EXPECT_GT(lossy, error / 1.5);
  }
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
