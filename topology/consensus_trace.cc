#include "topology/consensus_trace.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/rng.h"
#include "topology/round_faults.h"

namespace hobnob {

namespace {

constexpr std::size_t kColumns = 32;
// With faults one column more, of ones: what push-sum divides by.
constexpr std::size_t kWeighted = kColumns + 1;

using Block = std::vector<double>;

Block random_start(std::size_t size, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 0});
  Block x(size * kColumns);
  for (double& value : x) {
    value = rng.normal();
  }
  return x;
}

// ||X - mean|| of an (n, 32) block.
double distance(const Block& x) {
  const std::size_t size = x.size() / kColumns;
  std::vector<double> means(kColumns, 0.0);
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < kColumns; ++k) {
      means[k] += x[row * kColumns + k];
    }
  }
  for (double& mean : means) {
    mean /= static_cast<double>(size);
  }
  std::vector<double> squares(kColumns, 0.0);
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < kColumns; ++k) {
      const double apart = x[row * kColumns + k] - means[k];
      squares[k] += apart * apart;
    }
  }
  double total = 0.0;
  for (const double square : squares) {
    total += square;
  }
  return std::sqrt(total);
}

// The rounds of a swarm in which peers drop out.
class LossyRounds {
 public:
  LossyRounds(const Block& start, const TraceConfig& config)
      : unreachable_(config.unreachable),
        draw_(config.fault_draw),
        weighted_(start.size() / kColumns * kWeighted, 1.0) {
    if (!draw_) {
      draw_ = [rng = Rng({.seed = config.seed, .stream = 1})]() mutable { return rng.uniform(); };
    }
    for (std::size_t row = 0; row < start.size() / kColumns; ++row) {
      std::copy_n(start.begin() + static_cast<std::ptrdiff_t>(row * kColumns), kColumns,
                  weighted_.begin() + static_cast<std::ptrdiff_t>(row * kWeighted));
    }
  }

  Block next(const SparseMatrix& matrix) {
    std::vector<bool> is_out(matrix.size());
    for (std::size_t peer = 0; peer < matrix.size(); ++peer) {
      is_out[peer] = draw_() < unreachable_;
    }
    weighted_ = apply_with_unreachable(matrix, is_out, weighted_, kWeighted);
    Block x(matrix.size() * kColumns);
    for (std::size_t row = 0; row < matrix.size(); ++row) {
      const double* const from = weighted_.data() + row * kWeighted;
      for (std::size_t k = 0; k < kColumns; ++k) {
        x[row * kColumns + k] = from[k] / from[kColumns];
      }
    }
    return x;
  }

 private:
  const double unreachable_;
  std::function<double()> draw_;
  Block weighted_;
};

}  // namespace

std::optional<std::uint64_t> ConsensusTrace::rounds_to(double target) const {
  for (std::uint64_t round = 1; round < errors.size(); ++round) {
    if (errors[round] <= target) {
      return round;
    }
  }
  return std::nullopt;
}

double ConsensusTrace::error_after(std::uint64_t round) const {
  return errors[std::min<std::uint64_t>(round, errors.size() - 1)];
}

ConsensusTrace trace_consensus(MixingSequence& rounds, const TraceConfig& config) {
  Block x = random_start(rounds.size(), config.seed);
  const double start = distance(x);
  ConsensusTrace trace{.errors = {1.0}};
  LossyRounds lossy(x, config);
  Block next(x.size());
  for (std::uint64_t round = 0; round < config.max_rounds; ++round) {
    if (config.unreachable > 0.0) {
      x = lossy.next(rounds.at(round));
    } else {
      rounds.at(round).apply(x, next, kColumns);
      x.swap(next);
    }
    trace.errors.push_back(start > 0.0 ? distance(x) / start : 0.0);
    if (trace.errors.back() <= config.stop_at) {
      break;
    }
  }
  return trace;
}

}  // namespace hobnob
