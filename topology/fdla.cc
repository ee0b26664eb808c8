#include "topology/fdla.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "topology/symmetric_eigen.h"
#include "topology/weights.h"

// w: weight per edge; b_e = e_i - e_j; A(w) = W - J = I - J - sum_e w_e b_e b_e^T with eigenpairs
// (lambda_k, v_k); f_beta(w) = log(sum_k exp(beta lambda_k) + exp(-beta lambda_k)) / beta, a smooth
// convex bound on |A(w)|_2 that is at most log(2 n) / beta too large.

namespace hobnob {

namespace {

using Vector = std::vector<double>;

double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double norm(std::span<const double> x) {
  return std::sqrt(dot(x, x));
}

// x + factor y
Vector sum(const Vector& x, double factor, const Vector& y) {
  Vector z = x;
  for (std::size_t k = 0; k < z.size(); ++k) {
    z[k] += factor * y[k];
  }
  return z;
}

// f_beta at one w.
struct Point {
  Vector weights;
  double value = 0.0;
  Vector gradient;  // df/dw_e = -b_e^T G b_e
  double rho = 0.0;
  SymmetricEigen eigen;
  Vector slopes;  // df/dlambda_k: G = sum_k slopes_k v_k v_k^T, nuclear norm <= 1
};

Point evaluate(const Graph& graph, double beta, Vector weights) {
  const std::size_t n = graph.size();
  Point point;
  point.eigen = symmetric_eigen(deviation(graph, weights), n);
  const Vector& lambda = point.eigen.values;
  point.rho = std::max(-lambda.front(), lambda.back());
  double total = 0.0;
  for (const double value : lambda) {
    const double up = std::exp(beta * (value - point.rho));
    const double down = std::exp(beta * (-value - point.rho));
    total += up + down;
    point.slopes.push_back(up - down);
  }
  for (double& slope : point.slopes) {
    slope /= total;
  }
  point.value = point.rho + std::log(total) / beta;
  const std::vector<Graph::Edge> edges = graph.edges();
  point.gradient.resize(edges.size());
  for (std::size_t k = 0; k < n; ++k) {
    const std::span<const double> v = std::span(point.eigen.vectors).subspan(k * n, n);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const double across = v[edges[e].a] - v[edges[e].b];
      point.gradient[e] -= point.slopes[k] * across * across;
    }
  }
  point.weights = std::move(weights);
  return point;
}

// Inverse Hessian from the latest steps (Nocedal and Wright, Numerical Optimization,
// algorithm 7.4).
class Curvature {
 public:
  void learn(Vector step, Vector change) {
    const double product = dot(step, change);
    if (product <= 0.0) {
      return;  // rounding: f is convex
    }
    pairs_.push_back({.step = std::move(step), .change = std::move(change), .product = product});
    if (pairs_.size() > kMemory) {
      pairs_.pop_front();
    }
  }

  // The descent direction for a gradient.
  Vector direction(const Vector& gradient) const {
    Vector q = sum(Vector(gradient.size()), -1.0, gradient);
    if (pairs_.empty()) {
      return q;
    }
    Vector shares;
    for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) {
      shares.push_back(dot(pair->step, q) / pair->product);
      q = sum(q, -shares.back(), pair->change);
    }
    const Pair& latest = pairs_.back();
    const double scale = latest.product / dot(latest.change, latest.change);
    for (double& value : q) {
      value *= scale;
    }
    for (const Pair& pair : pairs_) {
      q = sum(q, shares.back() - dot(pair.change, q) / pair.product, pair.step);
      shares.pop_back();
    }
    return q;
  }

 private:
  struct Pair {
    Vector step;
    Vector change;  // of the gradient
    double product = 0.0;
  };

  // Near the minimum many eigenvalues tie; with 20 pairs the bound is up to four times as far
  // away.
  static constexpr std::size_t kMemory = 100;
  std::deque<Pair> pairs_;
};

// Backtracks from a full step until f falls enough (Armijo); empty when it cannot.
std::optional<Point> step_along(const Graph& graph,
                                double beta,
                                const Point& from,
                                const Vector& direction) {
  constexpr double kSufficient = 1e-4;
  constexpr int kMaxHalvings = 30;
  const double slope = dot(from.gradient, direction);
  double length = 1.0;
  for (int halving = 0; halving < kMaxHalvings; ++halving) {
    Point to = evaluate(graph, beta, sum(from.weights, length, direction));
    if (to.value <= from.value + kSufficient * length * slope) {
      return to;
    }
    length /= 2.0;
  }
  return std::nullopt;
}

Point descend(const Graph& graph, double beta, Vector weights) {
  constexpr int kMaxSteps = 150;
  constexpr double kFlat = 1e-7;  // of the gradient, whose entries are at most 2
  constexpr double kNoGain = 1e-13;
  Point point = evaluate(graph, beta, std::move(weights));
  Curvature curvature;
  for (int step = 0; step < kMaxSteps && norm(point.gradient) > kFlat; ++step) {
    std::optional<Point> next = step_along(graph, beta, point, curvature.direction(point.gradient));
    if (!next) {
      break;
    }
    curvature.learn(sum(next->weights, -1.0, point.weights),
                    sum(next->gradient, -1.0, point.gradient));
    const double gain = point.value - next->value;
    point = *std::move(next);
    if (gain < kNoGain) {
      break;
    }
  }
  return point;
}

// y with M y = target, M_ef = (b_e^T b_f)^2, which is (M y)_e = s_i + s_j + 2 y_e for e = {i, j}
// and s_i the sum of y around i: conjugate gradients, condition number at most 1 + max degree.
Vector solve_repair(const std::vector<Graph::Edge>& edges, std::size_t n, const Vector& target) {
  constexpr int kMaxSteps = 500;
  constexpr double kExact = 1e-30;
  Vector y(target.size());
  Vector r = target;
  Vector p = r;
  double energy = dot(r, r);
  for (int step = 0; step < kMaxSteps && energy > kExact; ++step) {
    Vector around(n);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      around[edges[e].a] += p[e];
      around[edges[e].b] += p[e];
    }
    Vector image(p.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      image[e] = around[edges[e].a] + around[edges[e].b] + 2.0 * p[e];
    }
    const double length = energy / dot(p, image);
    y = sum(y, length, p);
    r = sum(r, -length, image);
    const double next = dot(r, r);
    p = sum(r, next / energy, p);
    energy = next;
  }
  return y;
}

// A feasible point of the dual problem: max tr((I - J) G) with b_e^T G b_e = 0 for every edge and
// nuclear norm of G at most 1.
struct Proof {
  double bound = 0.0;
  Vector certificate;  // G, (n, n)
};

// G of the point nearly is feasible; the least change in Frobenius norm and a scaling make it so.
Proof prove(const Graph& graph, const Point& point) {
  const std::size_t n = graph.size();
  const std::vector<Graph::Edge> edges = graph.edges();
  Vector g(n * n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::span<const double> v = std::span(point.eigen.vectors).subspan(k * n, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        g[i * n + j] += point.slopes[k] * v[i] * v[j];
      }
    }
  }
  // The residual b_e^T G b_e is -df/dw_e; G + sum_e y_e b_e b_e^T with M y = df/dw has none.
  const Vector y = solve_repair(edges, n, point.gradient);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [a, b] = edges[e];
    g[a * n + a] += y[e];
    g[b * n + b] += y[e];
    g[a * n + b] -= y[e];
    g[b * n + a] -= y[e];
  }
  double nuclear = 0.0;
  for (const double value : symmetric_eigenvalues(g, n)) {
    nuclear += std::abs(value);
  }
  constexpr double kRounding = 1e-9;  // all that is left of G when rho is 0
  for (double& value : g) {
    value = nuclear > kRounding ? value / nuclear : 0.0;
  }
  Proof proof;
  for (std::size_t i = 0; i < n; ++i) {
    proof.bound += g[i * n + i];
  }
  proof.bound -= std::accumulate(g.begin(), g.end(), 0.0) / static_cast<double>(n);
  proof.certificate = std::move(g);
  return proof;
}

Result<void> check_suitable(const Graph& graph) {
  if (graph.is_directed()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "fdla: the graph is directed; symmetric weights need an undirected one");
  }
  if (graph.size() > kMaxFdlaNodes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "fdla: %zu nodes, and the optimum is computed for at most %zu; use "
                      "Metropolis-Hastings or best constant weights",
                      graph.size(), kMaxFdlaNodes);
  }
  if (const std::optional<std::uint32_t> rank = graph.unreached()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "fdla: node %u cannot be reached from node 0; join it to the graph", *rank);
  }
  return {};
}

}  // namespace

Result<FdlaResult> fdla(const Graph& graph) {
  constexpr double kBetas[] = {10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4};
  constexpr double kCloseEnough = 1e-4;
  static_assert(kMaxFdlaNodes <= kMaxDenseNodes);
  if (const Result<void> suitable = check_suitable(graph); !suitable.ok()) {
    return suitable.error();
  }
  if (graph.edge_count() == 0) {
    return FdlaResult{};
  }
  FdlaResult best{.weights = best_constant(graph).value()};
  best.rho = dense_rho(graph, best.weights);
  Vector weights = best.weights;
  for (const double beta : kBetas) {
    Point point = descend(graph, beta, std::move(weights));
    if (Proof proof = prove(graph, point); proof.bound >= best.bound) {
      best.bound = proof.bound;
      best.certificate = std::move(proof.certificate);
    }
    if (point.rho < best.rho) {
      best.rho = point.rho;
      best.weights = point.weights;
    }
    if (best.rho - best.bound <= kCloseEnough * best.rho) {
      break;
    }
    weights = std::move(point.weights);
  }
  best.bound = std::min(best.bound, best.rho);  // rounding, when both are the optimum
  return best;
}

}  // namespace hobnob
