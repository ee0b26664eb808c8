#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/base/result.h"
#include "topology/pipeline.h"

// How a running pipeline is brought back into balance after joins, leaves and changes of speed.

namespace hobnob {

struct RebalancePolicy {
  // By how much the throughput must rise for a peer to move at all. Larger: fewer moves, less of
  // the optimum; 0: any gain.
  std::uint32_t min_gain_percent = 3;
  // Who moves at most in one epoch (a swap moves two). Larger: faster, but more of the swarm is
  // downloading at once. At least 2.
  std::uint32_t max_movers = 4;
  // For how long a gain is expected to last; what it brings in that time must exceed what the
  // movers miss while they load their stages.
  std::chrono::milliseconds horizon{30 * 60 * 1000};
  // What a move costs besides the download: draining, loading weights, fetching optimizer state.
  std::chrono::milliseconds sync{10 * 1000};
};

// The error names the field.
Result<void> validate(const RebalancePolicy& policy);

struct StageMove {
  std::uint32_t peer = 0;  // index in the rates
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  bool operator==(const StageMove&) const = default;
};

// Who changes stage in this epoch, ascending by peer; empty when nothing is worth it. A pure
// function: peers that know the same rates, assignment and policy agree without a message.
//
// Follows the best moves and swaps (StageSearch) to where the gain of throughput over the horizon,
// less rate x (download + sync) of all movers, is largest. If the throughput there is more than
// min_gain_percent higher and that net gain is positive, this epoch does the first part of the way
// that at most max_movers peers take; the next epochs plan again from there. So many equally weak
// stages are mended although the first moves alone gain nothing, and the moves of one epoch may
// gain less than min_gain_percent; a rest of a way that gains less stays undone.
//
// Never lowers the throughput and never empties a stage. While the rates stay the same no
// assignment comes twice. Idle peers are left to choose_stage(). As costly as StageSearch to its
// end.
std::vector<StageMove> plan_moves(const PipelineRates& rates,
                                  const Assignment& current,
                                  const RebalancePolicy& policy);

}  // namespace hobnob
