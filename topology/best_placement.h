#pragma once

#include <cstddef>

#include "topology/pipeline.h"

namespace hobnob {

// An assignment with the highest throughput possible, or, when the search had to give up, the best
// one it met. The problem is NP-hard (max-min allocation, "Santa Claus").
struct BestPlacement {
  Assignment assignment;
  bool is_optimal = false;  // proven
};

// Branch and bound from place(), pruned by the prices of dual_bound(); peers with equal rates are
// interchangeable, and so are stages. For tests and what-if questions: 14 peers on 4 stages are
// proven at once, 20 different ones without memory or link limits are not. Gives up after
// `max_nodes`, less than a second. O(max_nodes x stages^2).
BestPlacement best_placement(const PipelineRates& rates, std::size_t max_nodes = 20'000'000);

}  // namespace hobnob
