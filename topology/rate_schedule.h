#pragma once

#include "topology/rating.h"
#include "topology/schedule.h"
#include "topology/view_disagreement.h"

namespace hobnob {

// The rounds of a schedule among the members of a view, as the analyses read them.
MixingSequence sequence_of(const Schedule& schedule, const MembershipView& view);

// The row of the table for this schedule among `size` peers. CECA is rated with its two buffers:
// exact for every size, and without steady state, which is not defined for them. Where the seed
// draws the graph or the rounds, the median of a few draws. `config` must be valid.
Rating rate_schedule(const TopologyConfig& config, std::size_t size, const RatingConfig& rating);

// 20 rounds in which one newcomer is known to a share of the `size` others only.
ViewDisagreement rate_newcomer(const TopologyConfig& config,
                               std::size_t size,
                               double known_by,
                               std::uint64_t seed);

}  // namespace hobnob
