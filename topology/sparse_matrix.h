#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hobnob {

// A square float64 matrix by compressed rows: W of one round, for analysis. The exact weights that
// peers use are rational; this is their float64 image and decides nothing.
class SparseMatrix {
 public:
  struct Entry {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    double value = 0.0;
  };

  // Entries in any order; those of one place are summed, and a sum of 0 is not stored.
  // O(entries log entries).
  SparseMatrix(std::size_t size, std::vector<Entry> entries);

  static SparseMatrix identity(std::size_t size);

  // y = W x for `columns` columns at once: x_i' = sum_j W_ij x_j. x and y are (size, columns), row
  // by row, and do not overlap. O(entries x columns).
  void apply(std::span<const double> x, std::span<double> y, std::size_t columns) const;

  // y = W^T x, the same shapes.
  void apply_transposed(std::span<const double> x, std::span<double> y, std::size_t columns) const;

  std::size_t size() const { return begins_.size() - 1; }

  std::size_t entry_count() const { return values_.size(); }

  // The places of the stored entries of a row, ascending, and their values.
  std::span<const std::uint32_t> columns(std::size_t row) const {
    return {columns_.data() + begins_[row], begins_[row + 1] - begins_[row]};
  }

  std::span<const double> values(std::size_t row) const {
    return {values_.data() + begins_[row], begins_[row + 1] - begins_[row]};
  }

  // 0 where nothing is stored. O(log entries of the row).
  double at(std::size_t row, std::uint32_t column) const;

  // Every row sums to 1 within rounding: W keeps a common value.
  bool is_row_stochastic() const;

  // W_ij = W_ji within rounding.
  bool is_symmetric() const;

 private:
  std::vector<std::size_t> begins_;  // of each row, and the end
  std::vector<std::uint32_t> columns_;
  std::vector<double> values_;
};

}  // namespace hobnob
