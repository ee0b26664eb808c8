#include "topology/graph_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/hash.h"
#include "tests/support/graph_samples.h"

namespace hobnob {
namespace {

using Ranks = std::vector<std::uint32_t>;
using IdPair = std::pair<PeerId, PeerId>;

const std::vector<std::size_t> kSizes{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                      16, 17, 19, 24, 25, 31, 32, 33, 37, 49, 53, 64, 97, 127};

Ranks ranks_of(const Graph& graph, std::uint32_t rank) {
  const auto neighbours = graph.neighbours(rank);
  return {neighbours.begin(), neighbours.end()};
}

Graph graph_of(const std::string& kind, std::size_t size) {
  return make_graph({.kind = kind}, MembershipView::numbered(size));
}

std::set<IdPair> id_edges(const GraphConfig& config, const MembershipView& view) {
  std::set<IdPair> edges;
  for (const Graph::Edge& edge : make_graph(config, view).edges()) {
    edges.insert({view.at(edge.a), view.at(edge.b)});
  }
  return edges;
}

std::size_t count_changes(const std::set<IdPair>& one, const std::set<IdPair>& other) {
  std::vector<IdPair> changed;
  std::ranges::set_symmetric_difference(one, other, std::back_inserter(changed));
  return changed.size();
}

double mean_degree(const Graph& graph) {
  return 2.0 * static_cast<double>(graph.edge_count()) / static_cast<double>(graph.size());
}

TEST(GraphKinds, AreConnectedForEverySize) {
  for (const std::string& kind : graph_kinds()) {
    for (const std::size_t size : kSizes) {
      SCOPED_TRACE(kind + " n " + std::to_string(size));
      const Graph graph = make_graph({.kind = kind}, MembershipView(unordered_peers(size, size)));
      EXPECT_EQ(graph.size(), size);
      EXPECT_TRUE(graph.is_connected());
      EXPECT_EQ(graph.is_directed(), kind == "directed-exponential");
    }
  }
}

TEST(GraphKinds, NeighboursOfOneRankAreThoseInTheWholeGraph) {
  for (const std::string& kind : graph_kinds()) {
    for (const std::size_t size : kSizes) {
      for (const std::uint32_t degree : {2U, 8U}) {
        SCOPED_TRACE(kind + " n " + std::to_string(size) + " degree " + std::to_string(degree));
        const MembershipView view(unordered_peers(size, size));
        const GraphConfig config{.kind = kind, .degree = degree, .seed = size};
        const Graph graph = make_graph(config, view);
        const Graph reversed = graph.reversed();
        // Every rank of the small ones, some ranks of the others.
        for (std::uint32_t rank = 0; rank < size; rank += size < 20 ? 1 : 7) {
          EXPECT_EQ(neighbours_of(config, view, rank), ranks_of(graph, rank));
          EXPECT_EQ(sources_of(config, view, rank), ranks_of(reversed, rank));
        }
      }
    }
  }
}

TEST(GraphKinds, DependOnTheSetOfIdsAndTheSeedOnly) {
  std::vector<PeerId> peers = unordered_peers(41, 5);
  const MembershipView view(peers);
  std::ranges::reverse(peers);
  const MembershipView same(peers);
  for (const std::string& kind : graph_kinds()) {
    SCOPED_TRACE(kind);
    const Graph graph = make_graph({.kind = kind, .seed = 7}, view);
    EXPECT_EQ(make_graph({.kind = kind, .seed = 7}, same), graph);
    const bool is_drawn = kind == "erdos-renyi" || kind == "expander" || kind == "small-world";
    EXPECT_EQ(make_graph({.kind = kind, .seed = 8}, view) != graph, is_drawn);
    EXPECT_EQ(make_graph({.kind = kind, .seed = 7}, MembershipView::numbered(41)) != graph,
              is_drawn);
  }
}

TEST(GraphKinds, AreDrawnFromIdsWhoseKeysCollideToo) {
  std::vector<PeerId> peers{{.high = 0, .low = 42}};
  for (std::uint64_t high = 1; high <= 30; ++high) {
    peers.push_back({.high = high, .low = 42 ^ mix64(high)});
  }
  const MembershipView view(peers);
  ASSERT_EQ(view.at(3).key(), view.at(11).key());
  for (const char* kind : {"erdos-renyi", "expander", "small-world"}) {
    SCOPED_TRACE(kind);
    const Graph graph = make_graph({.kind = kind}, view);
    EXPECT_TRUE(graph.is_connected());
    for (std::uint32_t rank = 0; rank < 31; ++rank) {
      EXPECT_EQ(neighbours_of({.kind = kind}, view, rank), ranks_of(graph, rank));
    }
  }
}

TEST(GraphKinds, ByPositionHaveTheNeighboursOfTheirDefinition) {
  EXPECT_EQ(ranks_of(graph_of("ring", 5), 0), (Ranks{1, 4}));
  EXPECT_EQ(ranks_of(graph_of("ring", 2), 0), (Ranks{1}));
  EXPECT_EQ(ranks_of(graph_of("torus", 12), 5), (Ranks{1, 4, 6, 9}));  // 3 x 4, row 1, column 1
  EXPECT_EQ(ranks_of(graph_of("torus", 12), 0), (Ranks{1, 3, 4, 8}));
  EXPECT_EQ(ranks_of(graph_of("torus", 8), 0), (Ranks{1, 3, 4}));  // 2 x 4
  EXPECT_EQ(graph_of("torus", 13), graph_of("ring", 13));
  EXPECT_EQ(ranks_of(graph_of("chordal-ring", 8), 0), (Ranks{1, 3, 5, 7}));    // round(2.83) = 3
  EXPECT_EQ(ranks_of(graph_of("chordal-ring", 12), 0), (Ranks{1, 3, 9, 11}));  // round(3.46) = 3
  EXPECT_EQ(ranks_of(graph_of("hypercube", 6), 5), (Ranks{1, 4}));             // 7 is not there
  EXPECT_EQ(ranks_of(graph_of("exponential", 8), 0), (Ranks{1, 2, 4, 6, 7}));
  EXPECT_EQ(ranks_of(graph_of("directed-exponential", 6), 4), (Ranks{0, 2, 5}));
  EXPECT_EQ(sources_of({.kind = "directed-exponential"}, MembershipView::numbered(6), 4),
            (Ranks{0, 2, 3}));
  EXPECT_EQ(ranks_of(graph_of("star", 4), 0), (Ranks{1, 2, 3}));
  EXPECT_EQ(ranks_of(graph_of("star", 4), 2), (Ranks{0}));
  EXPECT_EQ(graph_of("complete", 31).edge_count(), 31U * 30 / 2);
}

TEST(GraphKinds, KeepToTheirDegree) {
  for (const std::size_t size : kSizes) {
    SCOPED_TRACE(size);
    const auto levels = static_cast<std::size_t>(size < 2 ? 0 : std::bit_width(size - 1));
    EXPECT_LE(graph_of("ring", size).max_degree(), 2U);
    EXPECT_LE(graph_of("torus", size).max_degree(), 4U);
    EXPECT_LE(graph_of("chordal-ring", size).max_degree(), 4U);
    EXPECT_LE(graph_of("hypercube", size).max_degree(), levels);
    EXPECT_LE(graph_of("exponential", size).max_degree(), 2 * levels);
    EXPECT_EQ(graph_of("directed-exponential", size).max_degree(), levels);
    for (const std::uint32_t degree : {2U, 4U, 8U, 64U}) {
      EXPECT_LE(make_graph({.degree = degree}, MembershipView::numbered(size)).max_degree(),
                degree);
    }
  }
}

TEST(ExpanderGraph, IsTheUnionOfCyclesInOrderOfHash) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t size = 9 + 7 * seed;
    const MembershipView view(unordered_peers(size, seed));
    std::vector<Graph::Edge> edges;
    for (std::uint64_t cycle = 0; cycle < 3; ++cycle) {
      std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        order.push_back({hash3(seed, cycle, view.at(rank).key()), rank});
      }
      std::ranges::sort(order);
      for (std::size_t k = 0; k < size; ++k) {
        edges.push_back({.a = order[k].second, .b = order[(k + 1) % size].second});
      }
    }
    EXPECT_EQ(make_graph({.degree = 6, .seed = seed}, view), Graph::undirected(size, edges));
  }
}

TEST(ExpanderGraph, MatchesGoldenVectors) {
  const Graph graph = make_graph({.degree = 4, .seed = 3}, MembershipView::numbered(10));
  const std::vector<Ranks> expected{{2, 3, 5, 8}, {3, 4, 7, 8}, {0, 4, 6, 9}, {0, 1, 4, 8},
                                    {1, 2, 3, 7}, {0, 6, 7, 9}, {2, 5, 8, 9}, {1, 4, 5, 9},
                                    {0, 1, 3, 6}, {2, 5, 6, 7}};
  for (std::uint32_t rank = 0; rank < 10; ++rank) {
    EXPECT_EQ(ranks_of(graph, rank), expected[rank]) << rank;
  }
}

TEST(ExpanderGraph, IsCompleteUpToDegreePlusOne) {
  for (std::size_t size = 0; size <= 9; ++size) {
    EXPECT_EQ(make_graph({.degree = 8}, MembershipView::numbered(size)),
              graph_of("complete", size));
  }
  EXPECT_LT(make_graph({.degree = 8}, MembershipView::numbered(10)).edge_count(), 45U);
}

TEST(ExpanderGraph, ChangesByThreeEdgesPerCycleWhenAPeerJoins) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<PeerId> peers = unordered_peers(30 + 5 * seed, seed);
    const MembershipView with(peers);
    const MembershipView without(std::vector<PeerId>(peers.begin(), peers.end() - 1));
    const GraphConfig config{.degree = 8, .seed = seed};
    EXPECT_LE(count_changes(id_edges(config, with), id_edges(config, without)), 12U);
  }
}

TEST(ExpanderGraph, IsMutualInALargeSwarm) {
  const MembershipView view(unordered_peers(20'000, 8));
  for (const std::uint32_t self : {0U, 7777U, 19'999U}) {
    const Ranks neighbours = neighbours_of({}, view, self);
    EXPECT_EQ(neighbours.size(), 8U);
    for (const std::uint32_t peer : neighbours) {
      EXPECT_TRUE(std::ranges::binary_search(neighbours_of({}, view, peer), self));
    }
  }
}

TEST(ErdosRenyiGraph, HasTwoLogNNeighboursOnAverage) {
  for (const std::size_t size : {100U, 317U, 1000U}) {
    SCOPED_TRACE(size);
    const auto n = static_cast<double>(size);
    const double p = 2.0 * std::log(n) / n;
    const double expected = n * (n - 1.0) / 2.0 * p;
    const Graph graph = graph_of("erdos-renyi", size);
    EXPECT_NEAR(static_cast<double>(graph.edge_count()), expected,
                4.0 * std::sqrt(expected * (1.0 - p)));
  }
}

TEST(ErdosRenyiGraph, IsConnectedWhateverIsDrawn) {
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    for (const std::size_t size : {2U, 3U, 4U, 5U, 40U}) {
      EXPECT_TRUE(make_graph({.kind = "erdos-renyi", .seed = seed}, MembershipView::numbered(size))
                      .is_connected());
    }
  }
}

TEST(ErdosRenyiGraph, MostlySurvivesAJoin) {
  const std::vector<PeerId> peers = unordered_peers(201, 4);
  const MembershipView with(peers);
  const MembershipView without(std::vector<PeerId>(peers.begin(), peers.end() - 1));
  const auto before = id_edges({.kind = "erdos-renyi"}, without);
  // The newcomer's own edges, 11 on average, and those that the smaller p takes away.
  EXPECT_LE(count_changes(before, id_edges({.kind = "erdos-renyi"}, with)), 40U);
  EXPECT_GT(before.size(), 900U);
}

TEST(SmallWorldGraph, IsTheRingAndLinksThatMostlyStayLocal) {
  const std::uint32_t size = 2000;
  const Graph graph = graph_of("small-world", size);
  std::size_t second = 0;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto neighbours = graph.neighbours(rank);
    EXPECT_TRUE(std::ranges::binary_search(neighbours, (rank + 1) % size));
    second += std::ranges::binary_search(neighbours, (rank + 2) % size) ? 1U : 0U;
  }
  EXPECT_NEAR(static_cast<double>(second) / size, 0.8, 0.04);
  EXPECT_NEAR(mean_degree(graph), 4.4, 0.06);
}

TEST(GraphConfig, RefusesWhatItDoesNotKnowAndNamesTheNearest) {
  const Result<void> kind = validate(GraphConfig{.kind = "expandr"});
  ASSERT_FALSE(kind.ok());
  EXPECT_EQ(kind.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(kind.error().message.find("did you mean expander?"), std::string::npos);
  EXPECT_NE(kind.error().message.find("ring, torus, chordal-ring"), std::string::npos);
  for (const std::uint32_t degree : {0U, 1U, 7U, 66U}) {
    const Result<void> result = validate(GraphConfig{.degree = degree});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find(std::to_string(degree)), std::string::npos);
  }
  for (const std::string& known : graph_kinds()) {
    EXPECT_TRUE(validate(GraphConfig{.kind = known}, 1000).ok()) << known;
  }
}

TEST(GraphConfig, RefusesWholeGraphsThatWouldNotFit) {
  EXPECT_TRUE(validate(GraphConfig{.kind = "complete"}, 2828).ok());
  EXPECT_FALSE(validate(GraphConfig{.kind = "complete"}, 2830).ok());
  EXPECT_TRUE(validate(GraphConfig{.kind = "ring"}, kMaxGraphNodes).ok());
  EXPECT_FALSE(validate(GraphConfig{.kind = "ring"}, kMaxGraphNodes + 1).ok());
  EXPECT_FALSE(validate(GraphConfig{.kind = "ring"}, std::size_t{1} << 40U).ok());
}

}  // namespace
}  // namespace hobnob
