#include "topology/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>

#include "runtime/base/rng.h"
#include "tests/support/graph_samples.h"
#include "topology/graph_kinds.h"
#include "topology/symmetric_eigen.h"

namespace hobnob {
namespace {

using Vector = std::vector<double>;

Graph graph_of(const std::string& kind, std::size_t size, std::uint32_t degree = 8) {
  return make_graph({.kind = kind, .degree = degree}, MembershipView::numbered(size));
}

double rho_of(const Graph& graph, const std::vector<Weight>& weights) {
  return dense_rho(graph, to_doubles(weights));
}

// w_ii = 1 - sum_j w_ij.
Vector diagonal(const Graph& graph, const Vector& weights) {
  Vector rest(graph.size(), 1.0);
  std::size_t k = 0;
  for (const Graph::Edge& edge : graph.edges()) {
    rest[edge.a] -= weights[k];
    rest[edge.b] -= weights[k];
    ++k;
  }
  return rest;
}

Vector random_positive(std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 5});
  Vector values;
  for (std::size_t k = 0; k < count; ++k) {
    values.push_back(std::exp(rng.normal()));
  }
  return values;
}

struct TableRow {
  const char* name;
  Graph graph;
  double max_degree;
  double metropolis_hastings;
  double lazy;
  double best_constant;
  double sinkhorn;
};

TEST(Weights, ReproduceTheTableOfRho) {
  const TableRow rows[] = {
      {"path 8", path_graph(8), .9493, .9493, .9746, .9239, .9492},
      {"ring 25", graph_of("ring", 25), .9791, .9791, .9895, .9689, .9791},
      {"torus 5x5", graph_of("torus", 25), .7236, .7236, .8618, .6793, .7236},
      {"star 25", graph_of("star", 25), .9600, .9600, .9800, .9231, .9584},
      {"hypercube 25", graph_of("hypercube", 25), .8175, .8174, .9087, .7846, .7992},
      {"2 x K8", bridged_cliques(8), .9773, .9773, .9887, .9592, .9788},
  };
  constexpr double kPrinted = 0.5e-4 + 1e-9;  // half of the last digit
  for (const TableRow& row : rows) {
    SCOPED_TRACE(row.name);
    const auto metropolis = metropolis_hastings(row.graph);
    EXPECT_NEAR(rho_of(row.graph, max_degree(row.graph)), row.max_degree, kPrinted);
    EXPECT_NEAR(rho_of(row.graph, metropolis), row.metropolis_hastings, kPrinted);
    EXPECT_NEAR(rho_of(row.graph, lazy(metropolis)), row.lazy, kPrinted);
    EXPECT_NEAR(dense_rho(row.graph, best_constant(row.graph).value()), row.best_constant,
                kPrinted);
    EXPECT_NEAR(dense_rho(row.graph, sinkhorn(row.graph).value()), row.sinkhorn, kPrinted);
  }
}

TEST(Weights, HaveTheRhoOfTheClosedForms) {
  for (const std::size_t n : {3U, 4U, 5U, 8U, 25U, 64U}) {
    SCOPED_TRACE(n);
    const auto size = static_cast<double>(n);
    const Graph ring = graph_of("ring", n);
    EXPECT_NEAR(rho_of(ring, metropolis_hastings(ring)),
                (1.0 + 2.0 * std::cos(2.0 * std::numbers::pi / size)) / 3.0, 1e-12);
    const Graph star = graph_of("star", n);
    EXPECT_NEAR(rho_of(star, metropolis_hastings(star)), 1.0 - 1.0 / size, 1e-12);
    const Graph complete = graph_of("complete", n);
    EXPECT_NEAR(rho_of(complete, metropolis_hastings(complete)), 0.0, 1e-12);
  }
  for (std::size_t levels = 1; levels <= 6; ++levels) {
    const Graph cube = graph_of("hypercube", std::size_t{1} << levels);
    EXPECT_NEAR(rho_of(cube, metropolis_hastings(cube)),
                1.0 - 2.0 / (static_cast<double>(levels) + 1.0), 1e-12);
  }
}

// |W - J|_2 of W = (I + shifts by 2^l) / (tau + 1), from the eigenvalues of (W - J)^T (W - J).
TEST(Weights, OfTheDirectedExponentialGraphHaveTheRhoOfTheClosedForm) {
  for (const std::size_t n : {6U, 8U, 10U, 24U, 64U}) {
    SCOPED_TRACE(n);
    const Graph graph = graph_of("directed-exponential", n);
    const double share = 1.0 / static_cast<double>(graph.max_degree() + 1);
    Vector w(n * n, -1.0 / static_cast<double>(n));
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      w[rank * n + rank] += share;
      for (const std::uint32_t target : graph.neighbours(rank)) {
        w[target * n + rank] += share;
      }
    }
    Vector square(n * n);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          square[i * n + j] += w[k * n + i] * w[k * n + j];
        }
      }
    }
    EXPECT_NEAR(std::sqrt(symmetric_eigenvalues(square, n).back()), 1.0 - 2.0 * share, 1e-12);
  }
}

TEST(Weights, OfExpandersHaveTheRhoOfRandomRegularGraphs) {
  for (const std::uint32_t degree : {4U, 8U, 16U}) {
    SCOPED_TRACE(degree);
    const Graph graph = graph_of("expander", 256, degree);
    const double expected = (1.0 + 2.0 * std::sqrt(degree - 1.0)) / (degree + 1.0);
    EXPECT_NEAR(rho_of(graph, metropolis_hastings(graph)) / expected, 1.0, 0.05);
  }
}

TEST(Weights, OfRationalRulesAreDoublyStochasticInIntegers) {
  constexpr std::uint64_t kCommon = 232792560;  // every denominator up to 20 divides it
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::uint32_t>(1 + seed % 19);
    const Graph graph = random_connected_graph(n, seed, seed);
    const auto metropolis = metropolis_hastings(graph);
    for (const auto& weights : {metropolis, max_degree(graph), lazy(metropolis)}) {
      std::vector<std::uint64_t> rows(n);
      std::size_t k = 0;
      ASSERT_EQ(weights.size(), graph.edge_count());
      for (const Graph::Edge& edge : graph.edges()) {
        const Weight& weight = weights[k++];
        ASSERT_GT(weight.numerator, 0U);
        ASSERT_EQ(2 * kCommon % weight.denominator, 0U);
        rows[edge.a] += 2 * kCommon / weight.denominator * weight.numerator;
        rows[edge.b] += 2 * kCommon / weight.denominator * weight.numerator;
      }
      for (const std::uint64_t row : rows) {
        EXPECT_LT(row, 2 * kCommon);  // something is left for w_ii
      }
    }
  }
}

TEST(Weights, OfMetropolisHastingsFollowTheLargerDegree) {
  // 0 - 1 - 2 - 3 and 1 - 3: degrees 1, 3, 2, 2.
  const Graph graph = Graph::undirected(4, {{0, 1}, {1, 2}, {2, 3}, {1, 3}});
  EXPECT_EQ(metropolis_hastings(graph), (std::vector<Weight>{{1, 4}, {1, 4}, {1, 4}, {1, 3}}));
  EXPECT_EQ(max_degree(graph), std::vector<Weight>(4, {1, 4}));
  EXPECT_EQ(lazy({{1, 4}, {2, 3}}), (std::vector<Weight>{{1, 8}, {1, 3}}));
}

TEST(Weights, OfTheLazyRuleHaveNoNegativeEigenvalue) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_connected_graph(12, seed, seed);
    const Vector weights = to_doubles(lazy(metropolis_hastings(graph)));
    EXPECT_GT(symmetric_eigenvalues(deviation(graph, weights), 12).front(), -1e-12);
  }
  // Two ranks that swap their values for ever, and average when lazy.
  const Graph pair = path_graph(2);
  EXPECT_NEAR(dense_rho(pair, Vector{1.0}), 1.0, 1e-12);
  EXPECT_NEAR(rho_of(pair, lazy({{1, 1}})), 0.0, 1e-12);
}

TEST(Weights, OfTheBestConstantBeatEveryOtherConstant) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_connected_graph(14, seed, seed);
    const double best = best_constant(graph).value().front();
    const double rho = dense_rho(graph, Vector(graph.edge_count(), best));
    for (const double factor : {0.5, 0.99, 1.01, 1.5}) {
      EXPECT_GT(dense_rho(graph, Vector(graph.edge_count(), factor * best)), rho);
    }
    EXPECT_LE(rho, rho_of(graph, max_degree(graph)) + 1e-12);
  }
  EXPECT_NEAR(best_constant(graph_of("complete", 5)).value().front(), 0.2, 1e-14);
}

TEST(Weights, OfGraphsTooLargeForDenseWorkAreRefused) {
  const auto result = best_constant(graph_of("ring", kMaxDenseNodes + 1));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("1001 nodes"), std::string::npos);
}

TEST(Weights, OfEdgelessGraphsAreNone) {
  for (const std::size_t size : {0U, 1U}) {
    const Graph graph = Graph::undirected(size, {});
    EXPECT_TRUE(metropolis_hastings(graph).empty());
    EXPECT_TRUE(max_degree(graph).empty());
    EXPECT_TRUE(best_constant(graph).value().empty());
    EXPECT_TRUE(sinkhorn(graph).value().empty());
    EXPECT_TRUE(target_metropolis_hastings(graph, Vector(size, 1.0)).value().empty());
    EXPECT_EQ(dense_rho(graph, {}), 0.0);
  }
}

TEST(Sinkhorn, ScalesLinkWeightsToUnitRows) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_connected_graph(static_cast<std::uint32_t>(2 + seed), seed, seed);
    const Vector links = random_positive(graph.edge_count(), seed);
    const Vector weights = sinkhorn(graph, links).value();
    const Vector self = diagonal(graph, weights);
    const double mean =
        std::accumulate(links.begin(), links.end(), 0.0) / static_cast<double>(links.size());
    std::size_t k = 0;
    for (const Graph::Edge& edge : graph.edges()) {
      // D A D with a diagonal of `mean`: w_ij^2 / (w_ii w_jj) = (a_ij / mean)^2.
      ASSERT_GT(self[edge.a], 0.0);
      const double ratio = links[k] / mean;
      EXPECT_NEAR(weights[k] * weights[k] / (self[edge.a] * self[edge.b]) / (ratio * ratio), 1.0,
                  1e-6);
      ++k;
    }
  }
}

TEST(Sinkhorn, IsIndifferentToTheUnitOfLinkWeights) {
  const Graph graph = random_connected_graph(15, 20, 1);
  const Vector links = random_positive(graph.edge_count(), 1);
  const Vector weights = sinkhorn(graph, links).value();
  for (const double unit : {1e-150, 1e6, 1e150}) {
    Vector scaled = links;
    for (double& link : scaled) {
      link *= unit;
    }
    const Vector other = sinkhorn(graph, scaled).value();
    for (std::size_t k = 0; k < weights.size(); ++k) {
      EXPECT_NEAR(other[k], weights[k], 1e-12);
    }
  }
  const Vector equal = sinkhorn(graph, Vector(graph.edge_count(), 7.0)).value();
  const Vector none = sinkhorn(graph).value();
  for (std::size_t k = 0; k < none.size(); ++k) {
    EXPECT_NEAR(equal[k], none[k], 1e-12);
  }
}

TEST(Sinkhorn, RefusesLinkWeightsThatAreNone) {
  const Graph graph = path_graph(3);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Vector& links : {Vector{1.0}, Vector{1.0, 0.0}, Vector{1.0, -1.0}, Vector{-1.0, -1.0},
                              Vector{1.0, std::nan("")}, Vector{1.0, kInfinity},
                              Vector{1e308, 1e308}, Vector{1.0, 2.0, 3.0}}) {
    const auto result = sinkhorn(graph, links);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find("link weight"), std::string::npos);
  }
}

TEST(TargetMetropolisHastings, HasTheTargetAsItsStationaryDistribution) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const auto n = static_cast<std::uint32_t>(2 + seed);
    const Graph graph = random_connected_graph(n, seed, seed);
    const Vector target = random_positive(n, seed);
    const auto weights = target_metropolis_hastings(graph, target).value();
    Vector self(n, 1.0);
    Vector image(n);  // p W
    std::size_t k = 0;
    for (const Graph::Edge& edge : graph.edges()) {
      const auto [ab, ba] = weights[k++];
      EXPECT_GT(std::min(ab, ba), 0.0);
      self[edge.a] -= ab;
      self[edge.b] -= ba;
      image[edge.b] += target[edge.a] * ab;
      image[edge.a] += target[edge.b] * ba;
    }
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      EXPECT_GT(self[rank], 0.0);
      EXPECT_NEAR((image[rank] + target[rank] * self[rank]) / target[rank], 1.0, 1e-13);
    }
  }
}

TEST(TargetMetropolisHastings, OfTheUniformTargetIsMetropolisHastings) {
  const Graph graph = random_connected_graph(20, 15, 3);
  const auto weights = target_metropolis_hastings(graph, Vector(20, 5.0)).value();
  const Vector expected = to_doubles(metropolis_hastings(graph));
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_DOUBLE_EQ(weights[k].ab, expected[k]);
    EXPECT_DOUBLE_EQ(weights[k].ba, expected[k]);
  }
}

TEST(TargetMetropolisHastings, RefusesTargetsThatAreNone) {
  const Graph graph = path_graph(2);
  for (const Vector& target :
       {Vector{1.0}, Vector{1.0, 0.0}, Vector{1.0, -1.0}, Vector{1.0, std::nan("")}, Vector{}}) {
    const auto result = target_metropolis_hastings(graph, target);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find("stationary distribution"), std::string::npos);
  }
}

}  // namespace
}  // namespace hobnob
