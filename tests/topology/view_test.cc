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

}  // namespace
}  // namespace hobnob
