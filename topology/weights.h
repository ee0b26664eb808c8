#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "topology/graph.h"
#include "topology/mixing_matrix.h"

// Rules that weigh the edges of an undirected graph (a directed one is a bug). Weights are per
// edge, aligned with graph.edges(), the same in both directions; the diagonal w_ii = 1 - sum_j w_ij
// is implied. Rational rules may go on the wire; float64 ones are for offline use and for the
// user's eyes.

namespace hobnob {

// Dense work on whole graphs: O(n^3) time, O(n^2) memory.
inline constexpr std::size_t kMaxDenseNodes = 1000;

// 1 / (1 + max(d_i, d_j)): each end needs the two degrees only (Xiao, Boyd, Kim, JPDC 67(1), 2007).
std::vector<Weight> metropolis_hastings(const Graph& graph);

// 1 / (1 + largest degree).
std::vector<Weight> max_degree(const Graph& graph);

// Of (I + W) / 2: eigenvalues in [0, 1] whatever W was.
std::vector<Weight> lazy(std::vector<Weight> weights);

std::vector<double> to_doubles(std::span<const Weight> weights);

// 2 / (lambda_2 + lambda_n) of the Laplacian on all edges, the best constant (Xiao and Boyd,
// Systems and Control Letters 53, 2004, eq. 21). w_ii may be negative. Refuses more than
// kMaxDenseNodes.
Result<std::vector<double>> best_constant(const Graph& graph);

// The doubly stochastic D A D (Sinkhorn, Ann. Math. Statist. 35(2), 1964): A has `link_weights` per
// edge, and their mean on the diagonal; all ones when empty. Proportional to link speed as far as
// rows of sum 1 allow; the unit does not matter. Refuses link weights that are not positive and
// finite, too few or many, or so unequal that it does not converge. O(iterations m), 1e-12 per row.
Result<std::vector<double>> sinkhorn(const Graph& graph, std::span<const double> link_weights = {});

// W[a][b] and W[b][a] of one edge.
struct TwoWayWeight {
  double ab = 0.0;
  double ba = 0.0;
};

// p W = p for the wanted stationary p: everybody tends to sum_i p_i x_i, such as the mean over
// samples when p_i is proportional to the data of peer i. Metropolis-Hastings,
// w_ij = min(1 / (1 + d_i), p_j / (p_i (1 + d_j))). `target` has (n,) positive finite values of any
// sum; refuses others.
Result<std::vector<TwoWayWeight>> target_metropolis_hastings(const Graph& graph,
                                                             std::span<const double> target);

// W - J, (n, n) row-major, W of `weights` per edge, J all 1 / n.
std::vector<double> deviation(const Graph& graph, std::span<const double> weights);

// rho = |W - J|_2, the second largest |eigenvalue|; 0 for n <= 1. Dense: n <= kMaxDenseNodes.
double dense_rho(const Graph& graph, std::span<const double> weights);

}  // namespace hobnob
