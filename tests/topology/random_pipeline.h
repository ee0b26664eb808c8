#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/base/rng.h"
#include "topology/pipeline.h"

// Pipelines at random for property tests.

namespace hobnob {

struct RandomPipelineConfig {
  std::size_t peers = 64;
  std::size_t stages = 8;
  std::uint64_t seed = 1;
  // Memory and links count too: some peers cannot serve some stages.
  bool is_limited = true;
};

// Lognormal speeds (and links), stage work 1 to 2.
inline std::vector<PeerResources> random_peers(const RandomPipelineConfig& config) {
  Rng rng({.seed = config.seed, .stream = 0xBEE5});
  std::vector<PeerResources> peers;
  for (std::size_t p = 0; p < config.peers; ++p) {
    PeerResources peer{.id = {.high = 0, .low = p + 1}, .speed = std::exp(rng.normal())};
    if (config.is_limited) {
      peer.memory_bytes = 0.5 + 2.0 * rng.uniform();
      peer.up = std::exp(rng.normal());
      peer.down = std::exp(rng.normal());
    }
    peers.push_back(peer);
  }
  return peers;
}

inline Pipeline random_stages(const RandomPipelineConfig& config) {
  Rng rng({.seed = config.seed, .stream = 0x57A6E});
  Pipeline pipeline;
  for (std::size_t s = 0; s < config.stages; ++s) {
    StageCost stage{.work = 1.0 + rng.uniform()};
    if (config.is_limited) {
      stage.memory_bytes = rng.uniform();
      stage.activation_bytes = rng.uniform();
    }
    pipeline.stages.push_back(stage);
  }
  return pipeline;
}

inline PipelineRates random_rates(const RandomPipelineConfig& config) {
  return {random_peers(config), random_stages(config)};
}

inline Assignment random_assignment(const PipelineRates& rates, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 0xA55});
  Assignment assignment(rates.peer_count());
  for (std::uint32_t& stage : assignment) {
    stage = static_cast<std::uint32_t>(rng.below(rates.stage_count()));
  }
  return assignment;
}

}  // namespace hobnob
