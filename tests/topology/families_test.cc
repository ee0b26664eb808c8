// What single kinds of schedules promise beyond what schedule_test.cc asks of all.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/topology/topology_fixture.h"

namespace hobnob {
namespace {

// Rounds until the spread of random columns has fallen to `target` of the start.
std::uint64_t rounds_to(const TopologyConfig& config, const MembershipView& view, double target) {
  const auto schedule = make_schedule(config);
  Columns values = normal_columns(view.size(), 16, 1);
  const double start = spread(values);
  std::uint64_t round = 0;
  while (std::sqrt(spread(values) / start) > target && round < 5000) {
    mix(schedule->matrix(view, 0, round++), values);
  }
  return round;
}

TEST(OnePeerExponential, SendsToOnePeerAndTakesOfAnother) {
  const auto schedule = make_schedule({.kind = "one-peer-exponential"});
  const MembershipView view(random_peers(25, 1));
  const RoundPlan plan = schedule->plan(view, 3, 0, 2);  // distance 4
  EXPECT_EQ(plan.partners, (std::vector<Exchange>{{.peer = 7, .in = {}, .out = {1, 2}},
                                                  {.peer = 24, .in = {1, 2}, .out = {}}}));
  // Half way around a circle of 8 both are the same peer.
  const RoundPlan opposite = schedule->plan(MembershipView(random_peers(8, 1)), 3, 0, 2);
  EXPECT_EQ(opposite.partners, (std::vector<Exchange>{{.peer = 7, .in = {1, 2}, .out = {1, 2}}}));
}

TEST(OnePeerExponential, RelabelledMixesFasterWhereNIsNoPowerOfTwo) {
  const MembershipView view(random_peers(100, 1));
  EXPECT_NEAR(static_cast<double>(rounds_to({.kind = "one-peer-exponential"}, view, 1e-6)), 55, 5);
  EXPECT_NEAR(
      static_cast<double>(rounds_to({.kind = "one-peer-exponential", .relabel = true}, view, 1e-6)),
      29, 5);
}

TEST(RoundRobin, MeetsEveryPairOnceACycle) {
  for (const bool shuffled : {true, false}) {
    const auto schedule = make_schedule({.kind = "round-robin", .shuffled = shuffled});
    for (const std::uint32_t size : {2U, 3U, 8U, 9U, 30U}) {
      const MembershipView view(random_peers(size, 1));
      const std::uint32_t cycle = size - 1 + size % 2;
      std::map<Pair, int> met;
      for (std::uint64_t round = 3 * cycle; round < 4 * cycle; ++round) {
        for (const Pair& pair : edges_of(schedule->matrix(view, round / 64, round))) {
          ++met[pair];
        }
      }
      EXPECT_EQ(met.size(), size * (size - 1) / 2);
      EXPECT_TRUE(std::ranges::all_of(met, [](const auto& each) { return each.second == 1; }));
    }
  }
}

TEST(RoundRobin, InOrderMixesDiffusively) {
  const MembershipView view(random_peers(100, 1));
  EXPECT_GT(rounds_to({.kind = "round-robin", .shuffled = false}, view, 1e-3), 1000U);
  EXPECT_LT(rounds_to({.kind = "round-robin"}, view, 1e-3), 30U);
}

TEST(EquiDyn, HasItsExactWeights) {
  const MembershipView view(random_peers(10, 1));
  const auto directed = make_schedule({.kind = "equidyn-od", .eta_percent = 50});
  const MixingMatrix shift = directed->matrix(view, 0, 4);
  for (const auto& entry : shift.entries()) {
    EXPECT_EQ(entry.weight, (Weight{9, 20}));  // eta (n - 1) / n
  }
  const auto undirected = make_schedule({.kind = "equidyn-ou", .eta_percent = 100});
  const MixingMatrix pairs = undirected->matrix(view, 0, 4);
  for (const auto& entry : pairs.entries()) {
    EXPECT_EQ(entry.weight, (Weight{9, 10}));
  }
}

TEST(EquiDyn, PairsAllButOneInEight) {
  const auto schedule = make_schedule({.kind = "equidyn-ou"});
  const MembershipView view(random_peers(1000, 1));
  double idle = 0.0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    for (const RoundPlan& plan : schedule->plans(view, 0, round)) {
      idle += plan.partners.empty() ? 1.0 / 50 : 0.0;
    }
  }
  EXPECT_NEAR(idle / 1000, 0.12, 0.02);
}

TEST(Grid, HoldsAnyNumberOfPeers) {
  const auto groups_of = [](const TopologyConfig& config, std::uint32_t size, std::uint64_t round) {
    std::multiset<std::size_t> sizes;
    const MembershipView view(random_peers(size, 1));
    for (const RoundPlan& plan : make_schedule(config)->plans(view, 0, round)) {
      sizes.insert(plan.partners.size() + 1);
    }
    return sizes;
  };
  const TopologyConfig config{.kind = "grid", .dims = {3, 2}};
  // Rows of 3, 3 and 1; columns of 3, 2 and 2: the last dimension grows.
  EXPECT_EQ(groups_of(config, 7, 0), (std::multiset<std::size_t>{3, 3, 3, 3, 3, 3, 1}));
  EXPECT_EQ(groups_of(config, 7, 1), (std::multiset<std::size_t>{3, 3, 3, 2, 2, 2, 2}));
  // 17 is prime: 5 x 5 with places free.
  EXPECT_EQ(*groups_of({.kind = "grid"}, 17, 0).rbegin(), 5U);
  EXPECT_EQ(*groups_of({.kind = "grid"}, 17, 1).rbegin(), 4U);
}

// degree alpha is 1 - 1 / n when every edge is active, the closing ones of odd n among them.
TEST(Matcha, WithAllMatchingsActiveLeavesEveryPeerOneInN) {
  for (const std::uint32_t size : {2U, 3U, 8U, 9U, 30U, 101U}) {
    SCOPED_TRACE(size);
    for (const std::uint32_t degree : {2U, 8U}) {
      if (size == 2 && degree == 2) {
        continue;  // one edge: alpha 1/2
      }
      const auto schedule =
          make_schedule({.kind = "matcha", .degree = degree, .active_percent = 100});
      const MixingMatrix matrix = schedule->matrix(MembershipView(random_peers(size, 1)), 0, 0);
      for (std::uint32_t peer = 0; peer < size; ++peer) {
        ExactSum own = matrix.diagonal(peer);
        own.add({size - 1, size});
        EXPECT_TRUE(own.is_one());
      }
    }
  }
}

// The peer with the most active edges gives away all but 1 / n, or half when it has one.
TEST(Matcha, HasTheGreatestAlphaThatLeavesNobodyLessThanOneInN) {
  for (const std::uint32_t size : {2U, 4U, 5U, 9U, 11U, 24U, 40U}) {
    const MembershipView view(random_peers(size, 2));
    for (const std::uint32_t percent : {10U, 50U, 90U}) {
      const auto schedule =
          make_schedule({.kind = "matcha", .degree = 4, .active_percent = percent});
      for (std::uint64_t round = 0; round < 40; ++round) {
        SCOPED_TRACE(testing::Message()
                     << "n " << size << ", " << percent << " %, round " << round);
        const MixingMatrix matrix = schedule->matrix(view, 0, round);
        if (matrix.entries().empty()) {
          continue;
        }
        double least = 1.0;
        bool has_pairs_only = true;
        for (std::uint32_t peer = 0; peer < size; ++peer) {
          least = std::min(least, matrix.diagonal(peer).value());
          has_pairs_only = has_pairs_only && matrix.row(peer).size() <= 1;
        }
        for (const auto& entry : matrix.entries()) {
          has_pairs_only = has_pairs_only && entry.weight == Weight{1, 2};
        }
        EXPECT_NEAR(least, has_pairs_only ? 0.5 : 1.0 / size, 1e-12);
      }
    }
  }
}

TEST(Matcha, ActivatesItsMatchingsAsOftenAsAsked) {
  const auto schedule = make_schedule({.kind = "matcha", .active_percent = 25});
  const MembershipView view(random_peers(64, 1));
  double partners = 0.0;
  for (std::uint64_t round = 0; round < 1000; ++round) {
    partners += static_cast<double>(schedule->plan(view, 5, 0, round).partners.size()) / 1000;
  }
  EXPECT_NEAR(partners, 2.0, 0.15);
}

TEST(Matcha, KeepsItsBaseGraph) {
  const MembershipView view(random_peers(200, 1));
  const auto all = make_schedule({.kind = "matcha", .active_percent = 100});
  const auto some = make_schedule({.kind = "matcha", .active_percent = 50});
  const std::set<Pair> base = edges_of(all->matrix(view, 0, 0));
  for (const std::uint64_t round : {0U, 17U, 5000U}) {
    const std::set<Pair> edges = edges_of(some->matrix(view, round / 1024, round));
    EXPECT_TRUE(std::ranges::includes(base, edges));
    EXPECT_LT(edges.size(), base.size());
  }
}

MembershipView view_of_sites(const std::vector<std::uint32_t>& sizes) {
  std::vector<ViewMember> members;
  const std::vector<PeerId> peers = random_peers(1000, 3);
  for (std::uint32_t site = 0; site < sizes.size(); ++site) {
    for (std::uint32_t k = 0; k < sizes[site]; ++k) {
      members.push_back({.id = peers[members.size()], .site = 10 + site});
    }
  }
  return MembershipView(std::move(members));
}

TEST(TwoLevel, CrossesSitesOnlyEverySoManyRoundsAndOnlyInPairs) {
  const MembershipView view = view_of_sites({16, 16, 24, 1, 3});
  const auto schedule =
      make_schedule({.kind = "two-level", .g = 8, .cross_every = 3, .crossing = 2});
  for (std::uint64_t round = 0; round < 30; ++round) {
    std::map<Pair, int> crossings;
    const std::vector<RoundPlan> plans = schedule->plans(view, 0, round);
    for (std::uint32_t self = 0; self < view.size(); ++self) {
      for (const Exchange& exchange : plans[self].partners) {
        if (view.site(exchange.peer) != view.site(self)) {
          EXPECT_EQ(plans[self].partners.size(), 1U);
          EXPECT_EQ(exchange.in, (Weight{1, 2}));
          EXPECT_TRUE(plans[self].group.empty());
          const std::uint32_t here = view.site(self);
          const std::uint32_t there = view.site(exchange.peer);
          ++crossings[{std::min(here, there), std::max(here, there)}];
        } else {
          EXPECT_FALSE(plans[self].group.empty());
        }
      }
    }
    EXPECT_EQ(crossings.size(), round % 3 == 2 ? 2U : 0U) << "five sites: two pairs";
    for (const auto& [sites, count] : crossings) {
      EXPECT_EQ(count, sites.first == 13 || sites.second == 13 ? 2 : 4) << "site 13 has one peer";
    }
  }
}

TEST(TwoLevel, OfOneSiteIsTrieGroups) {
  const MembershipView view(random_peers(50, 3));
  const auto levels = make_schedule({.kind = "two-level", .seed = 4, .g = 4});
  const auto groups = make_schedule({.kind = "trie-groups", .seed = 4, .g = 4});
  for (std::uint64_t round = 0; round < 8; ++round) {
    EXPECT_EQ(levels->plans(view, 1, round), groups->plans(view, 1, round));
  }
}

TEST(TwoLevel, BringsSitesOfAnySizesTogether) {
  EXPECT_LE(rounds_to({.kind = "two-level"}, view_of_sites({16, 16, 16, 16}), 1e-3), 20U);
  EXPECT_LE(rounds_to({.kind = "two-level"}, view_of_sites({8, 8, 8}), 1e-3), 80U);
  EXPECT_LE(rounds_to({.kind = "two-level"}, view_of_sites({40, 7, 1}), 1e-3), 150U);
  const TopologyConfig few{.kind = "two-level", .cross_every = 1, .crossing = 2};
  EXPECT_NEAR(static_cast<double>(rounds_to(few, view_of_sites({16, 16, 16, 16}), 1e-3)), 66, 20);
}

}  // namespace
}  // namespace hobnob
