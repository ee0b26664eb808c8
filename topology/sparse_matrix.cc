#include "topology/sparse_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

constexpr double kRounding = 1e-12;

// y += factor x.
void add_scaled(const double* __restrict x,
                double factor,
                double* __restrict y,
                std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    y[k] += factor * x[k];
  }
}

}  // namespace

SparseMatrix::SparseMatrix(std::size_t size, std::vector<Entry> entries) {
  std::ranges::sort(entries, [](const Entry& left, const Entry& right) {
    return left.row != right.row ? left.row < right.row : left.column < right.column;
  });
  begins_.reserve(size + 1);
  begins_.push_back(0);
  std::size_t next = 0;
  for (std::size_t row = 0; row < size; ++row) {
    while (next < entries.size() && entries[next].row == row) {
      const std::uint32_t column = entries[next].column;
      HOBNOB_CHECK(column < size, "column outside the matrix");
      double sum = 0.0;
      for (; next < entries.size() && entries[next].row == row && entries[next].column == column;
           ++next) {
        sum += entries[next].value;
      }
      if (sum != 0.0) {
        columns_.push_back(column);
        values_.push_back(sum);
      }
    }
    begins_.push_back(values_.size());
  }
  HOBNOB_CHECK(next == entries.size(), "row outside the matrix");
}

SparseMatrix SparseMatrix::identity(std::size_t size) {
  std::vector<Entry> entries;
  entries.reserve(size);
  for (std::uint32_t row = 0; row < size; ++row) {
    entries.push_back({.row = row, .column = row, .value = 1.0});
  }
  return {size, std::move(entries)};
}

void SparseMatrix::apply(std::span<const double> x,
                         std::span<double> y,
                         std::size_t columns) const {
  HOBNOB_CHECK(x.size() == size() * columns && y.size() == x.size(), "block of another shape");
  for (std::size_t row = 0; row < size(); ++row) {
    double* const target = y.data() + row * columns;
    if (columns == 1) {
      double sum = 0.0;
      for (std::size_t k = begins_[row]; k < begins_[row + 1]; ++k) {
        sum += values_[k] * x[columns_[k]];
      }
      *target = sum;
      continue;
    }
    std::fill_n(target, columns, 0.0);
    for (std::size_t k = begins_[row]; k < begins_[row + 1]; ++k) {
      add_scaled(x.data() + columns_[k] * columns, values_[k], target, columns);
    }
  }
}

void SparseMatrix::apply_transposed(std::span<const double> x,
                                    std::span<double> y,
                                    std::size_t columns) const {
  HOBNOB_CHECK(x.size() == size() * columns && y.size() == x.size(), "block of another shape");
  std::ranges::fill(y, 0.0);
  for (std::size_t row = 0; row < size(); ++row) {
    for (std::size_t k = begins_[row]; k < begins_[row + 1]; ++k) {
      add_scaled(x.data() + row * columns, values_[k], y.data() + columns_[k] * columns, columns);
    }
  }
}

double SparseMatrix::at(std::size_t row, std::uint32_t column) const {
  const std::span<const std::uint32_t> places = columns(row);
  const auto place = std::ranges::lower_bound(places, column);
  return place == places.end() || *place != column
             ? 0.0
             : values(row)[static_cast<std::size_t>(place - places.begin())];
}

bool SparseMatrix::is_row_stochastic() const {
  for (std::size_t row = 0; row < size(); ++row) {
    const std::span<const double> weights = values(row);
    if (!(std::abs(std::accumulate(weights.begin(), weights.end(), -1.0)) < kRounding)) {
      return false;
    }
  }
  return true;
}

bool SparseMatrix::is_symmetric() const {
  for (std::size_t row = 0; row < size(); ++row) {
    for (std::size_t k = begins_[row]; k < begins_[row + 1]; ++k) {
      const double mirrored = at(columns_[k], static_cast<std::uint32_t>(row));
      if (!(std::abs(values_[k] - mirrored) < kRounding)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace hobnob
