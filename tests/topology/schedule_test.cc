#include "topology/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/hash.h"
#include "runtime/base/rng.h"

namespace hobnob {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;
using IdPair = std::pair<PeerId, PeerId>;

const std::vector<std::string> kKinds{"ring", "complete", "exponential", "trie-pairs"};
const std::vector<std::size_t> kSizes{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13, 16, 17,
                                      19, 23, 25, 29, 31, 32, 33, 37, 41, 43, 47, 53, 59, 61};

PeerId small_id(std::uint64_t low) {
  return {.high = 0, .low = low};
}

MembershipView view_of(const std::vector<std::uint64_t>& ids) {
  std::vector<PeerId> peers;
  for (const std::uint64_t id : ids) {
    peers.push_back(small_id(id));
  }
  return MembershipView(std::move(peers));
}

// Ids as a job has them: 128 bits without a pattern.
std::vector<PeerId> random_peers(std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 1});
  std::vector<PeerId> peers;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t high = rng.next_u64();
    peers.push_back({.high = high, .low = rng.next_u64()});
  }
  return peers;
}

std::set<IdPair> pairs_of(const Schedule& schedule,
                          const MembershipView& view,
                          std::uint64_t round) {
  std::set<IdPair> pairs;
  const MixingMatrix matrix = schedule.matrix(view, 0, round);
  for (const auto& edge : matrix.edges()) {
    pairs.insert({view.at(edge.a), view.at(edge.b)});
  }
  return pairs;
}

std::set<Pair> golden_pairs(const std::vector<std::uint64_t>& ids, std::uint64_t round) {
  std::set<Pair> pairs;
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 3});
  for (const auto& [a, b] : pairs_of(*schedule, view_of(ids), round)) {
    pairs.insert({static_cast<std::uint32_t>(a.low), static_cast<std::uint32_t>(b.low)});
  }
  return pairs;
}

// The definition, word for word: what schedule.plan() computes without building the trie.
struct ReferenceTrie {
  std::vector<std::uint64_t> hashes;  // by rank
  std::set<Pair> pairs;

  void join(std::uint32_t a, std::uint32_t b) { pairs.insert({std::min(a, b), std::max(a, b)}); }

  std::optional<std::uint32_t> build(const std::vector<std::uint32_t>& ranks, int bit) {
    if (ranks.empty()) {
      return std::nullopt;
    }
    if (ranks.size() == 1) {
      return ranks[0];
    }
    if (bit < 0) {
      for (std::size_t k = 0; k + 1 < ranks.size(); k += 2) {
        join(ranks[k], ranks[k + 1]);
      }
      return ranks.size() % 2 == 1 ? std::optional(ranks.back()) : std::nullopt;
    }
    std::vector<std::uint32_t> children[2];
    for (const std::uint32_t rank : ranks) {
      children[hashes[rank] >> bit & 1U].push_back(rank);
    }
    const auto left = build(children[0], bit - 1);
    const auto right = build(children[1], bit - 1);
    if (left && right) {
      join(*left, *right);
      return std::nullopt;
    }
    return left ? left : right;
  }
};

std::set<Pair> edges_of(const MixingMatrix& matrix) {
  std::set<Pair> edges;
  for (const auto& edge : matrix.edges()) {
    edges.insert({edge.a, edge.b});
  }
  return edges;
}

TEST(Schedule, NamesTheKnownKindsAndTheNearestWhenTheKindIsUnknown) {
  const Result<void> result = validate({.kind = "rng", .seed = 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  const std::string& text = result.error().message;
  EXPECT_NE(text.find("gossip.topology.kind"), std::string::npos) << text;
  EXPECT_NE(text.find("ring, complete, exponential, trie-pairs"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean ring?"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  for (const std::string& kind : kKinds) {
    EXPECT_TRUE(validate({.kind = kind, .seed = 1}).ok()) << kind;
  }
}

TEST(Schedule, EdgeIsInBothPlansAndNeverToSelf) {
  for (const std::string& kind : kKinds) {
    const auto schedule = make_schedule({.kind = kind, .seed = 7});
    for (const std::size_t size : kSizes) {
      const MembershipView view(random_peers(size, size));
      for (std::uint64_t round = 0; round < 3; ++round) {
        std::set<Pair> directed;
        for (std::uint32_t self = 0; self < size; ++self) {
          const RoundPlan plan = schedule->plan(view, self, 2, round);
          EXPECT_TRUE(std::ranges::is_sorted(plan.partners, {}, &Exchange::peer));
          for (const Exchange& exchange : plan.partners) {
            EXPECT_NE(exchange.peer, self);
            EXPECT_TRUE(directed.insert({self, exchange.peer}).second) << "listed twice";
          }
        }
        for (const auto& [from, to] : directed) {
          EXPECT_TRUE(directed.contains({to, from})) << kind << " n " << size;
        }
      }
    }
  }
}

TEST(Schedule, MatrixIsDoublyStochasticForEverySize) {
  for (const std::string& kind : kKinds) {
    const auto schedule = make_schedule({.kind = kind, .seed = 7});
    for (const std::size_t size : kSizes) {
      const MembershipView view(random_peers(size, size));
      const MixingMatrix matrix = schedule->matrix(view, 1, 5);
      EXPECT_EQ(matrix.size(), size);
      EXPECT_TRUE(matrix.is_doubly_stochastic()) << kind << " n " << size;
      EXPECT_EQ(matrix.edges().empty(), size < 2) << kind << " n " << size;
    }
  }
}

TEST(Schedule, DependsOnItsArgumentsOnly) {
  std::vector<PeerId> peers = random_peers(23, 5);
  const MembershipView view(peers);
  std::ranges::reverse(peers);
  const MembershipView same(peers);
  for (const std::string& kind : kKinds) {
    const auto schedule = make_schedule({.kind = kind, .seed = 7});
    const auto twin = make_schedule({.kind = kind, .seed = 7});
    for (std::uint32_t self = 0; self < view.size(); ++self) {
      const RoundPlan first = schedule->plan(view, self, 3, 9);
      (void)schedule->plan(view, self, 4, 10);
      EXPECT_EQ(schedule->plan(view, self, 3, 9), first);
      EXPECT_EQ(twin->plan(same, self, 3, 9), first);
    }
  }
}

TEST(Ring, OfEightHasWeightsOfOneThird) {
  const auto schedule = make_schedule({.kind = "ring", .seed = 1});
  const MixingMatrix matrix = schedule->matrix(view_of({1, 2, 3, 4, 5, 6, 7, 8}), 0, 0);
  EXPECT_EQ(matrix.edges().size(), 8U);
  for (const auto& edge : matrix.edges()) {
    EXPECT_EQ(edge.weight, (Weight{1, 3}));
  }
  EXPECT_NEAR(matrix.spectral_gap(), 0.195262, 1e-6);
}

TEST(Ring, OfTwoIsOneEdgeAndOfOneIsNone) {
  const auto schedule = make_schedule({.kind = "ring", .seed = 1});
  const MixingMatrix two = schedule->matrix(view_of({1, 2}), 0, 0);
  ASSERT_EQ(two.edges().size(), 1U);
  EXPECT_EQ(two.edges()[0].weight, (Weight{1, 2}));
  EXPECT_TRUE(schedule->matrix(view_of({1}), 0, 0).edges().empty());
}

TEST(Complete, AveragesInOneRound) {
  const auto schedule = make_schedule({.kind = "complete", .seed = 1});
  for (const std::size_t size : {2U, 3U, 8U, 31U}) {
    const MixingMatrix matrix = schedule->matrix(MembershipView(random_peers(size, 1)), 0, 0);
    EXPECT_EQ(matrix.edges().size(), size * (size - 1) / 2);
    EXPECT_NEAR(matrix.spectral_gap(), 1.0, 1e-9);
  }
}

TEST(Exponential, JoinsRanksAPowerOfTwoApart) {
  const auto schedule = make_schedule({.kind = "exponential", .seed = 1});
  const MembershipView view(random_peers(8, 1));
  std::vector<std::uint32_t> peers;
  for (const Exchange& exchange : schedule->plan(view, 0, 0, 0).partners) {
    peers.push_back(exchange.peer);
    EXPECT_EQ(exchange.weight, (Weight{1, 6}));
  }
  EXPECT_EQ(peers, (std::vector<std::uint32_t>{1, 2, 4, 6, 7}));  // 4 = -4 is there once
}

TEST(TriePairs, MatchesGoldenVectors) {
  const std::vector<std::uint64_t> eight{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint64_t> seven{1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(golden_pairs(eight, 0), (std::set<Pair>{{1, 3}, {2, 4}, {5, 8}, {6, 7}}));
  EXPECT_EQ(golden_pairs(eight, 1), (std::set<Pair>{{1, 6}, {2, 8}, {3, 7}, {4, 5}}));
  EXPECT_EQ(golden_pairs(seven, 0), (std::set<Pair>{{1, 3}, {2, 4}, {6, 7}}));
  EXPECT_EQ(golden_pairs(seven, 1), (std::set<Pair>{{2, 6}, {3, 7}, {4, 5}}));
  EXPECT_EQ(golden_pairs({1, 2, 3, 5, 6, 7, 8}, 0), (std::set<Pair>{{1, 3}, {5, 8}, {6, 7}}));
}

TEST(TriePairs, AreThePairsOfTheTrie) {
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 11});
  for (std::size_t size = 0; size <= 130; ++size) {
    const MembershipView view(random_peers(size, size));
    ReferenceTrie trie;
    std::vector<std::uint32_t> ranks;
    for (const PeerId& peer : view.peers()) {
      trie.hashes.push_back(hash3(11, size, peer.key()));
      ranks.push_back(static_cast<std::uint32_t>(ranks.size()));
    }
    trie.build(ranks, 63);
    EXPECT_EQ(edges_of(schedule->matrix(view, 0, size)), trie.pairs) << "n " << size;
  }
}

TEST(TriePairs, PairEqualHashesInOrderOfId) {
  // These ids differ and their 64-bit keys do not.
  std::vector<PeerId> peers{small_id(42)};
  for (std::uint64_t high = 1; high <= 4; ++high) {
    peers.push_back({.high = high, .low = 42 ^ mix64(high)});
  }
  const MembershipView view(peers);
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 3});
  EXPECT_EQ(edges_of(schedule->matrix(view, 0, 0)), (std::set<Pair>{{0, 1}, {2, 3}}));
  peers.push_back(small_id(7));  // the one left of the equals climbs to it
  EXPECT_EQ(edges_of(schedule->matrix(MembershipView(peers), 0, 0)).size(), 3U);
}

TEST(TriePairs, LeaveAtMostOnePeerIdle) {
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 3});
  for (std::size_t size = 0; size < 70; ++size) {
    const MembershipView view(random_peers(size, 9));
    EXPECT_EQ(schedule->matrix(view, 0, size).edges().size(), size / 2);
  }
}

TEST(TriePairs, ChangeWithRoundEpochAndSeed) {
  const MembershipView view(random_peers(64, 1));
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 3});
  const auto other = make_schedule({.kind = "trie-pairs", .seed = 4});
  const auto base = edges_of(schedule->matrix(view, 1, 1));
  EXPECT_NE(edges_of(schedule->matrix(view, 1, 2)), base);
  EXPECT_NE(edges_of(schedule->matrix(view, 2, 1)), base);
  EXPECT_NE(edges_of(other->matrix(view, 1, 1)), base);
}

TEST(TriePairs, MostlySurviveAJoin) {
  constexpr std::size_t kPeers = 250;
  constexpr std::size_t kLevels = 8;  // ceil(log2 kPeers)
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 3});
  const std::vector<PeerId> peers = random_peers(kPeers + 1, 21);
  const MembershipView with(peers);
  const MembershipView without(std::vector<PeerId>(peers.begin(), peers.end() - 1));
  std::size_t total = 0;
  constexpr std::size_t kRounds = 20;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const auto before = pairs_of(*schedule, without, round);
    const auto after = pairs_of(*schedule, with, round);
    std::vector<IdPair> changed;
    std::ranges::set_symmetric_difference(before, after, std::back_inserter(changed));
    EXPECT_LE(changed.size(), 2 * kLevels + 2);
    total += changed.size();
  }
  EXPECT_LE(total, 8 * kRounds);  // 4.1 on average at n = 100, 5.3 at n = 1000
}

// Half of the peers have not heard of one join yet. A pair happens when both ends ask for it.
TEST(TriePairs, AgreeOnNearlyAllEdgesWhenViewsDisagree) {
  const auto schedule = make_schedule({.kind = "trie-pairs", .seed = 3});
  const std::vector<PeerId> peers = random_peers(1000, 4);
  const MembershipView fresh(peers);
  const MembershipView stale(std::vector<PeerId>(peers.begin(), peers.end() - 1));
  Rng rng({.seed = 5, .stream = 5});
  std::size_t asked = 0;
  std::size_t agreed = 0;
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::set<IdPair> requests;
    for (std::size_t k = 0; k < peers.size(); ++k) {
      const bool is_fresh = k + 1 == peers.size() || rng.below(2) == 0;
      const MembershipView& view = is_fresh ? fresh : stale;
      const RoundPlan plan = schedule->plan(view, view.rank(peers[k]).value(), 0, round);
      for (const Exchange& exchange : plan.partners) {
        requests.insert({peers[k], view.at(exchange.peer)});
      }
    }
    asked += requests.size();
    for (const auto& [from, to] : requests) {
      agreed += requests.contains({to, from}) ? 1U : 0U;
    }
  }
  EXPECT_GE(static_cast<double>(agreed), 0.98 * static_cast<double>(asked));
}

}  // namespace
}  // namespace hobnob
