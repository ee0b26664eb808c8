#include "topology/mixing_matrix.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "topology/spectrum.h"

namespace hobnob {

namespace {

using Entry = MixingMatrix::Entry;

bool is_before(const Entry& a, const Entry& b) {
  return a.row != b.row ? a.row < b.row : a.column < b.column;
}

}  // namespace

MixingMatrix::MixingMatrix(std::size_t size, std::vector<Entry> entries)
    : entries_(std::move(entries)), row_start_(size + 1), diagonal_(size), is_given_(size) {
  if (!std::ranges::is_sorted(entries_, is_before)) {
    std::ranges::sort(entries_, is_before);
  }
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const Entry& entry = entries_[k];
    HOBNOB_CHECK(entry.row < size && entry.column < size, "entry outside the matrix");
    HOBNOB_CHECK(k == 0 || is_before(entries_[k - 1], entry), "two entries at one place");
    if (entry.row == entry.column) {
      is_given_[entry.row] = true;
      diagonal_[entry.row] = ExactSum(entry.weight);
    }
  }
  std::erase_if(entries_, [](const Entry& entry) {
    return entry.row == entry.column || entry.weight.is_zero();
  });
  for (std::size_t peer = 0; peer < size; ++peer) {
    if (!is_given_[peer]) {
      diagonal_[peer] = ExactSum({1, 1});
    }
  }
  for (const Entry& entry : entries_) {
    ++row_start_[entry.row + 1];
    if (!is_given_[entry.column]) {
      diagonal_[entry.column].subtract(entry.weight);
    }
  }
  std::partial_sum(row_start_.begin(), row_start_.end(), row_start_.begin());
  is_symmetric_ = is_mirrored();
  moves_in_pairs_ = is_symmetric_ && std::ranges::find(is_given_, true) == is_given_.end();
}

MixingMatrix MixingMatrix::symmetric(std::size_t size, const std::vector<Edge>& edges) {
  std::vector<Entry> entries;
  entries.reserve(2 * edges.size());
  for (const Edge& edge : edges) {
    HOBNOB_CHECK(edge.a != edge.b, "edge from a peer to itself");
    entries.push_back({.row = edge.a, .column = edge.b, .weight = edge.weight});
    entries.push_back({.row = edge.b, .column = edge.a, .weight = edge.weight});
  }
  return {size, std::move(entries)};
}

std::span<const Entry> MixingMatrix::row(std::uint32_t index) const {
  return std::span(entries_).subspan(row_start_[index], row_start_[index + 1] - row_start_[index]);
}

// Rows in order fill the columns in order: the entries of column c come as row c has them.
bool MixingMatrix::is_mirrored() const {
  std::vector<std::size_t> next(row_start_.begin(), row_start_.end() - 1);
  return std::ranges::all_of(entries_, [&](const Entry& entry) {
    const std::size_t place = next[entry.column]++;
    return place < row_start_[entry.column + 1] && entries_[place].column == entry.row &&
           entries_[place].weight == entry.weight;
  });
}

bool MixingMatrix::has_weights_only() const {
  return std::ranges::all_of(diagonal_, &ExactSum::is_weight);
}

bool MixingMatrix::is_row_stochastic() const {
  std::vector<ExactSum> sums = diagonal_;
  for (const Entry& entry : entries_) {
    sums[entry.row].add(entry.weight);
  }
  return has_weights_only() && std::ranges::all_of(sums, &ExactSum::is_one);
}

bool MixingMatrix::is_column_stochastic() const {
  std::vector<ExactSum> sums = diagonal_;
  for (const Entry& entry : entries_) {
    sums[entry.column].add(entry.weight);
  }
  return has_weights_only() && std::ranges::all_of(sums, &ExactSum::is_one);
}

MixingMatrix MixingMatrix::symmetric_part() const {
  std::vector<Entry> halves;
  halves.reserve(2 * entries_.size());
  for (const Entry& entry : entries_) {
    halves.push_back(entry);
    halves.push_back({.row = entry.column, .column = entry.row, .weight = entry.weight});
  }
  std::ranges::sort(halves, is_before);
  std::vector<Entry> sums;
  for (std::size_t k = 0; k < halves.size(); ++k) {
    Entry sum = halves[k];
    const bool has_twin = k + 1 < halves.size() && !is_before(sum, halves[k + 1]);
    sum.weight = half_sum(sum.weight, has_twin ? halves[++k].weight : Weight{});
    sums.push_back(sum);
  }
  return {size(), std::move(sums)};
}

std::vector<double> MixingMatrix::apply(const std::vector<double>& x) const {
  HOBNOB_CHECK(x.size() == size(), "column of another length");
  std::vector<double> y = x;
  if (moves_in_pairs_) {
    for (const Entry& entry : entries_) {
      if (entry.row < entry.column) {
        const double moved = entry.weight.value() * (x[entry.column] - x[entry.row]);
        y[entry.row] += moved;
        y[entry.column] -= moved;
      }
    }
    return y;
  }
  for (std::size_t peer = 0; peer < size(); ++peer) {
    if (is_given_[peer]) {
      y[peer] *= diagonal_[peer].value();
    }
  }
  for (const Entry& entry : entries_) {
    const double moved = entry.weight.value() * x[entry.column];
    y[entry.row] += moved;
    if (!is_given_[entry.column]) {
      y[entry.column] -= moved;
    }
  }
  return y;
}

SparseMatrix MixingMatrix::to_sparse(std::size_t bystanders) const {
  std::vector<SparseMatrix::Entry> image;
  image.reserve(entries_.size() + size() + bystanders);
  for (const Entry& each : entries_) {
    image.push_back({.row = each.row, .column = each.column, .value = each.weight.value()});
  }
  for (std::uint32_t peer = 0; peer < size() + bystanders; ++peer) {
    image.push_back(
        {.row = peer, .column = peer, .value = peer < size() ? diagonal_[peer].value() : 1.0});
  }
  return {size() + bystanders, std::move(image)};
}

double MixingMatrix::spectral_gap() const {
  if (size() <= 1) {
    return 1.0;
  }
  MixingSequence always(size(), 1, [this](std::uint64_t /*round*/) { return to_sparse(); });
  return 1.0 - contraction(always);
}

}  // namespace hobnob
