#include "topology/rating.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/mixing_samples.h"

namespace hobnob {
namespace {

// What the table of measurements says of a schedule.
struct Row {
  const char* name;
  MixingSequence rounds;
  std::size_t out_degree;
  double vectors_per_round;
  double rho;
  double rounds_1e6;
  double xi;
  double zeta;
};

Rating rated(MixingSequence rounds) {
  return rate(rounds, {});
}

void expect_row(Row row, double share) {
  SCOPED_TRACE(testing::Message() << row.name << " n " << row.rounds.size());
  const Rating rating = rate(row.rounds, {});
  EXPECT_EQ(rating.out_degree, row.out_degree);
  EXPECT_NEAR(rating.vectors_per_round, row.vectors_per_round, 0.02 * row.vectors_per_round);
  EXPECT_NEAR(rating.rho, row.rho, share * row.rho);
  EXPECT_EQ(rating.gap, 1.0 - rating.rho);
  EXPECT_NEAR(static_cast<double>(rating.rounds_1e6.value()), row.rounds_1e6,
              share * row.rounds_1e6 + 1.0);
  EXPECT_FALSE(rating.is_extrapolated);
  EXPECT_NEAR(rating.xi.value(), row.xi, share * row.xi);
  EXPECT_NEAR(rating.zeta.value(), row.zeta, share * row.zeta);
}

TEST(Rating, OfStaticGraphsIsTheTable) {
  for (Row row :
       {Row{"ring", samples::ring(8), 2, 2.0, 0.8047, 61, 0.51, 4.3},
        Row{"ring", samples::ring(64), 2, 2.0, 0.9968, 3738, 7.4, 3.3e3},
        Row{"torus", samples::torus(5, 5), 4, 4.0, 0.7236, 40, 0.27, 1.2},
        Row{"torus", samples::torus(10, 10), 4, 4.0, 0.9236, 155, 0.52, 7.7},
        Row{"hypercube", samples::hypercube(64), 6, 6.0, 0.7143, 38, 0.2, 0.74},
        Row{"hypercube", samples::hypercube(100), 7, 6.32, 0.8630, 80, 0.22, 1.2},
        Row{"static exp", samples::static_exponential(25), 5, 5.0, 0.5109, 19, 0.16, 0.22},
        Row{"static exp", samples::static_exponential(100), 7, 7.0, 0.75, 40, 0.15, 0.33},
        Row{"expander d8", samples::expander(100, 8), 8, 7.8, 0.6871, 31, 0.14, 0.42},
        Row{"star", samples::star(25), 24, 1.92, 0.96, 338, 11, 530}}) {
    expect_row(std::move(row), 0.05);
  }
}

// The table samples one drift for zeta of these: 2.4 for the exact 2.2 at n = 64.
TEST(Rating, OfPeriodicSchedulesIsTheTable) {
  for (Row row :
       {Row{"1-peer exp", samples::one_peer_exponential(100), 1, 1.0, 0.7898, 55, 0.93, 2.7},
        Row{"1-peer hypercube", samples::one_peer_hypercube(100), 1, 0.90, 0.8971, 62, 1.1, 3.72},
        Row{"shift one", samples::shift_one(8), 1, 1.0, 0.7711, 39, 0.62, 0.64}}) {
    expect_row(std::move(row), 0.05);
  }
}

TEST(Rating, OfRandomSchedulesIsTheTable) {
  for (Row row :
       {Row{"pairs", samples::random_groups(100, 2), 1, 1.0, 0.7035, 40, 0.97, 3},
        Row{"groups of 8", samples::random_groups(64, 8), 7, 1.75, 0.3327, 14, 0.12, 0.16},
        Row{"groups of 4", samples::random_groups(100, 4), 3, 1.5, 0.495, 20, 0.31, 0.55}}) {
    const Rating rating = rate(row.rounds, {});
    EXPECT_EQ(rating.exact_rounds, std::nullopt);
    expect_row(std::move(row), 0.1);
  }
}

TEST(Rating, OfExactSchedulesHasTheirRounds) {
  const auto expect_exact = [](MixingSequence rounds, std::uint64_t exact, double vectors) {
    const Rating rating = rate(rounds, {});
    EXPECT_EQ(rating.exact_rounds, exact);
    EXPECT_EQ(rating.rounds_1e3, exact);
    EXPECT_EQ(rating.rounds_1e6, exact);
    EXPECT_EQ(rating.gap, 1.0);
    EXPECT_NEAR(rating.vectors_1e6.value(), vectors, 0.05);
    EXPECT_LT(rating.err10, 1e-13);
  };
  expect_exact(samples::complete(64), 1, 2.0);
  expect_exact(samples::one_peer_exponential(8), 3, 3.0);
  expect_exact(samples::one_peer_exponential(64), 6, 6.0);
  expect_exact(samples::one_peer_hypercube(64), 6, 6.0);
  expect_exact(samples::grid({5, 5}), 2, 3.2);
  expect_exact(samples::grid({10, 10}), 2, 3.6);
}

TEST(Rating, SaysWhenRoundsAreExtrapolated) {
  const Rating full = rated(samples::ring(64));
  MixingSequence ring = samples::ring(64);
  const Rating cut = rate(ring, {.max_rounds = 50});
  EXPECT_TRUE(cut.is_extrapolated);
  EXPECT_NEAR(static_cast<double>(cut.rounds_1e6.value()),
              static_cast<double>(full.rounds_1e6.value()),
              0.03 * static_cast<double>(full.rounds_1e6.value()));
  // Without common modes rho bounds what is left: never too few rounds.
  MixingSequence shift_one = samples::shift_one(32);
  const Rating simulated = rate(shift_one, {});
  const Rating early = rate(shift_one, {.max_rounds = 200});
  EXPECT_FALSE(simulated.is_extrapolated);
  EXPECT_TRUE(early.is_extrapolated);
  EXPECT_GE(early.rounds_1e6.value(), simulated.rounds_1e6.value());
  EXPECT_LE(static_cast<double>(early.rounds_1e6.value()),
            1.1 * static_cast<double>(simulated.rounds_1e6.value()));
}

TEST(Rating, OfIslandsNeverEnds) {
  const Rating rating = rated(samples::fixed(samples::averaging(6, {{0, 1, 2}, {3, 4, 5}})));
  EXPECT_EQ(rating.rounds_1e3, std::nullopt);
  EXPECT_EQ(rating.vectors_1e6, std::nullopt);
  EXPECT_EQ(rating.xi, std::nullopt);
  EXPECT_NEAR(rating.gap, 0.0, 1e-12);
  EXPECT_FALSE(rating.is_extrapolated);
}

TEST(Rating, OfNobodyAndOfOneIsDone) {
  for (const std::size_t size : {0U, 1U}) {
    const Rating rating = rated(samples::fixed(SparseMatrix::identity(size)));
    EXPECT_EQ(rating.exact_rounds, 0U);
    EXPECT_EQ(rating.rounds_1e6, 0U);
    EXPECT_EQ(rating.gap, 1.0);
  }
}

TEST(Rating, OfTwoIsOneRound) {
  EXPECT_EQ(rated(samples::ring(2)).rounds_1e6.has_value(), true);
  EXPECT_EQ(rated(samples::one_peer_exponential(2)).exact_rounds, 1U);
  EXPECT_EQ(rated(samples::random_groups(2, 2)).rounds_1e6, 1U);
}

}  // namespace
}  // namespace hobnob
