#include "gossip/membership.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PeerId kSelf{0, 1};
constexpr PeerId kOther{0, 2};

MemberRecord record_of(const PeerId& peer,
                       MemberState state = MemberState::kAlive,
                       std::uint32_t incarnation = 0) {
  return {.peer = peer,
          .incarnation = incarnation,
          .state = state,
          .shard = static_cast<std::uint32_t>(peer.low + incarnation),
          .round = 0,
          .address = {"host", 1},
          .name = "n" + std::to_string(peer.low)};
}

Membership make_membership(const PeerId& self = kSelf) {
  return {MembershipConfig{}, record_of(self)};
}

MemberState state_of(const Membership& membership, const PeerId& peer = kOther) {
  return membership.find(peer)->record.state;
}

std::vector<MemberRecord> random_records(Rng& rng) {
  std::vector<MemberRecord> records(rng.below(12));
  for (MemberRecord& record : records) {
    record = record_of({0, 2 + rng.below(5)}, static_cast<MemberState>(rng.below(5)),
                       static_cast<std::uint32_t>(rng.below(3)));
    record.round = rng.below(50);
  }
  return records;
}

// What the others are known to be; the own record refutes, and depends on the order.
std::vector<MemberRecord> others(const Membership& membership) {
  std::vector<MemberRecord> records;
  for (const auto& [peer, member] : membership.members()) {
    if (peer != kSelf) {
      records.push_back(member.record);
    }
  }
  return records;
}

std::vector<MemberRecord> merged(std::initializer_list<std::vector<MemberRecord>> lists) {
  Membership membership = make_membership();
  for (const auto& list : lists) {
    membership.merge(list, Time{0});
  }
  return others(membership);
}

TEST(Membership, MergeIsAJoinOfLattices) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng({.seed = seed, .stream = 2});
    const auto a = random_records(rng);
    const auto b = random_records(rng);
    const auto c = random_records(rng);
    EXPECT_EQ(merged({a, b}), merged({b, a})) << "commutative";
    EXPECT_EQ(merged({a, b, a, b}), merged({a, b})) << "idempotent";
    EXPECT_EQ(merged({a, merged({b, c})}), merged({merged({a, b}), c})) << "associative";
    auto shuffled = a;
    std::ranges::reverse(shuffled);
    EXPECT_EQ(merged({a}), merged({shuffled})) << "order within a list";
  }
}

TEST(Membership, ANewMemberIsReportedOnce) {
  Membership membership = make_membership();
  const auto changes = membership.merge({record_of(kOther)}, Time{0});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].is_new);
  EXPECT_EQ(changes[0].peer, kOther);
  EXPECT_TRUE(membership.merge({record_of(kOther)}, Time{0}).empty());
  EXPECT_EQ(membership.view().size(), 2U);
}

TEST(Membership, SilenceMakesASuspectAndThenADeadMember) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  EXPECT_TRUE(membership.tick(milliseconds(1999)).empty());
  const auto suspected = membership.tick(seconds(2));
  ASSERT_EQ(suspected.size(), 1U);
  EXPECT_EQ(suspected[0].after, MemberState::kSuspect);
  EXPECT_FALSE(membership.find(kOther)->suspicion.empty());
  EXPECT_EQ(membership.active(), 2U) << "a suspect is still in the view";
  EXPECT_TRUE(membership.tick(milliseconds(5999)).empty());
  const auto died = membership.tick(seconds(6));
  ASSERT_EQ(died.size(), 1U);
  EXPECT_EQ(died[0].before, MemberState::kSuspect);
  EXPECT_EQ(died[0].after, MemberState::kDead);
  EXPECT_EQ(membership.view().peers(), std::vector<PeerId>{kSelf});
}

TEST(Membership, SelfIsNeverSuspected) {
  Membership membership = make_membership();
  EXPECT_TRUE(membership.tick(std::chrono::hours(1)).empty());
  EXPECT_EQ(membership.self().state, MemberState::kAlive);
}

TEST(Membership, ASilentJoinerDies) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther, MemberState::kJoining)}, Time{0});
  EXPECT_EQ(membership.active(), 1U);
  membership.tick(seconds(5));
  EXPECT_EQ(state_of(membership), MemberState::kJoining);
  membership.tick(seconds(6));
  EXPECT_EQ(state_of(membership), MemberState::kDead);
}

TEST(Membership, HearingFromASuspectEndsTheSuspicion) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  membership.tick(seconds(3));
  ASSERT_EQ(state_of(membership), MemberState::kSuspect);
  const auto changes = membership.heard(kOther, seconds(3));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].after, MemberState::kAlive);
  EXPECT_TRUE(membership.find(kOther)->suspicion.empty());
  EXPECT_TRUE(membership.tick(milliseconds(4999)).empty());
  EXPECT_FALSE(membership.tick(seconds(5)).empty());
}

TEST(Membership, HearingFromTheDeadDoesNotRaiseThem) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther, MemberState::kDead)}, Time{0});
  EXPECT_TRUE(membership.heard(kOther, seconds(1)).empty());
  EXPECT_EQ(state_of(membership), MemberState::kDead);
  membership.merge({record_of(kOther, MemberState::kAlive, 1)}, seconds(1));
  EXPECT_EQ(state_of(membership), MemberState::kAlive);
  EXPECT_TRUE(membership.find(kOther)->suspicion.empty());
}

TEST(Membership, ProgressAtSecondHandIsASignOfLife) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  MemberRecord further = record_of(kOther);
  further.round = 5;
  membership.merge({further}, seconds(1));
  EXPECT_TRUE(membership.tick(milliseconds(2999)).empty());
  membership.merge({further}, seconds(2));  // the same round again is not
  EXPECT_FALSE(membership.tick(seconds(3)).empty());
}

TEST(Membership, ALostLinkSuspectsAtOnceAndDiesAfterTheRest) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  const auto changes = membership.link_lost(kOther, "connection reset", milliseconds(100));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].after, MemberState::kSuspect);
  EXPECT_NE(membership.find(kOther)->suspicion.find("connection reset"), std::string::npos);
  EXPECT_TRUE(membership.link_lost(kOther, "again", milliseconds(100)).empty());
  EXPECT_TRUE(membership.tick(milliseconds(4099)).empty());
  EXPECT_FALSE(membership.tick(milliseconds(4100)).empty());
  EXPECT_EQ(state_of(membership), MemberState::kDead);
}

TEST(Membership, SlanderIsAnsweredWithAHigherIncarnation) {
  for (const MemberState state : {MemberState::kSuspect, MemberState::kDead}) {
    Membership membership = make_membership();
    EXPECT_TRUE(membership.merge({record_of(kSelf, state, 4)}, Time{0}).empty());
    EXPECT_EQ(membership.self().incarnation, 5U);
    EXPECT_EQ(membership.self().state, MemberState::kAlive);
    membership.merge({record_of(kSelf, state, 4)}, Time{0});
    EXPECT_EQ(membership.self().incarnation, 5U) << "old slander is refuted already";
  }
}

TEST(Membership, TheRefutationWinsEverywhere) {
  Membership accused = make_membership();
  Membership judge = make_membership(kOther);
  judge.merge(accused.records(), Time{0});
  judge.tick(seconds(2));
  judge.tick(seconds(6));
  ASSERT_EQ(state_of(judge, kSelf), MemberState::kDead);
  accused.merge(judge.records(), seconds(6));
  const auto changes = judge.merge(accused.records(), seconds(6));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].after, MemberState::kAlive);
  EXPECT_TRUE(judge.tick(seconds(7)).empty());
}

TEST(Membership, ALeaverDoesNotRefute) {
  Membership membership = make_membership();
  membership.self().state = MemberState::kLeft;
  membership.merge({record_of(kSelf, MemberState::kDead, 4)}, Time{0});
  EXPECT_EQ(membership.self().incarnation, 0U);
}

TEST(Membership, LeavingIsFinalForAnIncarnation) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  ASSERT_EQ(membership.left(kOther, Time{0}).size(), 1U);
  EXPECT_TRUE(membership.left(kOther, Time{0}).empty());
  membership.merge({record_of(kOther)}, seconds(1));
  membership.merge({record_of(kOther, MemberState::kDead)}, seconds(1));
  membership.heard(kOther, seconds(1));
  membership.link_lost(kOther, "closed", seconds(1));
  membership.tick(seconds(60));
  EXPECT_EQ(state_of(membership), MemberState::kLeft);
  membership.merge({record_of(kOther, MemberState::kAlive, 1)}, seconds(60));
  EXPECT_EQ(state_of(membership), MemberState::kAlive);
}

TEST(Membership, SuspicionIsNotSpreadOnlyItsOutcomeIs) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  membership.tick(seconds(2));
  ASSERT_EQ(state_of(membership), MemberState::kSuspect);
  for (const MemberRecord& record : membership.records()) {
    EXPECT_EQ(record.state, MemberState::kAlive);
  }
  membership.tick(seconds(6));
  const auto records = membership.records();
  EXPECT_TRUE(std::ranges::any_of(
      records, [](const MemberRecord& record) { return record.state == MemberState::kDead; }));
}

TEST(Membership, StrangersChangeNothing) {
  Membership membership = make_membership();
  EXPECT_TRUE(membership.heard(kOther, seconds(1)).empty());
  EXPECT_TRUE(membership.left(kOther, seconds(1)).empty());
  EXPECT_TRUE(membership.link_lost(kOther, "gone", seconds(1)).empty());
  membership.set_round(kOther, 9);
  EXPECT_EQ(membership.members().size(), 1U);
}

TEST(Membership, RoundsOnlyGrow) {
  Membership membership = make_membership();
  membership.merge({record_of(kOther)}, Time{0});
  membership.set_round(kOther, 9);
  membership.set_round(kOther, 4);
  EXPECT_EQ(membership.find(kOther)->record.round, 9U);
  membership.merge({record_of(kOther, MemberState::kAlive, 3)}, Time{0});
  EXPECT_EQ(membership.find(kOther)->record.round, 9U);
}

TEST(Membership, TheListIsBoundedAndForgetsTheGoneFirst) {
  Membership membership = make_membership();
  std::vector<MemberRecord> records;
  for (std::uint64_t k = 0; k < kMaxMembers + 500; ++k) {
    records.push_back(record_of({0, 10 + k}));
  }
  records[3].state = MemberState::kDead;
  records[5].state = MemberState::kLeft;
  membership.merge(records, Time{0});
  EXPECT_EQ(membership.members().size(), kMaxMembers);
  EXPECT_EQ(membership.records().size(), kMaxMembers);
  EXPECT_EQ(membership.find(records[3].peer), nullptr);
  EXPECT_EQ(membership.find(records[5].peer), nullptr);
  EXPECT_NE(membership.find(records[4].peer), nullptr);
  EXPECT_NE(membership.find(kSelf), nullptr);
}

TEST(Membership, TheFreeShardIsTheLeastClaimedOne) {
  Membership membership = make_membership({0, 100});
  EXPECT_EQ(membership.free_shard(0), 0U);
  EXPECT_EQ(membership.free_shard(4), 0U);
  std::vector<MemberRecord> records;
  for (std::uint32_t k = 0; k < 5; ++k) {
    records.push_back(record_of({0, 1 + k}));
    records.back().shard = k % 4;  // 0 twice
  }
  membership.merge(records, Time{0});
  EXPECT_EQ(membership.free_shard(4), 1U);
  EXPECT_EQ(membership.free_shard(5), 4U);
  membership.left({0, 4}, Time{0});  // of shard 3
  EXPECT_EQ(membership.free_shard(4), 3U);
  membership.merge({record_of({0, 9}, MemberState::kJoining)}, Time{0});  // claims shard 9
  EXPECT_EQ(membership.free_shard(4), 3U) << "a claim outside the range is ignored";
}

TEST(MembershipView, HasTheSitesAndWhoCannotBeDialed) {
  MemberRecord self{.peer = {0, 1}, .state = MemberState::kAlive, .address = {"a", 1}, .site = "x"};
  Membership swarm({}, self);
  swarm.merge({{.peer = {0, 2}, .state = MemberState::kAlive, .address = {"b", 2}, .site = "y"},
               {.peer = {0, 3}, .state = MemberState::kAlive, .address = {}, .site = "x"},
               {.peer = {0, 4}, .state = MemberState::kAlive, .address = {}}},
              Time{0});
  const MembershipView view = swarm.view();
  ASSERT_EQ(view.size(), 4U);
  EXPECT_EQ(view.site(0), view.site(2));
  EXPECT_NE(view.site(0), view.site(1));
  EXPECT_EQ(view.site(3), 0U);
  EXPECT_TRUE(view.can_meet(0, 2));
  EXPECT_FALSE(view.can_meet(2, 3));
}

}  // namespace
}  // namespace hobnob
