#include "topology/mixing_sequence.h"

#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

MixingSequence::MixingSequence(std::size_t size, std::uint64_t period, RoundMatrices matrix)
    : size_(size), period_(period > kMaxPeriod ? 0 : period), matrix_(std::move(matrix)) {}

const SparseMatrix& MixingSequence::at(std::uint64_t round) {
  const std::uint64_t phase = period_ > 0 ? round % period_ : round;
  if (phase < kept_.size()) {
    return kept_[phase];
  }
  SparseMatrix matrix = built(phase);
  if (phase == kept_.size() && kept_entries_ + matrix.entry_count() <= kMaxKeptEntries) {
    kept_entries_ += matrix.entry_count();
    kept_.push_back(std::move(matrix));
    return kept_.back();
  }
  passing_ = std::move(matrix);
  return passing_;
}

SparseMatrix MixingSequence::built(std::uint64_t round) const {
  SparseMatrix matrix = matrix_(round);
  HOBNOB_CHECK(matrix.size() == size_, "matrix of another size");
  HOBNOB_CHECK(matrix.is_row_stochastic(), "row that does not sum to 1");
  return matrix;
}

}  // namespace hobnob
