#include "topology/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/topology/topology_fixture.h"
#include "topology/plan_parts.h"

namespace hobnob {
namespace {

// Small ones all; after that primes, powers of 2, and others; and some by chance.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                               12, 13, 16, 17, 25, 31, 32, 47, 60, 79};
  Rng rng({.seed = 11, .stream = 3});
  for (int k = 0; k < 4; ++k) {
    all.push_back(80 + rng.below(221));
  }
  return all;
}

struct Case {
  TopologyConfig config;
  std::uint64_t seed = 0;  // of the view
  std::size_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;
  std::uint64_t deaf_percent = 0;

  MembershipView view() const { return random_view(size, seed, 4, deaf_percent); }
};

// Calls `body` with each configuration, size and a few rounds.
template <typename Body>
void for_all(std::uint64_t deaf_percent, const Body& body) {
  for (const TopologyConfig& config : all_configs()) {
    const auto schedule = make_schedule(config);
    for (const std::size_t size : sizes()) {
      for (const std::uint64_t round : {0U, 3U, 1026U}) {
        const std::uint64_t seed = mix64(1000 * size + round);
        const Case each{.config = config,
                        .seed = seed,
                        .size = size,
                        .epoch = round / 1024,
                        .round = round,
                        .deaf_percent = deaf_percent};
        SCOPED_TRACE(name_of(config) + ", n " + std::to_string(size) + ", seed " +
                     std::to_string(seed) + ", round " + std::to_string(round));
        body(*schedule, each);
        if (testing::Test::HasFailure()) {
          return;
        }
      }
    }
  }
}

void expect_refused(const TopologyConfig& config, const std::string& text) {
  const Result<void> result = validate(config);
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
}

TEST(TopologyConfig, NamesTheKnownKindsAndTheNearestWhenTheKindIsUnknown) {
  expect_refused({.kind = "rng"}, "gossip.topology.kind");
  expect_refused({.kind = "rng"}, "did you mean ring?");
  for (const std::string& kind : topology_kinds()) {
    expect_refused({.kind = "rng"}, kind);
  }
}

TEST(TopologyConfig, NamesTheKeyThatIsOutOfRange) {
  expect_refused({.g = 1}, "gossip.topology.g: must be 2..64, got 1");
  expect_refused({.g = 65}, "gossip.topology.g");
  expect_refused({.k = 0}, "gossip.topology.k: must be 1..63, got 0");
  expect_refused({.dims = {4, 1}}, "gossip.topology.dims: must be 2..64, got 1");
  expect_refused({.dims = std::vector<std::uint32_t>(17, 2)}, "at most 16 dimensions, got 17");
  expect_refused({.degree = 7}, "gossip.topology.degree: must be even");
  expect_refused({.active_percent = 101}, "gossip.topology.active_percent");
  expect_refused({.eta_percent = 0}, "gossip.topology.eta_percent");
  expect_refused({.cross_every = 0}, "gossip.topology.cross_every");
  expect_refused({.crossing = 1001}, "gossip.topology.crossing");
}

TEST(TopologyConfig, OfEveryKindIsValidByDefaultAndKnowsItsKeys) {
  for (const TopologyConfig& config : all_configs()) {
    EXPECT_TRUE(validate(config).ok()) << config.kind;
  }
  EXPECT_EQ(topology_kinds().front(), TopologyConfig().kind);
  EXPECT_EQ(topology_keys("trie-groups"), std::vector<std::string>{"g"});
  EXPECT_TRUE(topology_keys("ring").empty());
  EXPECT_TRUE(topology_keys("no such kind").empty());
}

TEST(Exchange, SymmetricWeightIsTheExactMeanOfBothDirections) {
  EXPECT_EQ((Exchange{.peer = 0, .in = {1, 2}, .out = {}}).symmetric(), (Weight{1, 4}));
  EXPECT_EQ((Exchange{.peer = 0, .in = {1, 3}, .out = {1, 6}}).symmetric(), (Weight{1, 4}));
  const Weight large{1, 4294967291U};
  EXPECT_EQ((Exchange{.peer = 0, .in = large, .out = large}).symmetric(), large);
}

TEST(Schedule, EdgeIsInBothPlansWithTheSameWeightsAndNeverToSelf) {
  for_all(0, [](const Schedule& schedule, const Case& each) {
    const MembershipView view = each.view();
    std::vector<RoundPlan> all;
    for (std::uint32_t self = 0; self < view.size(); ++self) {
      all.push_back(schedule.plan(view, self, each.epoch, each.round));
    }
    for (std::uint32_t self = 0; self < view.size(); ++self) {
      const auto& partners = all[self].partners;
      EXPECT_EQ(std::ranges::adjacent_find(partners, std::ranges::greater_equal{}, &Exchange::peer),
                partners.end())
          << "not ascending, or one twice";
      for (const Exchange& exchange : partners) {
        ASSERT_NE(exchange.peer, self);
        ASSERT_LT(exchange.peer, view.size());
        EXPECT_FALSE(exchange.in.is_zero() && exchange.out.is_zero());
        const auto& others = all[exchange.peer].partners;
        const auto back = std::ranges::find(others, self, &Exchange::peer);
        ASSERT_NE(back, others.end());
        if (!schedule.traits().is_static) {
          EXPECT_EQ(back->in, exchange.out);
          EXPECT_EQ(back->out, exchange.in);
        }
      }
    }
  });
}

TEST(Schedule, PlansOfAllAreThePlansOfEach) {
  for (const std::uint64_t deaf_percent : {0U, 40U}) {
    for_all(deaf_percent, [](const Schedule& schedule, const Case& each) {
      const MembershipView view = each.view();
      const std::vector<RoundPlan> all = schedule.plans(view, each.epoch, each.round);
      ASSERT_EQ(all.size(), view.size());
      for (std::uint32_t self = 0; self < view.size(); ++self) {
        EXPECT_EQ(all[self], schedule.plan(view, self, each.epoch, each.round)) << "rank " << self;
      }
    });
  }
}

TEST(Schedule, MatrixIsDoublyStochasticForEverySize) {
  for_all(0, [](const Schedule& schedule, const Case& each) {
    const MixingMatrix matrix = schedule.matrix(each.view(), each.epoch, each.round);
    EXPECT_EQ(matrix.size(), each.size);
    EXPECT_TRUE(matrix.is_doubly_stochastic());
    EXPECT_TRUE(matrix.is_symmetric() || !schedule.traits().is_symmetric);
    EXPECT_TRUE(each.size > 1 || matrix.entries().empty());
    const MixingMatrix mixed_in_pairs = matrix.symmetric_part();
    EXPECT_TRUE(mixed_in_pairs.is_symmetric() && mixed_in_pairs.is_doubly_stochastic());
  });
}

TEST(Schedule, NeverJoinsTwoPeersOfWhichNeitherListens) {
  for_all(40, [](const Schedule& schedule, const Case& each) {
    const MembershipView view = each.view();
    const MixingMatrix matrix = schedule.matrix(view, each.epoch, each.round);
    for (const auto& [a, b] : edges_of(matrix)) {
      EXPECT_TRUE(view.can_listen(a) || view.can_listen(b));
    }
    EXPECT_TRUE(matrix.is_column_stochastic());
    EXPECT_TRUE(matrix.is_doubly_stochastic() || !schedule.traits().is_symmetric);
    EXPECT_TRUE(matrix.symmetric_part().is_doubly_stochastic());
    // What is left is the plan without the dropped pairs.
    std::vector<ViewMember> listening;
    for (const PeerId& peer : view.peers()) {
      listening.push_back({.id = peer, .site = view.site(view.rank(peer).value())});
    }
    std::set<Pair> wanted =
        edges_of(schedule.matrix(MembershipView(listening), each.epoch, each.round));
    std::erase_if(wanted,
                  [&](const Pair& pair) { return !view.can_meet(pair.first, pair.second); });
    EXPECT_EQ(edges_of(matrix), wanted);
  });
}

// Every member names the same members, holds them as partners of 1 / g, and is in one group only.
TEST(Schedule, GroupIsACliqueThatAveragesExactly) {
  bool has_seen_groups = false;
  for (const std::uint64_t deaf_percent : {0U, 40U}) {
    for_all(deaf_percent, [&](const Schedule& schedule, const Case& each) {
      const MembershipView view = each.view();
      const std::vector<RoundPlan> all = schedule.plans(view, each.epoch, each.round);
      for (std::uint32_t self = 0; self < view.size(); ++self) {
        const std::vector<std::uint32_t>& group = all[self].group;
        if (group.empty()) {
          continue;
        }
        has_seen_groups = true;
        EXPECT_TRUE(schedule.traits().has_groups);
        EXPECT_TRUE(std::ranges::is_sorted(group));
        EXPECT_TRUE(std::ranges::binary_search(group, self));
        ASSERT_EQ(all[self].partners.size() + 1, group.size());
        for (const Exchange& exchange : all[self].partners) {
          const Weight share{1, static_cast<std::uint32_t>(group.size())};
          EXPECT_EQ(exchange.in, share);
          EXPECT_EQ(exchange.out, share);
          EXPECT_EQ(all[exchange.peer].group, group);
          EXPECT_TRUE(std::ranges::binary_search(group, exchange.peer));
        }
      }
    });
  }
  EXPECT_TRUE(has_seen_groups);
}

TEST(Schedule, MeetsNoMorePeersThanItsKindAllows) {
  for_all(0, [](const Schedule& schedule, const Case& each) {
    const std::string& kind = each.config.kind;
    const std::size_t most = kind == "base-k"                                ? each.config.k
                             : kind == "trie-groups" || kind == "two-level"  ? each.config.g - 1
                             : kind == "hash-buckets"                        ? each.config.g - 1
                             : kind == "matcha"                              ? each.config.degree
                             : schedule.traits().is_static || kind == "grid" ? each.size
                             : schedule.traits().is_symmetric                ? 1
                                                                             : 2;
    std::size_t idle = 0;
    for (const RoundPlan& plan : schedule.plans(each.view(), each.epoch, each.round)) {
      EXPECT_LE(plan.partners.size(), most);
      idle += plan.partners.empty() ? 1U : 0U;
    }
    if (kind == "trie-pairs" || kind == "random-matching" || kind == "round-robin") {
      EXPECT_EQ(idle, each.size % 2) << "a matching of all";
    }
  });
}

TEST(Schedule, DependsOnItsArgumentsOnly) {
  std::vector<PeerId> peers = random_peers(23, 5);
  const MembershipView view(peers);
  std::ranges::reverse(peers);
  const MembershipView same(peers);
  for (const TopologyConfig& config : all_configs()) {
    const auto schedule = make_schedule(config);
    const auto twin = make_schedule(config);
    for (std::uint32_t self = 0; self < view.size(); ++self) {
      const RoundPlan first = schedule->plan(view, self, 3, 9);
      (void)schedule->plan(view, self, 4, 10);
      EXPECT_EQ(schedule->plan(view, self, 3, 9), first);
      EXPECT_EQ(twin->plan(same, self, 3, 9), first);
      if (schedule->traits().is_static) {
        EXPECT_EQ(schedule->plan(view, self, 4, 10), first);
      }
    }
  }
}

TEST(Schedule, ThatIsRandomChangesWithTheSeed) {
  const MembershipView view(random_peers(64, 1));
  for (const char* kind : {"trie-pairs", "trie-groups", "hash-buckets", "two-level", "round-robin",
                           "random-matching", "equidyn-od", "equidyn-ou", "matcha"}) {
    const auto one = make_schedule({.kind = kind, .seed = 3})->matrix(view, 1, 1);
    const auto other = make_schedule({.kind = kind, .seed = 4})->matrix(view, 1, 1);
    EXPECT_NE(edges_of(one), edges_of(other)) << kind;
  }
}

// Lost exchanges: an edge that both ends drop leaves W symmetric and doubly stochastic, and a
// directed message that its sender keeps leaves columns that sum to 1. Exactly.
TEST(Schedule, KeepsTheSumWhateverIsDropped) {
  Rng rng({.seed = 11, .stream = 4});
  for_all(0, [&](const Schedule& schedule, const Case& each) {
    const MixingMatrix matrix = schedule.matrix(each.view(), each.epoch, each.round);
    std::set<Pair> dropped;
    for (const Pair& edge : edges_of(matrix)) {
      if (rng.below(3) == 0) {
        dropped.insert(edge);
      }
    }
    std::vector<MixingMatrix::Entry> left = matrix.entries();
    std::erase_if(left, [&](const MixingMatrix::Entry& entry) {
      return dropped.contains(
          {std::min(entry.row, entry.column), std::max(entry.row, entry.column)});
    });
    const MixingMatrix lossy(matrix.size(), left);
    EXPECT_TRUE(lossy.is_column_stochastic());
    EXPECT_TRUE(lossy.is_doubly_stochastic() || !schedule.traits().is_symmetric);
  });
}

TEST(Schedule, NeverLetsPeersDriftApart) {
  for_all(0, [](const Schedule& schedule, const Case& each) {
    Columns values = normal_columns(each.size, 2, each.size);
    const double before = spread(values);
    mix(schedule.matrix(each.view(), each.epoch, each.round), values);
    EXPECT_LE(spread(values), before * (1 + 1e-12));
  });
}

// In-order round robin and the like mix diffusively and take 2500 rounds at n = 100.
TEST(Schedule, OfOnePartnerARoundReachesAThousandthInTimeLogarithmicInN) {
  for (const char* kind : {"trie-pairs", "random-matching", "round-robin", "one-peer-exponential",
                           "one-peer-hypercube", "equidyn-od", "equidyn-ou", "ceca"}) {
    for (const std::uint32_t size : {8U, 25U, 64U, 100U, 127U, 500U}) {
      SCOPED_TRACE(std::string(kind) + ", n " + std::to_string(size));
      const auto schedule = make_schedule({.kind = kind, .seed = 5});
      const MembershipView view(random_peers(size, size));
      Columns values = normal_columns(size, 16, 1);
      const double start = spread(values);
      for (std::uint64_t round = 0; round < 3 * ceil_log2(size) + 15; ++round) {
        mix(schedule->matrix(view, 0, round), values);
      }
      EXPECT_LE(std::sqrt(spread(values) / start), 1e-3);
    }
  }
}

TEST(Ring, OfEightHasWeightsOfOneThird) {
  const auto schedule = make_schedule({.kind = "ring", .seed = 1});
  const MixingMatrix matrix = schedule->matrix(view_of({1, 2, 3, 4, 5, 6, 7, 8}), 0, 0);
  EXPECT_EQ(matrix.entries().size(), 16U);
  for (const auto& entry : matrix.entries()) {
    EXPECT_EQ(entry.weight, (Weight{1, 3}));
  }
  EXPECT_NEAR(matrix.spectral_gap(), 0.195262, 1e-6);
}

TEST(Ring, OfTwoIsOneEdgeAndOfOneIsNone) {
  const auto schedule = make_schedule({.kind = "ring", .seed = 1});
  const MixingMatrix two = schedule->matrix(view_of({1, 2}), 0, 0);
  ASSERT_EQ(two.entries().size(), 2U);
  EXPECT_EQ(two.entries()[0].weight, (Weight{1, 2}));
  EXPECT_TRUE(schedule->matrix(view_of({1}), 0, 0).entries().empty());
}

TEST(Complete, AveragesInOneRound) {
  const auto schedule = make_schedule({.kind = "complete", .seed = 1});
  for (const std::size_t size : {2U, 3U, 8U, 31U}) {
    const MixingMatrix matrix = schedule->matrix(MembershipView(random_peers(size, 1)), 0, 0);
    EXPECT_EQ(matrix.entries().size(), size * (size - 1));
    EXPECT_NEAR(matrix.spectral_gap(), 1.0, 1e-9);
  }
}

TEST(Exponential, JoinsRanksAPowerOfTwoApart) {
  const auto schedule = make_schedule({.kind = "exponential", .seed = 1});
  const MembershipView view(random_peers(8, 1));
  std::vector<std::uint32_t> peers;
  for (const Exchange& exchange : schedule->plan(view, 0, 0, 0).partners) {
    peers.push_back(exchange.peer);
    EXPECT_EQ(exchange.in, (Weight{1, 6}));
    EXPECT_EQ(exchange.out, (Weight{1, 6}));
  }
  EXPECT_EQ(peers, (std::vector<std::uint32_t>{1, 2, 4, 6, 7}));  // 4 = -4 is there once
}

}  // namespace
}  // namespace hobnob
