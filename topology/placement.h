#pragma once

#include <cstddef>
#include <optional>

#include "topology/pipeline.h"

// Which peer serves which stage of a pipeline. Pure functions: every peer that knows the same rates
// comes to the same answer.

namespace hobnob {

// An assignment from scratch: the fastest peers first, each to the weakest stage it can serve
// (longest processing time first; Graham, SIAM J. Appl. Math. 17(2), 1969), then the moves and
// swaps of StageSearch; the same from 16 other orders if the search's budget lasts, and the best of
// all. A peer that can serve no stage stays idle; every stage is served if that is possible.
Assignment place(const PipelineRates& rates);

// The stage a joiner takes: the weakest one that it can serve (SWARM's and Petals' rule); of
// equals the one its hash picks, so that peers who join at once spread. Empty: it can serve none.
// `assignment` says who serves what now; the joiner's own entry is ignored. O(peers + stages).
std::optional<std::uint32_t> choose_stage(const PipelineRates& rates,
                                          const Assignment& assignment,
                                          std::size_t joiner);

}  // namespace hobnob
