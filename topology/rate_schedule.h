#pragma once

#include "topology/rating.h"
#include "topology/schedule.h"

namespace hobnob {

// The rounds of a schedule among the members of a view, as the analyses read them.
MixingSequence sequence_of(const Schedule& schedule, const MembershipView& view);

// The row of the table for this schedule among `size` peers. CECA is rated with its two buffers:
// exact for every size, and without steady state, which is not defined for them. `config` must be
// valid.
Rating rate_schedule(const TopologyConfig& config, std::size_t size, const RatingConfig& rating);

}  // namespace hobnob
