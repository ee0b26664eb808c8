#include "topology/fdla.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "runtime/base/rng.h"
#include "tests/support/graph_samples.h"
#include "topology/graph_kinds.h"
#include "topology/symmetric_eigen.h"
#include "topology/weights.h"

namespace hobnob {
namespace {

Graph graph_of(const std::string& kind, std::size_t size) {
  return make_graph({.kind = kind, .degree = 4}, MembershipView::numbered(size));
}

double metropolis_rho(const Graph& graph) {
  return dense_rho(graph, to_doubles(metropolis_hastings(graph)));
}

// That the certificate is feasible for the dual problem and has the bound as its value.
void expect_proved(const Graph& graph, const FdlaResult& result) {
  const std::size_t n = graph.size();
  const std::vector<double>& g = result.certificate;
  ASSERT_EQ(g.size(), n * n);
  for (const auto& [a, b] : graph.edges()) {
    EXPECT_NEAR(g[a * n + a] + g[b * n + b] - g[a * n + b] - g[b * n + a], 0.0, 1e-13);
  }
  double nuclear = 0.0;
  for (const double value : symmetric_eigenvalues(g, n)) {
    nuclear += std::abs(value);
  }
  EXPECT_LE(nuclear, 1.0 + 1e-12);
  double value = -std::accumulate(g.begin(), g.end(), 0.0) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    value += g[i * n + i];
  }
  EXPECT_NEAR(value, result.bound, 1e-12);
}

// What holds for every result.
void expect_sound(const Graph& graph, const FdlaResult& result) {
  ASSERT_EQ(result.weights.size(), graph.edge_count());
  EXPECT_NEAR(dense_rho(graph, result.weights), result.rho, 1e-12);
  expect_proved(graph, result);
  EXPECT_LE(result.bound, result.rho);
  EXPECT_LE(result.rho - result.bound, 0.005 * result.rho);
  EXPECT_LE(result.rho, metropolis_rho(graph) + 1e-12);
  EXPECT_LE(result.rho, dense_rho(graph, best_constant(graph).value()) + 1e-12);
}

struct TableRow {
  const char* name;
  Graph graph;
  double rho;
  double bound;
};

TEST(Fdla, ReproducesTheTable) {
  const TableRow rows[] = {
      {"path 8", path_graph(8), .9239, .9238},
      {"ring 25", graph_of("ring", 25), .9690, .9688},
      {"torus 5x5", graph_of("torus", 25), .6793, .6793},
      {"star 25", graph_of("star", 25), .9231, .9231},
      {"hypercube 25", graph_of("hypercube", 25), .7216, .7211},
      {"2 x K8", bridged_cliques(8), .9354, .9353},
  };
  for (const TableRow& row : rows) {
    SCOPED_TRACE(row.name);
    const FdlaResult result = fdla(row.graph).value();
    expect_sound(row.graph, result);
    EXPECT_NEAR(result.rho, row.rho, 1e-3);
    EXPECT_NEAR(result.bound, row.bound, 1e-3);
    EXPECT_GE(result.bound, row.bound - 0.5e-4);
  }
}

TEST(Fdla, FindsTheKnownOptimum) {
  EXPECT_NEAR(fdla(path_graph(8)).value().rho, std::cos(std::numbers::pi / 8.0), 1e-6);
  EXPECT_NEAR(fdla(graph_of("star", 25)).value().rho, 24.0 / 26.0, 1e-6);
  // Edge-transitive: one weight for all edges is the optimum.
  for (const char* kind : {"ring", "hypercube"}) {
    const Graph graph = graph_of(kind, 16);
    EXPECT_NEAR(fdla(graph).value().rho, dense_rho(graph, best_constant(graph).value()), 1e-9);
  }
}

TEST(Fdla, AveragesAtOnceWhereAllPairsAreEdges) {
  for (const std::size_t size : {2U, 3U, 12U}) {
    SCOPED_TRACE(size);
    const FdlaResult result = fdla(graph_of("complete", size)).value();
    EXPECT_NEAR(result.rho, 0.0, 1e-12);
    EXPECT_NEAR(result.weights.front(), 1.0 / static_cast<double>(size), 1e-12);
    EXPECT_LE(result.bound, result.rho);
  }
  for (const std::size_t size : {0U, 1U}) {
    const FdlaResult result = fdla(Graph::undirected(size, {})).value();
    EXPECT_TRUE(result.weights.empty());
    EXPECT_EQ(result.rho, 0.0);
    EXPECT_EQ(result.bound, 0.0);
    EXPECT_TRUE(result.certificate.empty());
  }
}

TEST(Fdla, IsCloseToItsBoundOnHashedGraphs) {
  for (const char* kind : {"expander", "erdos-renyi", "small-world"}) {
    SCOPED_TRACE(kind);
    const Graph graph = graph_of(kind, 25);
    const FdlaResult result = fdla(graph).value();
    expect_sound(graph, result);
    EXPECT_LT(result.rho, 0.98 * metropolis_rho(graph));
  }
}

TEST(Fdla, IsCloseToItsBoundOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_connected_graph(static_cast<std::uint32_t>(3 + seed), seed, seed);
    expect_sound(graph, fdla(graph).value());
  }
}

TEST(Fdla, BoundIsBelowTheRhoOfAllOtherWeights) {
  Rng rng({.seed = 9, .stream = 9});
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_connected_graph(9, 2 * seed, seed);
    const FdlaResult result = fdla(graph).value();
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<double> weights = result.weights;
      const double size = std::pow(10.0, -4.0 * rng.uniform());
      for (double& weight : weights) {
        weight += size * rng.normal();
      }
      EXPECT_GE(dense_rho(graph, weights), result.bound);
    }
  }
}

TEST(Fdla, RefusesGraphsItCannotServe) {
  const struct {
    Graph graph;
    const char* text;
  } cases[] = {
      {Graph::directed(3, {{0, 1}, {1, 2}, {2, 0}}), "directed"},
      {Graph::undirected(4, {{0, 1}, {2, 3}}), "node 2 cannot be reached"},
      {graph_of("ring", kMaxFdlaNodes + 1), "201 nodes"},
  };

  for (const auto& [graph, text] : cases) {
    const auto result = fdla(graph);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
  }
}

}  // namespace
}  // namespace hobnob
