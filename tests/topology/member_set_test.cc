#include "topology/member_set.h"

#include <gtest/gtest.h>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

PeerId id(std::uint64_t low) {
  return {.high = 0, .low = low};
}

ViewMember member(std::uint64_t low) {
  return {.id = id(low)};
}

// What some peer has heard of a swarm of few ids, few incarnations and few epochs, so that all
// conflicts occur.
MemberSet random_set(Rng& rng) {
  MemberSet set;
  const std::uint64_t count = rng.below(12);
  for (std::uint64_t k = 0; k < count; ++k) {
    set.merge({.member = {.id = id(rng.below(5)),
                          .site = static_cast<std::uint32_t>(rng.below(2)),
                          .can_listen = rng.below(2) == 0},
               .incarnation = static_cast<std::uint32_t>(rng.below(3)),
               .joins_at = rng.below(6),
               .leaves_at = rng.below(2) == 0 ? MemberSet::kNever : rng.below(8)});
  }
  return set;
}

MemberSet merged(MemberSet one, const MemberSet& other) {
  one.merge(other);
  return one;
}

TEST(MemberSet, MergesCommuteAssociateAndRepeat) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng({.seed = seed, .stream = 1});
    const MemberSet a = random_set(rng);
    const MemberSet b = random_set(rng);
    const MemberSet c = random_set(rng);
    EXPECT_EQ(merged(a, b), merged(b, a));
    EXPECT_EQ(merged(merged(a, b), c), merged(a, merged(b, c)));
    EXPECT_EQ(merged(a, a), a);
    EXPECT_EQ(merged(merged(a, b), b), merged(a, b));
  }
}

TEST(MemberSet, DigestsAreEqualExactlyWhenTheSetsAre) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng({.seed = seed, .stream = 2});
    const MemberSet a = random_set(rng);
    const MemberSet b = random_set(rng);
    EXPECT_EQ(a.digest() == b.digest(), a == b);
    EXPECT_EQ(merged(a, b).digest(), merged(b, a).digest());
    if (a == b) {
      EXPECT_EQ(a.view(4), b.view(4));
    }
  }
}

TEST(MemberSet, JoinsAndLeavesTakeEffectTwoEpochsLater) {
  MemberSet set;
  set.join(member(1), 0, 10);
  EXPECT_EQ(set.view(11).size(), 0U);
  EXPECT_EQ(set.view(12).size(), 1U);
  set.leave(id(1), 0, 20);
  EXPECT_EQ(set.view(21).size(), 1U);
  EXPECT_EQ(set.view(22).size(), 0U);
  EXPECT_EQ(set.view(11).size(), 0U) << "the past stays what it was";
}

TEST(MemberSet, NewsOnTheWayChangeNoEpochThatBothAreIn) {
  // Two peers; a join made in epoch 5 has reached only one of them.
  MemberSet one;
  for (std::uint64_t k = 1; k <= 8; ++k) {
    one.join(member(k), 0, 0);
  }
  MemberSet other = one;
  one.join(member(9), 0, 5);
  for (const std::uint64_t epoch : {5U, 6U}) {
    EXPECT_EQ(one.view(epoch).digest(), other.view(epoch).digest());
  }
  EXPECT_NE(one.view(7).digest(), other.view(7).digest());
  other.merge(one);
  EXPECT_EQ(one.view(7), other.view(7));
}

TEST(MemberSet, NewsMadeInAnEpochLeaveTheViewsUpToTheNextAsTheyWere) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng({.seed = seed, .stream = 3});
    MemberSet set;
    std::uint64_t epoch = 0;
    std::uint32_t lives[4] = {};
    for (int news = 0; news < 30; ++news) {
      epoch += rng.below(3);
      const MembershipView now = set.view(epoch);
      const MembershipView next = set.view(epoch + 1);
      const std::uint64_t peer = rng.below(4);
      const std::uint64_t kind = rng.below(3);
      if (kind == 0) {
        set.join(member(peer), lives[peer], epoch);  // told again, later
      } else if (kind == 1) {
        set.leave(id(peer), lives[peer], epoch);
      } else if (rng.below(3) == 0) {
        epoch += 3;  // nobody lives four times in three epochs
        set.join(member(peer), ++lives[peer], epoch);
        continue;
      }
      if (kind != 0 || set.peers().at(id(peer)).size() < 2) {
        EXPECT_EQ(set.view(epoch), now);
        EXPECT_EQ(set.view(epoch + 1), next);
      }
    }
  }
}

TEST(MemberSet, OneThatWasDeclaredGoneComesBackWithAGreaterIncarnation) {
  MemberSet set;
  set.join(member(1), 0, 0);
  set.leave(id(1), 0, 3);
  set.join(member(1), 1, 4);
  EXPECT_EQ(set.view(4).size(), 1U) << "as it was known when epoch 4 began";
  EXPECT_EQ(set.view(5).size(), 0U);
  EXPECT_EQ(set.view(6).size(), 1U);
  // Late news of its first life change nothing.
  set.leave(id(1), 0, 1);
  set.merge({.member = member(1), .incarnation = 0, .joins_at = 0, .leaves_at = 1});
  EXPECT_EQ(set.view(6).size(), 1U);
  EXPECT_EQ(set.peers().at(id(1)).rbegin()->first, 1U);
}

TEST(MemberSet, OfTwoLeavesTheEarlierStands) {
  MemberSet set;
  set.join(member(1), 0, 0);
  MemberSet other = set;
  set.leave(id(1), 0, 9);
  other.leave(id(1), 0, 4);
  set.merge(other);
  EXPECT_EQ(set.view(5).size(), 1U);
  EXPECT_EQ(set.view(6).size(), 0U);
}

}  // namespace
}  // namespace hobnob
