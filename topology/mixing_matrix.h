#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topology/rational.h"
#include "topology/sparse_matrix.h"

namespace hobnob {

// W of one round, (n, n), directed in general: x_i <- sum_j W_ij x_j, exact. Stored by rows; zeros
// off the diagonal are not stored.
class MixingMatrix {
 public:
  // `row` takes `weight` of the value of `column`.
  struct Entry {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    Weight weight;
  };

  // An edge of a symmetric W: both ends take `weight` of the other.
  struct Edge {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    Weight weight;
  };

  // Entries in any order, a place at most once. A diagonal that is not among them is what the peer
  // does not send, w_ii = 1 - sum_j w_ji, so that columns sum to 1 and the mean is kept.
  // O(m log m).
  MixingMatrix(std::size_t size, std::vector<Entry> entries);
  static MixingMatrix symmetric(std::size_t size, const std::vector<Edge>& edges);

  std::size_t size() const { return diagonal_.size(); }

  // Off the diagonal, by row and then column.
  const std::vector<Entry>& entries() const { return entries_; }

  std::span<const Entry> row(std::uint32_t index) const;

  const ExactSum& diagonal(std::uint32_t index) const { return diagonal_[index]; }

  // Exact, in integers: no weight below 0, and rows or columns that sum to exactly 1.
  // False too where a common denominator does not fit 128 bits. O(m).
  bool is_row_stochastic() const;
  bool is_column_stochastic() const;

  bool is_doubly_stochastic() const { return is_row_stochastic() && is_column_stochastic(); }

  // w_ij == w_ji as rationals.
  bool is_symmetric() const { return is_symmetric_; }

  // (W + W') / 2, its diagonal left to the constructor: what pairs that move equal and opposite
  // flows run. Doubly stochastic when W is, and when the off-diagonal rows and columns of W sum to
  // at most 1. O(m log m).
  MixingMatrix symmetric_part() const;

  // y = W x for one column; (n,) float64. What one peer gains another loses by the same float, so
  // the mean is kept to rounding of the sums wherever the diagonal was left to the constructor.
  std::vector<double> apply(const std::vector<double>& x) const;

  // Its float64 image, for analysis; with `bystanders` more peers, who keep what they have.
  SparseMatrix to_sparse(std::size_t bystanders = 0) const;

  // 1 - rho with rho = |W - J|_2, its largest singular value: for a symmetric W the second largest
  // |eigenvalue|. As contraction() in topology/spectrum.h finds it; 1 for n <= 1.
  double spectral_gap() const;

 private:
  bool is_mirrored() const;
  bool has_weights_only() const;

  std::vector<Entry> entries_;
  std::vector<std::size_t> row_start_;  // (n + 1,)
  std::vector<ExactSum> diagonal_;
  std::vector<bool> is_given_;  // diagonals that came with the entries
  bool is_symmetric_ = false;
  bool moves_in_pairs_ = false;  // symmetric, and no diagonal was given
};

}  // namespace hobnob
