#include "topology/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

TEST(View, SortsAndDropsDuplicates) {
  const PeerId a{.high = 0, .low = 9};
  const PeerId b{.high = 1, .low = 2};
  const PeerId c{.high = 1, .low = 3};
  const MembershipView view({c, a, b, a, c});
  EXPECT_EQ(view.peers(), (std::vector<PeerId>{a, b, c}));
  EXPECT_EQ(view.rank(a), 0U);
  EXPECT_EQ(view.rank(c), 2U);
  EXPECT_EQ(view.rank({.high = 1, .low = 4}), std::nullopt);
}

TEST(View, OfNobodyEqualsTheDefault) {
  EXPECT_EQ(MembershipView(std::vector<PeerId>{}), MembershipView());
  EXPECT_EQ(MembershipView().size(), 0U);
  EXPECT_NE(MembershipView({PeerId{}}).digest(), MembershipView().digest());
}

// All the subsets of six ids, each given in several orders and with repeats.
TEST(View, DigestsAreEqualExactlyWhenTheSetsAre) {
  const std::vector<PeerId> all{{.high = 0, .low = 0},     {.high = 0, .low = 1},
                                {.high = 1, .low = 0},     {.high = 1, .low = 1},
                                {.high = ~0ULL, .low = 5}, {.high = 5, .low = ~0ULL}};
  Rng rng({.seed = 1, .stream = 2});
  std::set<std::uint64_t> digests;
  for (unsigned subset = 0; subset < 64; ++subset) {
    std::vector<PeerId> chosen;
    for (unsigned k = 0; k < 6; ++k) {
      if ((subset >> k & 1U) != 0) {
        chosen.push_back(all[k]);
      }
    }
    const std::uint64_t digest = MembershipView(chosen).digest();
    EXPECT_TRUE(digests.insert(digest).second) << "subset " << subset;
    for (int order = 0; order < 5 && !chosen.empty(); ++order) {
      for (std::size_t k = chosen.size(); k > 1; --k) {
        std::swap(chosen[k - 1], chosen[rng.below(k)]);
      }
      chosen.push_back(chosen[rng.below(chosen.size())]);
      EXPECT_EQ(MembershipView(chosen).digest(), digest);
    }
  }
}

// The same for members: each of three ids absent, or in one of two sites, listening or not.
TEST(View, DigestsCoverSitesAndWhoListens) {
  const std::vector<PeerId> ids{
      {.high = 0, .low = 1}, {.high = 1, .low = 0}, {.high = 7, .low = 7}};
  std::set<std::uint64_t> digests;
  for (unsigned code = 0; code < 125; ++code) {
    std::vector<ViewMember> members;
    unsigned rest = code;
    for (const PeerId& id : ids) {
      if (const unsigned state = rest % 5; state > 0) {
        members.push_back({.id = id, .site = (state - 1) / 2, .can_listen = state % 2 == 1});
      }
      rest /= 5;
    }
    const MembershipView view(members);
    EXPECT_TRUE(digests.insert(view.digest()).second) << "code " << code;
    std::ranges::reverse(members);
    EXPECT_EQ(MembershipView(members), view);
  }
}

TEST(View, OfPlainMembersEqualsThatOfTheirIds) {
  const PeerId a{.high = 0, .low = 9};
  const PeerId b{.high = 1, .low = 2};
  const MembershipView view(std::vector<ViewMember>{{.id = b}, {.id = a}});
  EXPECT_EQ(view, MembershipView({a, b}));
  EXPECT_EQ(view.digest(), MembershipView({a, b}).digest());
}

TEST(View, KnowsWhoCanMeet) {
  const auto member = [](std::uint64_t low, std::uint32_t site, bool can_listen) {
    return ViewMember{.id = {.high = 0, .low = low}, .site = site, .can_listen = can_listen};
  };
  const MembershipView view({member(3, 5, false), member(1, 0, true), member(2, 9, false)});
  EXPECT_EQ(view.site(1), 9U);
  EXPECT_TRUE(view.can_meet(0, 1));
  EXPECT_FALSE(view.can_meet(1, 2));
  EXPECT_FALSE(view.can_all_meet());
  EXPECT_TRUE(MembershipView({member(1, 0, true), member(2, 0, false)}).can_all_meet());
  // One id twice: the least of the two stays, whatever came first.
  EXPECT_EQ(MembershipView({member(1, 2, true), member(1, 3, false)}).site(0), 2U);
  EXPECT_EQ(MembershipView({member(1, 3, false), member(1, 2, true)}).site(0), 2U);
}

}  // namespace
}  // namespace hobnob
