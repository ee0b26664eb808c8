#include "gossip/trigger.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/gossip/exchange_swarm.h"

namespace hobnob {
namespace {

constexpr EdgeKey kEdge{.peer = {0, 7}, .fragment = 0};

std::unique_ptr<Trigger> trigger_of(const TriggerConfig& config) {
  return make_trigger(config,
                      [](std::uint64_t round) { return 1.0 - static_cast<double>(round) / 100.0; });
}

bool fires_at(Trigger& trigger, std::uint64_t round, double distance, std::uint64_t silent = 1) {
  return trigger.fires({.edge = kEdge,
                        .round = round,
                        .silent_rounds = silent,
                        .squared_distance = distance * distance,
                        .squared_norm = distance * distance});
}

TEST(Trigger, AlwaysFiresWithoutLookingAtTheValues) {
  const auto trigger = trigger_of({});
  EXPECT_EQ(trigger->needs(), Trigger::Needs::kNothing);
  EXPECT_TRUE(trigger->fires({}));
  EXPECT_TRUE(trigger->fires({.edge = kEdge, .round = 9, .silent_rounds = 0}));
}

TEST(Trigger, EveryTakesFragmentsInTurn) {
  const auto trigger = trigger_of({.kind = "every", .period = 4});
  for (std::uint32_t fragment = 0; fragment < 4; ++fragment) {
    for (std::uint64_t round = 0; round < 12; ++round) {
      EXPECT_EQ(trigger->has_turn(fragment, round), (round + fragment) % 4 == 0);
    }
  }
}

TEST(Trigger, NormFiresFromItsThresholdOn) {
  const std::pair<const char*, double> schedules[] = {{"constant", 0.5},
                                                      {"sqrt", 0.5 / 4.0},
                                                      {"inverse", 0.5 / 16.0},
                                                      {"geometric", 0.5 * std::pow(0.9, 15)},
                                                      {"step", 0.5 * 0.85}};
  for (const auto& [schedule, threshold] : schedules) {
    SCOPED_TRACE(schedule);
    const auto trigger = trigger_of(
        {.kind = "norm", .threshold = 0.5, .schedule = schedule, .ratio = 0.9, .max_silence = 20});
    EXPECT_EQ(trigger->needs(), Trigger::Needs::kDistance);
    EXPECT_TRUE(fires_at(*trigger, 15, 1.0001 * threshold));
    EXPECT_FALSE(fires_at(*trigger, 15, 0.9999 * threshold));
    EXPECT_FALSE(fires_at(*trigger, 15, 0.0, 19));
    EXPECT_TRUE(fires_at(*trigger, 15, 0.0, 20)) << "silent for as long as it may";
  }
}

TEST(Trigger, RateFindsTheThresholdOfItsTarget) {
  for (const double target : {0.05, 0.2, 0.6}) {
    SCOPED_TRACE(target);
    const auto trigger = trigger_of({.kind = "rate", .target = target, .max_silence = 1000000});
    int fired = 0;
    constexpr int kRounds = 4000;
    double distance = 0.0;
    for (int round = 0; round < kRounds; ++round) {
      // Steps whose size falls to a tenth while they go on.
      distance += (1.0 + 0.5 * std::sin(round)) * std::pow(0.1, round / 4000.0);
      if (fires_at(*trigger, static_cast<std::uint64_t>(round), distance)) {
        distance = 0.0;
        ++fired;
      }
    }
    EXPECT_NEAR(static_cast<double>(fired) / kRounds, target, 0.05 * target + 0.01);
  }
}

TEST(Trigger, RateStaysSilentWhereNothingMoves) {
  const auto trigger = trigger_of({.kind = "rate", .target = 0.5, .max_silence = 9});
  EXPECT_FALSE(fires_at(*trigger, 0, 0.0));
  EXPECT_FALSE(fires_at(*trigger, 1, 0.0));
  EXPECT_TRUE(fires_at(*trigger, 2, 0.0, 9));
  EXPECT_TRUE(fires_at(*trigger, 3, 2.0)) << "the first distance is the first threshold";
}

TEST(Trigger, RateComesBackFromValuesThatAreNoNumbers) {
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY)}) {
    const auto trigger = trigger_of({.kind = "rate", .target = 0.5, .max_silence = 1000});
    fires_at(*trigger, 0, bad);
    EXPECT_TRUE(fires_at(*trigger, 1, 2.0));
    EXPECT_FALSE(fires_at(*trigger, 2, 1.0));
  }
}

TEST(Trigger, SlopeIsEventGradsRule) {
  const auto trigger = trigger_of({.kind = "slope", .horizon = 0.5, .max_silence = 1000});
  EXPECT_EQ(trigger->needs(), Trigger::Needs::kNorm);
  for (std::uint64_t round = 0; round < 30; ++round) {
    EXPECT_TRUE(fires_at(*trigger, round, static_cast<double>(round))) << round;
  }
  // Slopes were 1, so the threshold is 1; last sent: 29.
  EXPECT_FALSE(fires_at(*trigger, 30, 29.49)) << "0.5";
  EXPECT_TRUE(fires_at(*trigger, 31, 29.26)) << "0.25";
  // Slope 0.13 over two rounds: the mean with 1 is 0.565.
  EXPECT_FALSE(fires_at(*trigger, 32, 29.26 + 0.28));
  EXPECT_TRUE(fires_at(*trigger, 33, 29.26 + 0.15));
  trigger->forget(kEdge.peer);
  EXPECT_TRUE(fires_at(*trigger, 34, 0.1)) << "a new edge has sent nothing";
}

// ---- In the transaction. ----

TEST(Trigger, SilenceIsAnEmptyDifferenceAndBothEndsStillMix) {
  Swarm swarm({.trigger = {.kind = "norm", .threshold = 10.0, .max_silence = 100}});
  swarm.publish(0, 0, 1.0, kThird);
  swarm.publish(1, 0, 4.0, kThird);
  ASSERT_TRUE(swarm.begin(0, 1));
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 1.0) << "a first message is a snapshot";
  // 3 and 4 in each of four values: below 10. Both mix by 1 and 4 again.
  swarm.publish(0, 1, 2.5, kThird);
  swarm.publish(1, 1, 2.0, kThird);
  ASSERT_TRUE(swarm.begin(0, 1));
  EXPECT_EQ(swarm.wire[0].bytes.size(), kFrameHeaderBytes + kEdgeHeadBytes);
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 2.0);
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
  // One end has something to say: 24 in all.
  swarm.publish(0, 2, 13.0, kThird);
  swarm.publish(1, 2, 4.0, kThird);
  ASSERT_TRUE(swarm.begin(0, 1));
  EXPECT_GT(swarm.wire[0].bytes.size(), kFrameHeaderBytes + kEdgeHeadBytes);
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), -1.0);
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
  EXPECT_EQ(swarm[0].exchange->totals().offered, 3U);
  EXPECT_EQ(swarm[0].exchange->totals().fired, 2U);
  EXPECT_EQ(swarm[1].exchange->totals().fired, 1U);
}

}  // namespace
}  // namespace hobnob
