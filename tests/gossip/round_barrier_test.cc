#include "gossip/round_barrier.h"

#include <gtest/gtest.h>

namespace hobnob {
namespace {

using std::chrono::milliseconds;

constexpr PeerId kOne{0, 1};
constexpr PeerId kTwo{0, 2};
constexpr Duration kLongest = milliseconds(300);

// A round that this edge takes `took` of.
void settle_once(RoundBarrier& barrier, const PeerId& peer, Duration took) {
  barrier.open(Time{0});
  barrier.expect(peer, 1);
  barrier.settle(peer, took);
}

Duration deadline_for(RoundBarrier& barrier, const std::vector<PeerId>& peers) {
  barrier.open(Time{0});
  for (const PeerId& peer : peers) {
    barrier.expect(peer, 1);
  }
  return barrier.deadline();
}

TEST(RoundBarrier, IsMetWhenEveryFragmentIsSettled) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  barrier.open(Time{0});
  EXPECT_TRUE(barrier.is_met());
  barrier.expect(kOne, 2);
  barrier.expect(kTwo, 1);
  barrier.settle(kOne, milliseconds(1));
  barrier.settle(kTwo, milliseconds(1));
  EXPECT_FALSE(barrier.is_met());
  EXPECT_TRUE(barrier.waits_for(kOne));
  EXPECT_EQ(barrier.missing(), std::vector<PeerId>{kOne});
  barrier.settle(kOne, milliseconds(2));
  EXPECT_TRUE(barrier.is_met());
}

TEST(RoundBarrier, SettlingAPeerNotWaitedForDoesNothing) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  barrier.open(Time{0});
  barrier.expect(kOne, 1);
  barrier.settle(kTwo, milliseconds(1));
  EXPECT_FALSE(barrier.is_met());
}

TEST(RoundBarrier, AsyncNeverWaits) {
  RoundBarrier barrier(ClockMode::kAsync, kLongest);
  barrier.open(Time{0});
  barrier.expect(kOne, 1);
  EXPECT_TRUE(barrier.is_met());
}

TEST(RoundBarrier, SyncWaitsTheLongest) {
  RoundBarrier barrier(ClockMode::kSync, std::chrono::seconds(10));
  settle_once(barrier, kOne, milliseconds(1));
  EXPECT_EQ(deadline_for(barrier, {kOne}), std::chrono::seconds(10));
}

TEST(RoundBarrier, HybridWaitsOneAndAHalfTimesTheUsual) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(100));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(150));
}

TEST(RoundBarrier, TheUsualTimeIsAMovingAverage) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(80));
  settle_once(barrier, kOne, milliseconds(160));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(135));  // (7 * 80 + 160) / 8 = 90
}

TEST(RoundBarrier, TheSlowestEdgeWaitedForDecides) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(100));
  settle_once(barrier, kTwo, milliseconds(60));
  EXPECT_EQ(deadline_for(barrier, {kOne, kTwo}), milliseconds(150));
  EXPECT_EQ(deadline_for(barrier, {kTwo}), milliseconds(90));
}

TEST(RoundBarrier, DeadlineStaysBetween50MillisecondsAndTheLongest) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(1));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(50));
  settle_once(barrier, kTwo, milliseconds(250));
  EXPECT_EQ(deadline_for(barrier, {kTwo}), kLongest);
}

TEST(RoundBarrier, AnEdgeWithoutHistoryGetsTheLongest) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(1));
  EXPECT_EQ(deadline_for(barrier, {kOne, kTwo}), kLongest);
}

TEST(RoundBarrier, AnExcusedPeerIsNotWaitedForAndTeachesNothing) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(100));
  barrier.open(Time{0});
  barrier.expect(kOne, 1);
  barrier.excuse(kOne);
  EXPECT_TRUE(barrier.is_met());
  barrier.settle(kOne, milliseconds(290));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(150));
}

TEST(RoundBarrier, GivingUpTeachesThatTheEdgeIsAtLeastThatSlow) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(80));
  barrier.open(Time{0});
  barrier.expect(kOne, 1);
  barrier.give_up(milliseconds(160));
  EXPECT_TRUE(barrier.is_met());
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(135));
  // Less than the usual was waited: that says nothing new.
  barrier.give_up(milliseconds(10));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(135));
}

TEST(RoundBarrier, GivingUpOnAStrangerRemembersTheWait) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  barrier.open(Time{0});
  barrier.expect(kOne, 1);
  barrier.give_up(milliseconds(100));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(150));
}

TEST(RoundBarrier, WhatWasNotBegunTeachesNothing) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(100));
  barrier.open(Time{0});
  barrier.expect(kOne, 2);
  barrier.skip(kOne);
  EXPECT_FALSE(barrier.is_met());
  barrier.skip(kOne);
  barrier.skip(kOne);
  EXPECT_TRUE(barrier.is_met());
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(150));
}

TEST(RoundBarrier, ALateEdgeIsWaitedForAtLeastAsLongAsItTook) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  settle_once(barrier, kOne, milliseconds(20));
  barrier.open(Time{0});
  barrier.expect(kOne, 1);
  barrier.give_up(milliseconds(50));
  barrier.open(milliseconds(60));
  barrier.expect(kTwo, 1);
  barrier.settle(kOne, milliseconds(120));
  EXPECT_TRUE(barrier.waits_for(kTwo));
  EXPECT_EQ(deadline_for(barrier, {kOne}), milliseconds(180));
}

TEST(RoundBarrier, OpenForgetsWhoWasWaitedFor) {
  RoundBarrier barrier(ClockMode::kHybrid, kLongest);
  barrier.open(Time{0});
  barrier.expect(kOne, 3);
  barrier.open(milliseconds(5));
  EXPECT_TRUE(barrier.is_met());
  EXPECT_TRUE(barrier.missing().empty());
}

}  // namespace
}  // namespace hobnob
