#include "apps/data/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "apps/data/sampler.h"
#include "runtime/base/rng.h"

namespace hobnob {

namespace {

constexpr std::uint64_t kIidStream = 0x706172746969ULL;
constexpr std::uint64_t kClassStream = 0x70617274636CULL;

std::vector<std::uint32_t> cut_evenly(std::span<const std::uint32_t> shuffled,
                                      std::uint32_t shards,
                                      std::uint32_t shard) {
  const std::size_t begin = shuffled.size() * shard / shards;
  const std::size_t end = shuffled.size() * (std::size_t{shard} + 1) / shards;
  return {shuffled.begin() + static_cast<std::ptrdiff_t>(begin),
          shuffled.begin() + static_cast<std::ptrdiff_t>(end)};
}

// (shards,), sums to 1.
std::vector<double> draw_dirichlet(double alpha, std::uint32_t shards, Rng& rng) {
  std::vector<double> weights(shards);
  for (double& weight : weights) {
    weight = rng.gamma(alpha);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0.0)) {
    // A tiny alpha underflows every draw; in the limit one shard takes the class.
    weights[rng.below(shards)] = 1.0;
    return weights;
  }
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

std::vector<std::vector<std::uint32_t>> deal_by_class(std::span<const std::uint8_t> labels,
                                                      const PartitionConfig& config,
                                                      std::uint64_t seed) {
  std::array<std::vector<std::uint32_t>, 256> classes;
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    classes[labels[sample]].push_back(static_cast<std::uint32_t>(sample));
  }
  std::vector<std::vector<std::uint32_t>> shards(config.shards);
  for (std::size_t label = 0; label < classes.size(); ++label) {
    std::vector<std::uint32_t>& members = classes[label];
    Rng rng({seed, hash3(kClassStream, label, 0)});
    shuffle_samples(members, rng);
    const std::vector<double> weights = draw_dirichlet(config.alpha, config.shards, rng);
    double share = 0.0;
    std::size_t begin = 0;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      share += weights[shard];
      const double cut = std::round(share * static_cast<double>(members.size()));
      const bool is_last = shard + 1 == shards.size();
      const std::size_t end =
          is_last ? members.size() : std::min(static_cast<std::size_t>(cut), members.size());
      shards[shard].insert(shards[shard].end(),
                           members.begin() + static_cast<std::ptrdiff_t>(begin),
                           members.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
  }
  return shards;
}

// Needs at least as many samples as shards.
void fill_empty(std::vector<std::vector<std::uint32_t>>& shards) {
  for (std::vector<std::uint32_t>& shard : shards) {
    if (shard.empty()) {
      const auto largest =
          std::ranges::max_element(shards, {}, [](const auto& s) { return s.size(); });
      shard.push_back(largest->back());
      largest->pop_back();
    }
  }
}

}  // namespace

Result<void> validate(const PartitionConfig& config) {
  if (config.kind != "iid" && config.kind != "dirichlet") {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot partition the data: unknown kind '%s'; use iid or dirichlet",
                      config.kind.c_str());
  }
  if (!(config.alpha > 0.0) || !std::isfinite(config.alpha)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot partition the data: alpha is %g; it must be above 0", config.alpha);
  }
  return {};
}

Result<std::vector<std::uint32_t>> partition(std::span<const std::uint8_t> labels,
                                             const PartitionConfig& config,
                                             std::uint32_t shard,
                                             std::uint64_t seed) {
  if (Result<void> valid = validate(config); !valid.ok()) {
    return valid.error();
  }
  const std::uint32_t shards = std::max(config.shards, 1U);
  if (labels.size() < shards) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot partition the data: %zu samples for %u shards; use fewer shards",
                      labels.size(), shards);
  }
  std::vector<std::uint32_t> all(labels.size());
  std::iota(all.begin(), all.end(), 0U);
  if (shards == 1) {
    return all;
  }
  if (shard >= shards) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot partition the data: shard %u of %u; the first is 0", shard, shards);
  }
  std::vector<std::uint32_t> mine;
  if (config.kind == "iid") {
    Rng rng({seed, kIidStream});
    shuffle_samples(all, rng);
    mine = cut_evenly(all, shards, shard);
  } else {
    std::vector<std::vector<std::uint32_t>> dealt = deal_by_class(labels, config, seed);
    fill_empty(dealt);
    mine = std::move(dealt[shard]);
  }
  std::ranges::sort(mine);
  return mine;
}

}  // namespace hobnob
