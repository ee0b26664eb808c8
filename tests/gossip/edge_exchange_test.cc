#include "gossip/edge_exchange.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/gossip/exchange_swarm.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;

NackCode nack_code(const Flight& flight) {
  return static_cast<NackCode>(flight.header().codec);
}

TEST(EdgeExchange, ATransactionAppliesTheSameFlowWithOppositeSigns) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0, kThird);
  swarm.publish(1, 0, 4.0, kThird);
  ASSERT_TRUE(swarm.begin(0, 1));
  EXPECT_TRUE(swarm[0].exchange->is_in_flight(Swarm::id(1), 0));
  swarm.deliver();
  EXPECT_EQ(swarm.flow(1), -1.0);
  EXPECT_EQ(swarm.flow(0), 0.0);
  swarm.deliver();
  EXPECT_EQ(swarm.flow(0), 1.0);
  EXPECT_TRUE(swarm.wire.empty());
  EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
  EXPECT_EQ(swarm[0].settled, (std::vector<Swarm::Settled>{{Swarm::id(1), 0, true}}));
  EXPECT_EQ(swarm[1].settled, (std::vector<Swarm::Settled>{{Swarm::id(0), 0, true}}));
  swarm.expect_mirrored(0, 1);
  const auto stats = swarm[0].exchange->stats();
  ASSERT_EQ(stats.size(), 1U);
  EXPECT_EQ(stats[0].transactions, 1U);
  EXPECT_EQ(stats[0].seq, 1U);
  EXPECT_EQ(stats[0].snapshots, 1U);
  EXPECT_EQ(stats[0].consensus_distance, 6.0);  // 3 in each of 4 values
}

TEST(EdgeExchange, TheSecondTransactionSendsADifference) {
  Swarm swarm({});
  for (std::uint64_t round = 0; round < 2; ++round) {
    swarm.publish(0, round, 1.0 + static_cast<double>(round));
    swarm.publish(1, round, 4.0);
    ASSERT_TRUE(swarm.begin(0, 1));
    EXPECT_EQ(swarm.wire[0].header().flags == kFlagSnapshot, round == 0);
    swarm.deliver_all();
  }
  EXPECT_EQ(swarm.flow(0), 1.5 + 1.0);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, OneTransactionPerFragmentIsInFlight) {
  Swarm swarm({.fragments = 2});
  swarm.publish(0, 0, 1.0, kThird);
  swarm.publish(1, 0, 4.0, kThird);
  EXPECT_TRUE(swarm.begin(0, 1, 0));
  EXPECT_FALSE(swarm.begin(0, 1, 0));
  EXPECT_TRUE(swarm.begin(0, 1, 1));
  EXPECT_EQ(swarm[0].exchange->in_flight(), 2U);
  swarm.deliver(1);  // the second fragment first
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 2U);
  EXPECT_EQ(swarm.flow(0, 0), 1.0);
  EXPECT_EQ(swarm.flow(0, kPerFragment), 1.0);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, ALostRequestIsSentAgainOnAnUnreliableTransport) {
  Swarm swarm({.reliable = false});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  const Flight lost = swarm.take();
  swarm.pass(milliseconds(29));
  EXPECT_TRUE(swarm.wire.empty());
  swarm.pass(milliseconds(1));
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(swarm.wire[0].bytes, lost.bytes) << "the same bytes";
  swarm.deliver_all();
  swarm.pass(std::chrono::seconds(10));
  EXPECT_TRUE(swarm.wire.empty()) << "no timer is left";
  EXPECT_EQ(swarm.flow(0), 1.5);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, RetransmitsBackOffToTwoSeconds) {
  Swarm swarm({.reliable = false});
  swarm.publish(0, 0, 1.0);
  swarm.begin(0, 1);
  swarm.pass(std::chrono::seconds(60));
  // 30 ms doubling to 2 s, then every 2 s.
  EXPECT_GT(swarm.wire.size(), 30U);
  EXPECT_LT(swarm.wire.size(), 40U);
}

// Its queue may have been full: so it is, but seldom.
TEST(EdgeExchange, AReliableTransportIsSeldomAskedTwice) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.begin(0, 1);
  swarm.pass(std::chrono::seconds(4));
  EXPECT_EQ(swarm.wire.size(), 1U);
  swarm.pass(std::chrono::seconds(56));
  EXPECT_GT(swarm.wire.size(), 1U);
  EXPECT_LT(swarm.wire.size(), 6U);
}

TEST(EdgeExchange, ANewLinkSendsWhatIsInFlightAgain) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  swarm.take();
  swarm[0].exchange->on_link_up(Swarm::id(1));
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 1.5);
  swarm.expect_zero_sum();
  swarm[0].exchange->on_link_up(Swarm::id(1));
  EXPECT_TRUE(swarm.wire.empty());
}

TEST(EdgeExchange, ALostReplyIsSentAgainWithoutMixingTwice) {
  Swarm swarm({.reliable = false});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  swarm.deliver();
  const Flight lost = swarm.take();
  swarm.publish(1, 1, 9.0);  // the repeated answer must not show the new value
  swarm.pass(milliseconds(30));
  swarm.deliver();
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(swarm.wire[0].bytes, lost.bytes);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(1), 1U);
  EXPECT_EQ(swarm.flow(0), 1.5);
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeExchange, DuplicatesDoNothing) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  const Flight request = swarm.take();
  swarm.receive(request);
  swarm.receive(request);
  ASSERT_EQ(swarm.wire.size(), 2U);
  EXPECT_EQ(swarm.wire[0].bytes, swarm.wire[1].bytes);
  swarm.deliver_all();
  const Flight old = request;
  swarm.publish(0, 1, 2.0);
  swarm.publish(1, 1, 2.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  swarm.receive(old);  // of a transaction before the last
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 2U);
  EXPECT_EQ(swarm.mixes(1), 2U);
  EXPECT_EQ(swarm.flow(0), 1.5);
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeExchange, WhenBothAskAtOnceTheLowerIdsRequestStands) {
  for (const bool lower_first : {true, false}) {
    SCOPED_TRACE(lower_first);
    Swarm swarm({});
    swarm.publish(0, 0, 1.0, kThird);
    swarm.publish(1, 0, 4.0, kThird);
    ASSERT_TRUE(swarm.begin(0, 1));
    ASSERT_TRUE(swarm.begin(1, 0));
    swarm.deliver(lower_first ? 0 : 1);
    swarm.deliver_all();
    EXPECT_EQ(swarm.mixes(0), 1U);
    EXPECT_EQ(swarm.mixes(1), 1U);
    EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
    EXPECT_EQ(swarm[1].exchange->in_flight(), 0U);
    EXPECT_EQ(swarm.flow(0), 1.0);
    swarm.expect_zero_sum();
    swarm.expect_mirrored(0, 1);
  }
}

TEST(EdgeExchange, ALateCopyOfAnOutvotedRequestDoesNothing) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0, kThird);
  swarm.publish(1, 0, 4.0, kThird);
  swarm.begin(0, 1);
  swarm.begin(1, 0);
  const Flight late = swarm.take(1);
  swarm.deliver_all();
  swarm.receive(late);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 1U);
  EXPECT_EQ(swarm.mixes(1), 1U);
  swarm.expect_zero_sum();
  swarm.publish(0, 1, 1.0, kThird);
  swarm.publish(1, 1, 4.0, kThird);
  EXPECT_TRUE(swarm.begin(1, 0));
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 2U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, ALateCopyOfARefusedRequestDoesNothing) {
  Swarm swarm({.stale_rounds = 10});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 100, 4.0);
  swarm.begin(0, 1);
  const Flight request = swarm.take();
  swarm.receive(request);
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(nack_code(swarm.wire[0]), NackCode::kPast);
  swarm.deliver();
  EXPECT_EQ(swarm[0].settled, (std::vector<Swarm::Settled>{{Swarm::id(1), 0, false}}));
  // Here the request would not be stale, were it new.
  swarm.publish(1, 1, 4.0);
  swarm.receive(request);
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(nack_code(swarm.wire[0]), NackCode::kPast) << "the same answer again";
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(1), 0U);
  EXPECT_EQ(swarm.flow(1), 0.0);
  swarm.publish(0, 1, 1.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(1), 1U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, ARequestOfARoundToComeIsHeldAndAnsweredAfterPublish) {
  Swarm swarm({});
  swarm.publish(0, 3, 1.0);
  swarm.publish(1, 2, 7.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(1), 0U);
  EXPECT_TRUE(swarm[0].exchange->is_in_flight(Swarm::id(1), 0));
  swarm.publish(1, 3, 4.0);
  EXPECT_EQ(swarm.mixes(1), 0U) << "publish alone answers nothing";
  swarm[1].exchange->answer_held();
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 1.5);
  swarm.expect_zero_sum();
  swarm[1].exchange->answer_held();
  EXPECT_TRUE(swarm.wire.empty()) << "answered once";
}

TEST(EdgeExchange, ARequestStillTooEarlyIsHeldAgain) {
  Swarm swarm({});
  swarm.publish(0, 3, 1.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  for (std::uint64_t round = 0; round < 3; ++round) {
    swarm.publish(1, round, 4.0);
    swarm[1].exchange->answer_held();
    EXPECT_TRUE(swarm.wire.empty());
  }
  swarm.publish(1, 3, 4.0);
  swarm[1].exchange->answer_held();
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 1U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, AsyncAnswersFutureRoundsAtOnce) {
  Swarm swarm({.waits_for_round = false});
  swarm.publish(0, 3, 1.0);
  swarm.publish(1, 2, 4.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 1U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, WithoutAValueAsyncRefuses) {
  Swarm swarm({.waits_for_round = false});
  swarm.publish(0, 0, 1.0);
  swarm.begin(0, 1);
  swarm.deliver();
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(nack_code(swarm.wire[0]), NackCode::kBusy);
  swarm.deliver_all();
  EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
}

TEST(EdgeExchange, TheLesserProposalIsUsedAtBothEnds) {
  for (const bool first_is_lesser : {true, false}) {
    Swarm swarm({});
    swarm.publish(0, 0, 0.0, first_is_lesser ? Weight{1, 4} : kHalf);
    swarm.publish(1, 0, 8.0, first_is_lesser ? kHalf : Weight{1, 4});
    swarm.begin(0, 1);
    swarm.deliver_all();
    EXPECT_EQ(swarm.flow(0), 2.0);
    EXPECT_EQ(swarm.flow(1), -2.0);
    EXPECT_EQ(swarm[0].exchange->stats()[0].weight, (Weight{1, 4}));
    EXPECT_EQ(swarm[1].exchange->stats()[0].weight, (Weight{1, 4}));
  }
}

TEST(EdgeExchange, APeerNotInThePlanGetsTheWeightItAsksFor) {
  Swarm swarm({});
  swarm.publish(0, 0, 0.0, kThird);
  swarm.publish(1, 0, {6.0, 6.0, 6.0, 6.0}, {});
  swarm.begin(0, 1);
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 2.0);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, NoValueGivesAwayMoreThanItself) {
  constexpr std::size_t kEnds = 6;
  Swarm swarm({.ends = kEnds});
  swarm.publish(0, 0, 1.0, kThird);
  for (std::size_t end = 1; end < kEnds; ++end) {
    swarm.publish(end, 0, 2.0, kThird);
    ASSERT_TRUE(swarm.begin(end, 0));
  }
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 3U);
  EXPECT_NEAR(swarm.flow(0), 1.0, 1e-12);
  std::size_t refused = 0;
  for (std::size_t end = 1; end < kEnds; ++end) {
    EXPECT_EQ(swarm[end].exchange->in_flight(), 0U);
    refused += swarm.mixes(end) == 0 ? 1U : 0U;
  }
  EXPECT_EQ(refused, 2U);
  EXPECT_FALSE(swarm.begin(0, 4)) << "nothing is left for this end's own request";
  swarm.expect_zero_sum();
  swarm.publish(0, 1, 1.0, kThird);
  EXPECT_TRUE(swarm.begin(0, 4)) << "a new value has its weight again";
}

TEST(EdgeExchange, OwnRequestsSpendTheWeightToo) {
  Swarm swarm({.ends = 4});
  swarm.publish(0, 0, 1.0, kHalf);
  EXPECT_TRUE(swarm.begin(0, 1));
  EXPECT_TRUE(swarm.begin(0, 2));
  EXPECT_FALSE(swarm.begin(0, 3));
}

TEST(EdgeExchange, ALostReplicaCostsAGapAndASnapshot) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  swarm[1].channel->drop({Swarm::id(0), 0});
  swarm.publish(0, 1, 2.0);
  swarm.publish(1, 1, 4.0);
  swarm.begin(0, 1);
  const Flight difference = swarm.take();
  swarm.receive(difference);
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(nack_code(swarm.wire[0]), NackCode::kGap);
  swarm.deliver();
  ASSERT_EQ(swarm.wire.size(), 1U);
  EXPECT_EQ(swarm.wire[0].header().flags, kFlagSnapshot);
  EXPECT_GT(swarm.wire[0].header().seq, difference.header().seq);
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 1.5 + 1.0);
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
  swarm.receive(difference);  // late
  swarm.deliver_all();
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeExchange, AGapSnapshotIsOfTheValueNow) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  swarm[1].channel->drop({Swarm::id(0), 0});
  swarm.publish(0, 1, 2.0);
  swarm.publish(1, 1, 4.0);
  swarm.begin(0, 1);
  swarm.deliver();
  swarm.publish(0, 2, 3.0);
  swarm.publish(1, 2, 4.0);
  swarm.deliver_all();
  EXPECT_EQ(swarm.flow(0), 1.5 + 0.5);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, AGapSnapshotSpendsTheWeightOfItsOwnValue) {
  Swarm swarm({.ends = 3});
  for (std::size_t end = 0; end < 3; ++end) {
    swarm.publish(end, 0, static_cast<double>(end), kHalf);
  }
  swarm.begin(0, 1);
  swarm.deliver_all();
  swarm[1].channel->drop({Swarm::id(0), 0});
  swarm.publish(0, 1, 2.0);
  swarm.publish(1, 1, 4.0);
  swarm.begin(0, 1);
  swarm.deliver();
  swarm.publish(0, 2, 3.0, {1, 1});
  swarm.publish(2, 2, 5.0, {1, 1});
  EXPECT_TRUE(swarm.begin(0, 2));  // all of it
  swarm.deliver_all();
  EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
  EXPECT_EQ(swarm.mixes(1), 1U) << "there was no weight left for the snapshot";
  swarm.expect_zero_sum();
  swarm.publish(0, 3, 2.0);
  swarm.publish(1, 3, 4.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(1), 2U);
  swarm.expect_zero_sum();
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeExchange, AnOutvotedRequestGivesItsWeightBack) {
  Swarm swarm({.ends = 3, .waits_for_round = false});
  for (std::size_t end = 0; end < 3; ++end) {
    swarm.publish(end, 0, static_cast<double>(end), kThird);
  }
  // All ask all; end 2 is outvoted twice and still meets both.
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      EXPECT_TRUE(from == to || swarm.begin(from, to));
    }
  }
  swarm.deliver_all();
  for (std::size_t end = 0; end < 3; ++end) {
    EXPECT_EQ(swarm.mixes(end), 2U);
    EXPECT_NEAR(swarm.flow(end), 1.0 - static_cast<double>(end), 1e-15);
  }
}

TEST(EdgeExchange, BothEndsRecoverWhenBothAskAfterAGap) {
  for (const std::size_t loser : {0U, 1U}) {
    SCOPED_TRACE("end " + std::to_string(loser) + " lost its replica");
    const std::size_t keeper = 1 - loser;
    Swarm swarm({.waits_for_round = false, .reliable = false});
    swarm.publish(0, 0, 1.0, kThird);
    swarm.publish(1, 0, 4.0, kThird);
    swarm.begin(0, 1);
    swarm.deliver_all();
    swarm[loser].channel->drop({Swarm::id(keeper), 0});
    swarm.publish(0, 1, 2.0, kThird);
    swarm.publish(1, 1, 5.0, kThird);
    swarm.begin(keeper, loser);
    swarm.deliver();  // the gap
    swarm.deliver();  // its answer: a snapshot with a higher seq is on the way
    ASSERT_TRUE(swarm.begin(loser, keeper));
    for (int tries = 0; tries < 20; ++tries) {
      swarm.deliver_all();
      swarm.pass(milliseconds(100));
    }
    EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
    EXPECT_EQ(swarm[1].exchange->in_flight(), 0U);
    EXPECT_GE(swarm.mixes(0), 2U);
    swarm.expect_zero_sum();
    swarm.expect_mirrored(0, 1);
  }
}

// Brings both ends of a pair to `seq` settled transactions.
void settle_up_to(Swarm& swarm, std::uint64_t seq) {
  for (std::uint64_t round = swarm[0].exchange->stats().empty() ? 0
                                                                : swarm[0].exchange->stats()[0].seq;
       round < seq; ++round) {
    swarm.publish(0, round, std::sin(static_cast<double>(round)), kThird);
    swarm.publish(1, round, std::cos(static_cast<double>(round)), kThird);
    swarm.begin(0, 1);
    swarm.deliver_all();
  }
}

// Bends what end 1 holds of end 0, as a fault in its memory would.
void corrupt(Swarm& swarm) {
  Bytes bytes;
  const std::vector<double> wrong(kPerFragment, 0.125);
  make_codec(CodecConfig{.kind = "raw"})->encode(std::span<const double>(wrong), RngKey{}, bytes);
  ASSERT_TRUE(swarm[1]
                  .channel->receive({Swarm::id(0), 0}, {false, CodecId::kRaw, bytes}, kPerFragment)
                  .ok());
}

TEST(EdgeExchange, ReplicasThatDifferAreFoundAndResynchronised) {
  Swarm swarm({});
  settle_up_to(swarm, 40);
  swarm.expect_mirrored(0, 1);
  corrupt(swarm);
  EXPECT_NE(swarm[0].channel->sent_hash({Swarm::id(1), 0}),
            swarm[1].channel->received_hash({Swarm::id(0), 0}));
  const std::uint64_t before = swarm[0].exchange->stats()[0].snapshots;
  settle_up_to(swarm, 70);
  EXPECT_EQ(swarm[0].exchange->stats()[0].snapshots, before + 1);
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeExchange, AReplyFromADifferentReplicaIsRefusedAndTheNextIsASnapshot) {
  Swarm swarm({});
  settle_up_to(swarm, 40);
  // What end 1 holds of itself in end 0: the reply's hash shows it.
  Bytes bytes;
  const std::vector<double> wrong(kPerFragment, 0.125);
  make_codec(CodecConfig{.kind = "raw"})->encode(std::span<const double>(wrong), RngKey{}, bytes);
  ASSERT_TRUE(swarm[0]
                  .channel->receive({Swarm::id(1), 0}, {false, CodecId::kRaw, bytes}, kPerFragment)
                  .ok());
  settle_up_to(swarm, 64);
  EXPECT_FALSE(swarm[0].exchange->stats()[0].last_error.empty());
  settle_up_to(swarm, 66);
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeExchange, AStaleRoundIsPastAndTellsHowFar) {
  Swarm swarm({.stale_rounds = 10});
  swarm.publish(0, 5, 1.0);
  swarm.publish(1, 16, 4.0);
  swarm.begin(0, 1);
  swarm.deliver();
  EXPECT_EQ(nack_code(swarm.wire[0]), NackCode::kPast);
  swarm.deliver();
  EXPECT_EQ(swarm[0].fell_behind, std::vector<std::uint64_t>{16});
  EXPECT_EQ(swarm.flow(0), 0.0);
  EXPECT_EQ(swarm.flow(1), 0.0);
  // Less far behind is mixed, and told.
  swarm.publish(0, 6, 1.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 1U);
  EXPECT_EQ(swarm[0].fell_behind.size(), 2U);
}

TEST(EdgeExchange, AStoppedPeerRefusesAndStillFinishes) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(1, 0);
  swarm[1].exchange->stop();
  EXPECT_FALSE(swarm.begin(1, 0));
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(1), 1U);
  swarm.publish(0, 1, 1.0);
  swarm.begin(0, 1);
  swarm.deliver();
  EXPECT_EQ(nack_code(swarm.wire[0]), NackCode::kBusy);
  swarm.deliver_all();
  EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, TheLeastRecentlyMetEdgeIsDroppedAtTheLimit) {
  Swarm swarm({.ends = 4, .max_edges = 2});
  std::uint64_t round = 0;
  const auto meet = [&](std::size_t from, std::size_t to) {
    ++round;
    for (std::size_t end = 0; end < 4; ++end) {
      swarm.publish(end, round, static_cast<double>(end + round), kThird);
    }
    EXPECT_TRUE(swarm.begin(from, to));
    swarm.deliver_all();
  };
  meet(0, 1);
  meet(0, 2);
  meet(0, 1);
  meet(0, 3);  // drops the edge to 2
  const auto stats = swarm[0].exchange->stats();
  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].peer, Swarm::id(1));
  EXPECT_EQ(stats[1].peer, Swarm::id(3));
  EXPECT_EQ(swarm[0].channel->sent_hash({Swarm::id(2), 0}), 0U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, ADroppedEdgeComesBackWhoeverAsks) {
  for (const bool dropper_asks : {true, false}) {
    for (const std::size_t meetings : {1U, 2U, 5U}) {
      SCOPED_TRACE(std::to_string(meetings) + " meetings, dropper asks " +
                   std::to_string(dropper_asks));
      Swarm swarm({.ends = 3, .reliable = false, .max_edges = 1});
      std::uint64_t round = 0;
      const auto meet = [&](std::size_t from, std::size_t to) {
        ++round;
        for (std::size_t end = 0; end < 3; ++end) {
          swarm.publish(end, round, static_cast<double>(end * 3 + round * round), kThird);
        }
        EXPECT_TRUE(swarm.begin(from, to));
        for (int tries = 0; tries < 4; ++tries) {
          swarm.deliver_all();
          swarm.pass(milliseconds(100));
        }
        EXPECT_EQ(swarm[from].exchange->in_flight(), 0U);
        swarm.expect_zero_sum();
      };
      for (std::size_t k = 0; k < meetings; ++k) {
        meet(0, 1);
      }
      meet(0, 2);  // end 0 forgets the edge to 1, which does not know
      const std::size_t before = swarm.mixes(1);
      dropper_asks ? meet(0, 1) : meet(1, 0);
      EXPECT_EQ(swarm.mixes(1), before + 1);
      swarm.expect_mirrored(0, 1);
    }
  }
}

TEST(EdgeExchange, AnEdgeInFlightIsNotDropped) {
  Swarm swarm({.ends = 3, .max_edges = 1});
  for (std::size_t end = 0; end < 3; ++end) {
    swarm.publish(end, 0, static_cast<double>(end), kThird);
  }
  swarm.begin(0, 1);
  swarm.begin(0, 2);
  EXPECT_EQ(swarm[0].exchange->in_flight(), 2U);
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 2U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, AHeldRequestSurvivesTheEdgeLimit) {
  Swarm swarm({.ends = 3, .max_edges = 1});
  swarm.publish(1, 5, 1.0, kThird);
  swarm.begin(1, 0);
  swarm.deliver_all();  // held: end 0 has not published
  swarm.publish(0, 5, 4.0, kThird);
  swarm.publish(2, 5, 4.0, kThird);
  swarm.begin(0, 2);
  swarm.deliver_all();
  swarm[0].exchange->answer_held();
  swarm.deliver_all();
  EXPECT_EQ(swarm[1].exchange->in_flight(), 0U);
  EXPECT_EQ(swarm.mixes(1), 1U);
  swarm.expect_zero_sum();
}

TEST(EdgeExchange, ADeadNeighboursEdgeMakesRoomEvenInFlight) {
  Swarm swarm({.ends = 3, .max_edges = 1});
  for (std::size_t end = 0; end < 3; ++end) {
    swarm.publish(end, 0, static_cast<double>(end), kThird);
  }
  swarm.begin(0, 1);
  swarm[0].exchange->set_dead(Swarm::id(1), true);
  swarm.begin(0, 2);
  EXPECT_EQ(swarm[0].exchange->stats().size(), 1U);
  EXPECT_EQ(swarm[0].exchange->in_flight(), 1U);
  swarm.pass(std::chrono::seconds(20));  // no timer of the dropped one is left
}

TEST(EdgeExchange, AForgottenNeighbourLeavesNothingBehind) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  swarm.begin(0, 1);
  swarm.deliver_all();
  swarm[0].exchange->forget(Swarm::id(1));
  swarm[0].exchange->forget(Swarm::id(1));
  EXPECT_TRUE(swarm[0].exchange->stats().empty());
  EXPECT_EQ(swarm[0].channel->sent_hash({Swarm::id(1), 0}), 0U);
}

TEST(EdgeExchange, TheLastAnswerOfAForgottenNeighbourStillCounts) {
  Swarm swarm({.ends = 3, .max_edges = 1});
  for (std::size_t end = 0; end < 3; ++end) {
    swarm.publish(end, 0, static_cast<double>(end), kThird);
  }
  swarm.begin(0, 1);
  swarm[0].exchange->forget(Swarm::id(1));
  swarm.deliver_all();
  EXPECT_EQ(swarm.mixes(0), 1U);
  swarm.expect_zero_sum();
  swarm.begin(0, 2);
  EXPECT_EQ(swarm[0].exchange->stats().size(), 1U);
}

// ---- A neighbour that starts anew under its id. ----

TEST(EdgeReset, ARestartedNeighbourIsAnsweredFromTheStart) {
  Swarm swarm({.channel = "edge-replica", .codec = "fp32"});
  for (std::uint64_t round = 0; round < 5; ++round) {
    swarm.publish(0, round, 1.0);
    swarm.publish(1, round, 4.0);
    ASSERT_TRUE(swarm.begin(0, 1));
    swarm.deliver_all();
  }
  swarm.restart(0);
  swarm[1].exchange->reset(Swarm::id(0));
  swarm.publish(0, 5, 1.0);
  swarm.publish(1, 5, 4.0);
  ASSERT_TRUE(swarm.begin(0, 1));
  swarm.deliver_all();
  EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
  EXPECT_EQ(swarm.mixes(0), 1U);
  swarm.expect_mirrored(0, 1);
}

TEST(EdgeReset, WhatIsInFlightSettlesAsNotMixed) {
  Swarm swarm({.fragments = 2});
  swarm.publish(0, 0, 1.0);
  ASSERT_TRUE(swarm.begin(0, 1, 0));
  ASSERT_TRUE(swarm.begin(0, 1, 1));
  swarm[0].exchange->reset(Swarm::id(1));
  EXPECT_EQ(swarm[0].exchange->in_flight(), 0U);
  EXPECT_EQ(swarm[0].settled,
            (std::vector<Swarm::Settled>{{Swarm::id(1), 0, false}, {Swarm::id(1), 1, false}}));
  EXPECT_EQ(swarm[0].exchange->totals().one_sided, 2U);
  swarm.pass(std::chrono::minutes(5));
  EXPECT_EQ(swarm.wire.size(), 2U) << "nothing is sent again";
}

TEST(OneSided, AConfirmedTransactionIsNotCounted) {
  Swarm swarm({});
  for (std::uint64_t round = 0; round < 3; ++round) {
    swarm.publish(0, round, 1.0);
    swarm.publish(1, round, 4.0);
    ASSERT_TRUE(swarm.begin(0, 1));
    swarm.deliver_all();
  }
  for (const std::size_t end : {0U, 1U}) {
    EXPECT_EQ(swarm[end].exchange->totals().one_sided, 0U);
    EXPECT_EQ(swarm[end].exchange->totals().one_sided_flow, 0.0);
  }
}

TEST(OneSided, AnAnswerThatAnEdgeWasDroppedWithIsCountedWithItsFlow) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0, kHalf);
  swarm.publish(1, 0, 4.0, kHalf);
  ASSERT_TRUE(swarm.begin(0, 1));
  swarm.deliver();  // end 1 has mixed, its answer is lost
  swarm[1].exchange->reset(Swarm::id(0));
  EXPECT_EQ(swarm[1].exchange->totals().one_sided, 1U);
  EXPECT_EQ(swarm[1].exchange->totals().one_sided_flow, 3.0);  // 1/2 of 3 in each of 4 values
}

TEST(OneSided, ANeighbourThatSaidGoodbyeHadItsAnswers) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  ASSERT_TRUE(swarm.begin(0, 1));
  swarm.deliver_all();
  swarm[1].exchange->confirm_all(Swarm::id(0));
  swarm[1].exchange->forget(Swarm::id(0));
  EXPECT_EQ(swarm[1].exchange->totals().one_sided, 0U);
}

TEST(OneSided, ANeighbourThatLeftWithoutAllAnswersIsCounted) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0);
  swarm.publish(1, 0, 4.0);
  ASSERT_TRUE(swarm.begin(0, 1));
  swarm.deliver();
  swarm[1].exchange->forget(Swarm::id(0));
  EXPECT_EQ(swarm[1].exchange->totals().one_sided, 1U);
}

TEST(OneSided, ADeadNeighboursUnconfirmedAnswerIsCountedOnce) {
  Swarm swarm({});
  swarm.publish(0, 0, 1.0, kHalf);
  swarm.publish(1, 0, 4.0, kHalf);
  ASSERT_TRUE(swarm.begin(0, 1));
  swarm.deliver();
  for (int k = 0; k < 2; ++k) {
    swarm[1].exchange->set_dead(Swarm::id(0), true);
  }
  swarm[1].exchange->reset(Swarm::id(0));
  EXPECT_EQ(swarm[1].exchange->totals().one_sided, 1U);
  EXPECT_EQ(swarm[1].exchange->totals().one_sided_flow, 3.0);
}

TEST(OneSided, ARequestCutOffIsJudgedByItsOwnFragment) {
  Swarm swarm({.fragments = 2});
  swarm.publish(0, 0, std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}, {kHalf, kHalf});
  swarm.publish(1, 0, std::vector<double>{2, 2, 2, 2, 1, 1, 1, 1}, {kHalf, kHalf});
  ASSERT_TRUE(swarm.begin(0, 1, 0));
  ASSERT_TRUE(swarm.begin(0, 1, 1));
  swarm.deliver_all();
  swarm.publish(0, 1, 0.0);
  ASSERT_TRUE(swarm.begin(0, 1, 0));
  swarm[0].exchange->reset(Swarm::id(1));
  EXPECT_EQ(swarm[0].exchange->totals().one_sided_flow, 2.0);  // 1/2 of |(2, 2, 2, 2)|
}

}  // namespace
}  // namespace hobnob
