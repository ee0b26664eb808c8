#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "topology/sparse_matrix.h"

namespace hobnob {

// W of a round, (n, n), every row summing to 1; W_ij is the weight of the message j -> i.
using RoundMatrices = std::function<SparseMatrix(std::uint64_t round)>;

// The rounds of a schedule among `size` peers, as the analyses read them: over and over from round
// 0, so what was built is kept while memory allows. Whether a round is symmetric, made of groups or
// circulant is read off its matrix.
class MixingSequence {
 public:
  // Longer periods are treated as none: nothing here could read a whole one in reasonable time.
  static constexpr std::uint64_t kMaxPeriod = 2048;
  // About 200 MB.
  static constexpr std::size_t kMaxKeptEntries = std::size_t{1} << 24;

  // `period` 1 = a static graph, 0 = never repeats (drawn afresh every round).
  MixingSequence(std::size_t size, std::uint64_t period, RoundMatrices matrix);

  // Valid until the next call. O(1) for a round that is kept: rounds read in order are.
  const SparseMatrix& at(std::uint64_t round);

  std::size_t size() const { return size_; }

  // 0 if not periodic.
  std::uint64_t period() const { return period_; }

 private:
  SparseMatrix built(std::uint64_t round) const;

  const std::size_t size_;
  const std::uint64_t period_;
  const RoundMatrices matrix_;

  std::vector<SparseMatrix> kept_;  // rounds 0, 1, ...
  std::size_t kept_entries_ = 0;
  SparseMatrix passing_{0, {}};  // the last one that is not kept
};

}  // namespace hobnob
