#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// How the train set is dealt to the peers.
struct PartitionConfig {
  // "iid": equal parts of a shuffle. "dirichlet": each class is cut by proportions ~
  // Dirichlet(alpha) over the shards (Hsu, Qi, Brown, arXiv 1909.06335), so peers see different
  // labels and have different amounts.
  std::string kind = "iid";
  double alpha = 0.5;        // dirichlet only, > 0; smaller is more skewed, above 100 nearly iid
  std::uint32_t shards = 0;  // 0 or 1: every peer has everything
};

Result<void> validate(const PartitionConfig& config);

// Sample indices of one shard, ascending, never empty. The shards of one seed are disjoint and
// together the whole set. Fails when the config is wrong, the shard is not one of config.shards, or
// samples are fewer than shards.
Result<std::vector<std::uint32_t>> partition(std::span<const std::uint8_t> labels,
                                             const PartitionConfig& config,
                                             std::uint32_t shard,
                                             std::uint64_t seed);

}  // namespace hobnob
