#include "topology/round_faults.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

// The block and what becomes of it.
struct Blocks {
  std::span<const double> before;
  std::vector<double> after;
  std::size_t columns;

  // after[target] += factor before[source]
  void add(std::size_t target, std::size_t source, double factor) {
    const double* const from = before.data() + source * columns;
    double* const to = after.data() + target * columns;
    for (std::size_t k = 0; k < columns; ++k) {
      to[k] += factor * from[k];
    }
  }
};

std::vector<std::uint32_t> out_degrees(const SparseMatrix& matrix) {
  std::vector<std::uint32_t> degrees(matrix.size(), 0);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    for (const std::uint32_t column : matrix.columns(row)) {
      degrees[column] += column != row ? 1U : 0U;
    }
  }
  return degrees;
}

void push_sum(const SparseMatrix& matrix, const std::vector<bool>& is_out, Blocks& blocks) {
  const std::vector<std::uint32_t> degrees = out_degrees(matrix);
  std::vector<std::uint32_t> acknowledged(matrix.size(), 0);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    for (const std::uint32_t source : matrix.columns(row)) {
      if (source != row && !is_out[row] && !is_out[source]) {
        blocks.add(row, source, 1.0 / (1.0 + degrees[source]));
        ++acknowledged[source];
      }
    }
  }
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    blocks.add(row, row, 1.0 - acknowledged[row] / (1.0 + degrees[row]));
  }
}

void average_survivors(std::span<const std::uint32_t> group,
                       const std::vector<bool>& is_out,
                       std::size_t row,
                       Blocks& blocks) {
  const auto alive =
      std::ranges::count_if(group, [&](std::uint32_t peer) { return !is_out[peer]; });
  for (const std::uint32_t peer : group) {
    if (!is_out[peer]) {
      blocks.add(row, peer, 1.0 / static_cast<double>(alive));
    }
  }
}

}  // namespace

std::vector<std::uint32_t> group_sizes(const SparseMatrix& matrix) {
  constexpr double kRounding = 1e-12;
  std::vector<std::uint32_t> sizes(matrix.size(), 0);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    const std::span<const std::uint32_t> group = matrix.columns(row);
    const bool is_first = !group.empty() && group[0] == row;
    const double weight = 1.0 / static_cast<double>(group.size());
    const bool is_group = is_first && std::ranges::all_of(group, [&](std::uint32_t peer) {
                            return std::ranges::equal(matrix.columns(peer), group) &&
                                   std::ranges::all_of(matrix.values(peer), [&](double value) {
                                     return std::abs(value - weight) < kRounding;
                                   });
                          });
    for (std::size_t k = 0; is_group && k < group.size(); ++k) {
      sizes[group[k]] = static_cast<std::uint32_t>(group.size());
    }
  }
  return sizes;
}

double vectors_per_peer(const SparseMatrix& matrix) {
  const std::vector<std::uint32_t> sizes = group_sizes(matrix);
  double total = 0.0;
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    if (sizes[row] > 0) {
      const double others = sizes[row] - 1.0;
      total += std::min(others, 2.0 * others / sizes[row]);
      continue;
    }
    for (const std::uint32_t column : matrix.columns(row)) {
      total += column != row ? 1.0 : 0.0;
    }
  }
  return matrix.size() == 0 ? 0.0 : total / static_cast<double>(matrix.size());
}

std::size_t max_out_degree(const SparseMatrix& matrix) {
  const std::vector<std::uint32_t> degrees = out_degrees(matrix);
  return degrees.empty() ? 0 : *std::ranges::max_element(degrees);
}

std::vector<double> apply_with_unreachable(const SparseMatrix& matrix,
                                           const std::vector<bool>& is_unreachable,
                                           std::span<const double> x,
                                           std::size_t columns) {
  HOBNOB_CHECK(x.size() == matrix.size() * columns, "block of another shape");
  HOBNOB_CHECK(is_unreachable.size() == matrix.size(), "mask of another length");
  Blocks blocks{.before = x, .after = std::vector<double>(x.size(), 0.0), .columns = columns};
  if (!matrix.is_symmetric()) {
    push_sum(matrix, is_unreachable, blocks);
    return std::move(blocks.after);
  }
  const std::vector<std::uint32_t> groups = group_sizes(matrix);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    if (is_unreachable[row]) {
      blocks.add(row, row, 1.0);
      continue;
    }
    if (groups[row] > 0) {
      average_survivors(matrix.columns(row), is_unreachable, row, blocks);
      continue;
    }
    for (std::size_t k = 0; k < matrix.columns(row).size(); ++k) {
      const std::uint32_t source = matrix.columns(row)[k];
      blocks.add(row, is_unreachable[source] ? row : source, matrix.values(row)[k]);
    }
  }
  return std::move(blocks.after);
}

}  // namespace hobnob
