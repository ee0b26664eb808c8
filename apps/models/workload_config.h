#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/data/data_config.h"
#include "apps/models/quadratic.h"
#include "gossip/workload.h"
#include "runtime/base/result.h"

namespace hobnob {

// What is trained.
struct WorkloadConfig {
  std::string kind = "mlp";  // "quadratic", "softmax" or "mlp"
  // softmax, mlp: widths {features, hidden..., classes}. Empty: {features, classes} for softmax and
  // {features, 256, classes} for mlp.
  std::vector<std::size_t> layers{};
  // softmax, mlp: samples a step; larger is a steadier gradient and a slower step.
  std::size_t batch = 32;
  Rows curvature{};  // quadratic: (peers, d), row `shard` is this peer's
  Rows target{};
};

// `seed` is the run's (data, partition, first parameters: equal on all peers), `peer_stream` this
// peer's (order of its samples).
Result<std::unique_ptr<Workload>> make_workload(const WorkloadConfig& config,
                                                const DataConfig& data,
                                                std::uint32_t shard,
                                                std::uint64_t seed,
                                                std::uint64_t peer_stream);

// The same with data loaded once for all peers of the process: load_data(config, seed), same seed.
Result<std::unique_ptr<Workload>> make_workload(const WorkloadConfig& config,
                                                const LoadedData& data,
                                                std::uint32_t shard,
                                                std::uint64_t seed,
                                                std::uint64_t peer_stream);

}  // namespace hobnob
