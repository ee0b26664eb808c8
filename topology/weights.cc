#include "topology/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "topology/symmetric_eigen.h"

namespace hobnob {

namespace {

Weight share_of(std::size_t degree) {
  return {.numerator = 1, .denominator = static_cast<std::uint32_t>(degree + 1)};
}

// How far the rows of D A D are from sum 1, and the next D: d_i <- sqrt(d_i / (A d)_i).
double sinkhorn_step(const std::vector<Graph::Edge>& edges,
                     std::span<const double> links,
                     std::vector<double>& d) {
  std::vector<double> image = d;  // the diagonal of A is 1
  for (std::size_t k = 0; k < edges.size(); ++k) {
    image[edges[k].a] += links[k] * d[edges[k].b];
    image[edges[k].b] += links[k] * d[edges[k].a];
  }
  double error = 0.0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    error = std::max(error, std::abs(d[i] * image[i] - 1.0));
    d[i] = std::sqrt(d[i] / image[i]);
  }
  return error;
}

// Positive, finite values over their mean; empty when they are not.
std::vector<double> over_mean(std::span<const double> values) {
  std::vector<double> scaled;
  scaled.reserve(values.size());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (const double value : values) {
    const double ratio = value / mean;  // 0 or NaN too when the mean is not finite
    if (!(value > 0.0) || !(ratio > 0.0)) {
      return {};
    }
    scaled.push_back(ratio);
  }
  return scaled;
}

}  // namespace

std::vector<Weight> metropolis_hastings(const Graph& graph) {
  HOBNOB_CHECK(!graph.is_directed(), "symmetric weights of a directed graph");
  std::vector<Weight> weights;
  weights.reserve(graph.edge_count());
  for (const Graph::Edge& edge : graph.edges()) {
    weights.push_back(share_of(std::max(graph.degree(edge.a), graph.degree(edge.b))));
  }
  return weights;
}

std::vector<Weight> max_degree(const Graph& graph) {
  HOBNOB_CHECK(!graph.is_directed(), "symmetric weights of a directed graph");
  return std::vector<Weight>(graph.edge_count(), share_of(graph.max_degree()));
}

std::vector<Weight> lazy(std::vector<Weight> weights) {
  for (Weight& weight : weights) {
    if (weight.numerator % 2 == 0) {
      weight.numerator /= 2;
    } else {
      HOBNOB_CHECK(weight.denominator <= std::numeric_limits<std::uint32_t>::max() / 2,
                   "half of a weight does not fit");
      weight.denominator *= 2;
    }
  }
  return weights;
}

std::vector<double> to_doubles(std::span<const Weight> weights) {
  std::vector<double> values;
  values.reserve(weights.size());
  for (const Weight& weight : weights) {
    values.push_back(weight.value());
  }
  return values;
}

Result<std::vector<double>> best_constant(const Graph& graph) {
  HOBNOB_CHECK(!graph.is_directed(), "symmetric weights of a directed graph");
  const std::size_t n = graph.size();
  if (n > kMaxDenseNodes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "best constant weight: %zu nodes, and eigenvalues of at most %zu are "
                      "computed; use Metropolis-Hastings weights",
                      n, kMaxDenseNodes);
  }
  if (graph.edge_count() == 0) {
    return std::vector<double>{};
  }
  std::vector<double> laplacian(n * n);
  for (const Graph::Edge& edge : graph.edges()) {
    laplacian[edge.a * n + edge.a] += 1.0;
    laplacian[edge.b * n + edge.b] += 1.0;
    laplacian[edge.a * n + edge.b] = -1.0;
    laplacian[edge.b * n + edge.a] = -1.0;
  }
  const std::vector<double> lambda = symmetric_eigenvalues(std::move(laplacian), n);
  return std::vector<double>(graph.edge_count(), 2.0 / (lambda[1] + lambda[n - 1]));
}

Result<std::vector<double>> sinkhorn(const Graph& graph, std::span<const double> link_weights) {
  constexpr int kMaxSteps = 10'000;
  constexpr double kTolerance = 1e-12;
  HOBNOB_CHECK(!graph.is_directed(), "symmetric weights of a directed graph");
  const std::vector<Graph::Edge> edges = graph.edges();
  std::vector<double> links(edges.size(), 1.0);
  if (!link_weights.empty()) {
    if (link_weights.size() != edges.size()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "sinkhorn: %zu link weights for %zu edges; give one per edge",
                        link_weights.size(), edges.size());
    }
    links = over_mean(link_weights);
    if (links.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "sinkhorn: a link weight is not a positive finite number; leave that edge "
                        "out of the graph");
    }
  }
  std::vector<double> d(graph.size(), 1.0);
  int step = 0;
  while (sinkhorn_step(edges, links, d) > kTolerance) {
    if (++step == kMaxSteps) {
      return make_error(ErrorCode::kInvalidArgument,
                        "sinkhorn: no convergence in %d steps; make the link weights less unequal",
                        kMaxSteps);
    }
  }
  for (std::size_t k = 0; k < edges.size(); ++k) {
    links[k] *= d[edges[k].a] * d[edges[k].b];
  }
  return links;
}

Result<std::vector<TwoWayWeight>> target_metropolis_hastings(const Graph& graph,
                                                             std::span<const double> target) {
  HOBNOB_CHECK(!graph.is_directed(), "symmetric weights of a directed graph");
  if (target.size() != graph.size()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "stationary distribution: %zu values for %zu nodes; give one per node",
                      target.size(), graph.size());
  }
  const std::vector<double> p = over_mean(target);
  if (p.size() != target.size()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "stationary distribution: a value is not a positive finite number; a node "
                      "without weight cannot take part");
  }
  std::vector<TwoWayWeight> weights;
  weights.reserve(graph.edge_count());
  for (const Graph::Edge& edge : graph.edges()) {
    // p_a w_ab = p_b w_ba: what flows one way flows back.
    const double share_a = 1.0 / static_cast<double>(1 + graph.degree(edge.a));
    const double share_b = 1.0 / static_cast<double>(1 + graph.degree(edge.b));
    weights.push_back({.ab = std::min(share_a, p[edge.b] / p[edge.a] * share_b),
                       .ba = std::min(share_b, p[edge.a] / p[edge.b] * share_a)});
  }
  return weights;
}

std::vector<double> deviation(const Graph& graph, std::span<const double> weights) {
  HOBNOB_CHECK(!graph.is_directed(), "symmetric weights of a directed graph");
  HOBNOB_CHECK(weights.size() == graph.edge_count(), "weights of another graph");
  const std::size_t n = graph.size();
  std::vector<double> matrix(n * n, -1.0 / static_cast<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i * n + i] += 1.0;
  }
  std::size_t k = 0;
  for (const Graph::Edge& edge : graph.edges()) {
    matrix[edge.a * n + edge.a] -= weights[k];
    matrix[edge.b * n + edge.b] -= weights[k];
    matrix[edge.a * n + edge.b] += weights[k];
    matrix[edge.b * n + edge.a] += weights[k];
    ++k;
  }
  return matrix;
}

double dense_rho(const Graph& graph, std::span<const double> weights) {
  HOBNOB_CHECK(graph.size() <= kMaxDenseNodes, "dense work on a large graph");
  if (graph.size() <= 1) {
    return 0.0;
  }
  const std::vector<double> lambda = symmetric_eigenvalues(deviation(graph, weights), graph.size());
  return std::max({0.0, -lambda.front(), lambda.back()});
}

}  // namespace hobnob
