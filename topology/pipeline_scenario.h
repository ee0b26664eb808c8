#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "topology/pipeline.h"
#include "topology/rebalance.h"

namespace hobnob {

// A pipeline and the peers that could serve it, as a file tells it.
struct PipelineScenario {
  Pipeline pipeline;
  std::vector<PeerResources> peers;  // ids 1, 2, ... in the order of the file
  std::vector<std::string> names;    // (peers,), distinct
  Assignment current;                // (peers,), the stages the file gives; kIdle without one
  RebalancePolicy policy;
};

// Reads
//   {"input_bytes": 0,
//    "stages": [{"work": 1, "memory_bytes": 0, "activation_bytes": 0}, ...],
//    "peers": [{"name": "a", "speed": 8, "memory_bytes": 4e10, "up": 1.25e8, "down": 1.25e8,
//               "stage": 0}, ...],
//    "rebalance": {"min_gain_percent": 3, "max_movers": 4, "horizon_s": 1800, "sync_s": 10}}
// with `up` and `down` in bytes/s. Required: stages with work, peers with speed; a peer without
// memory, up or down has no such limit, one without a stage is idle. `source` names the text in
// errors, which name the key. O(text).
Result<PipelineScenario> parse_pipeline_scenario(std::string_view text, std::string_view source);

// The reference pipelines, whose optima are known:
//   a        4 equal stages, 10 peers of speeds 1 to 8: 8
//   b        5 stages with memory, links and 3 classes too small for some: 3.90625
//   b-int8   the same with half the activation bytes: 5
//   c        4 equal stages, 16 peers, 4 of a speed, already balanced: 15
//   d        8 stages, 64 different peers: at least 99.9 % of 33.88010
Result<PipelineScenario> pipeline_example(std::string_view name);
// All of them, in this order.
const std::vector<std::string>& pipeline_example_names();

}  // namespace hobnob
