#include "topology/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/rng.h"
#include "tests/support/graph_samples.h"

namespace hobnob {
namespace {

using Edges = std::vector<Graph::Edge>;

Edges random_edges(std::size_t size, std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 3});
  Edges edges;
  for (std::size_t k = 0; k < count; ++k) {
    const auto a = static_cast<std::uint32_t>(rng.below(size));
    edges.push_back({.a = a, .b = static_cast<std::uint32_t>(rng.below(size))});
  }
  return edges;
}

// reach[i] holds every rank that a path from i leads to, by relaxing until nothing changes.
std::vector<std::set<std::uint32_t>> closure(const Graph& graph) {
  std::vector<std::set<std::uint32_t>> reach(graph.size());
  for (std::uint32_t rank = 0; rank < graph.size(); ++rank) {
    reach[rank].insert(rank);
  }
  for (std::size_t step = 0; step < graph.size(); ++step) {
    for (std::uint32_t rank = 0; rank < graph.size(); ++rank) {
      for (const std::uint32_t next : graph.neighbours(rank)) {
        reach[rank].insert(reach[next].begin(), reach[next].end());
      }
    }
  }
  return reach;
}

TEST(Graph, OfNoRanksAndOfOneIsConnected) {
  EXPECT_EQ(Graph(), Graph::undirected(0, {}));
  EXPECT_TRUE(Graph().is_connected());
  EXPECT_EQ(Graph().max_degree(), 0U);
  const Graph one = Graph::undirected(1, {});
  EXPECT_TRUE(one.is_connected());
  EXPECT_EQ(one.edge_count(), 0U);
  EXPECT_TRUE(one.neighbours(0).empty());
  EXPECT_TRUE(Graph::directed(1, {}).is_connected());
  EXPECT_FALSE(Graph::undirected(2, {}).is_connected());
}

TEST(Graph, HoldsTheSetOfItsEdges) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t size = 1 + seed % 13;
    const Edges given = random_edges(size, seed, seed);
    std::set<std::pair<std::uint32_t, std::uint32_t>> expected;
    for (const Graph::Edge& edge : given) {
      if (edge.a != edge.b) {
        expected.insert(std::minmax(edge.a, edge.b));
      }
    }
    const Graph graph = Graph::undirected(size, given);
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    std::size_t ends = 0;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(std::ranges::is_sorted(graph.neighbours(rank)));
      ends += graph.degree(rank);
      for (const std::uint32_t peer : graph.neighbours(rank)) {
        found.insert(std::minmax(rank, peer));
      }
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(graph.edge_count(), expected.size());
    EXPECT_EQ(ends, 2 * expected.size());
    const Edges edges = graph.edges();
    EXPECT_TRUE(std::ranges::equal(edges, expected, [](const auto& edge, const auto& pair) {
      return edge.a == pair.first && edge.b == pair.second;
    }));
    EXPECT_EQ(Graph::undirected(size, edges), graph);
    EXPECT_TRUE(graph.is_symmetric());
  }
}

TEST(Graph, DirectedKeepsTheDirection) {
  const Graph graph = Graph::directed(3, {{0, 1}, {1, 2}, {0, 1}, {2, 2}});
  EXPECT_EQ(graph.edges(), (Edges{{0, 1}, {1, 2}}));
  EXPECT_EQ(graph.edge_count(), 2U);
  EXPECT_EQ(graph.degree(0), 1U);
  EXPECT_TRUE(graph.neighbours(2).empty());
  EXPECT_EQ(graph.reversed().edges(), (Edges{{1, 0}, {2, 1}}));
  EXPECT_EQ(graph.reversed().reversed(), graph);
  EXPECT_FALSE(graph.is_symmetric());
  EXPECT_TRUE(Graph::directed(3, {{0, 1}, {1, 0}, {1, 2}, {2, 1}}).is_symmetric());
  EXPECT_FALSE(Graph::directed(3, {{0, 1}, {1, 2}, {2, 0}}).is_symmetric());
}

TEST(Graph, IsConnectedWhenEveryRankReachesEveryOther) {
  int connected = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t size = 2 + seed % 7;
    const Edges edges = random_edges(size, size + seed % 9, seed);
    for (const Graph& graph : {Graph::undirected(size, edges), Graph::directed(size, edges)}) {
      const auto reach = closure(graph);
      const bool expected =
          std::ranges::all_of(reach, [&](const auto& ranks) { return ranks.size() == size; });
      EXPECT_EQ(graph.is_connected(), expected);
      connected += expected ? 1 : 0;
      std::optional<std::uint32_t> missing;
      for (auto rank = static_cast<std::uint32_t>(size); rank-- > 0;) {
        missing = reach[0].contains(rank) ? missing : rank;
      }
      EXPECT_EQ(graph.unreached(), missing);
    }
  }
  EXPECT_GT(connected, 40);
  EXPECT_LT(connected, 200);
}

TEST(Graph, OfAHundredThousandRanksIsWalkedWithoutRecursion) {
  const Graph path = path_graph(100'000);
  EXPECT_TRUE(path.is_connected());
  EXPECT_EQ(path.max_degree(), 2U);
  EXPECT_EQ(path.edge_count(), 99'999U);
}

}  // namespace
}  // namespace hobnob
