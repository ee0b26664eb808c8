#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "topology/mixing_sequence.h"

namespace hobnob {

// How a run of averaging alone goes: relative distances from the mean, ||X - mean|| / ||X_0 -
// mean_0|| (Frobenius), after 0, 1, ... rounds.
struct ConsensusTrace {
  std::vector<double> errors;

  // The first round, at least 1, after which the error is at most `target`.
  std::optional<std::uint64_t> rounds_to(double target) const;

  // The last one beyond the end, which is a bound: the error does not grow again.
  double error_after(std::uint64_t round) const;
};

struct TraceConfig {
  std::uint64_t seed = 1;  // of the start and of the faults
  std::uint64_t max_rounds = 4000;
  // The trace ends when the error is at most this. Rounding leaves about 1e-16.
  double stop_at = 1e-14;
  // Each peer is unreachable for all of a round with this probability.
  double unreachable = 0.0;
  // Uniform in [0, 1), one for each peer of each round: it is out when that is below `unreachable`.
  // Null: from the seed.
  std::function<double()> fault_draw;
};

// From round 0 and X_0 ~ N(0, 1), (n, 32); what a round with unreachable peers does is in
// round_faults.h. O(rounds x 32 entries).
ConsensusTrace trace_consensus(MixingSequence& rounds, const TraceConfig& config);

}  // namespace hobnob
