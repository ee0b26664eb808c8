#include "apps/data/sampler.h"

#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

constexpr std::uint64_t kEpochStream = 0x65706F6368ULL;

}  // namespace

void shuffle_samples(std::span<std::uint32_t> values, Rng& rng) {
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[rng.below(left)]);
  }
}

BatchSampler::BatchSampler(std::vector<std::uint32_t> samples, std::size_t batch, RngKey key)
    : samples_(std::move(samples)), key_(key), batch_(batch) {
  HOBNOB_CHECK(!samples_.empty() && batch > 0, "a sampler needs samples and a batch size");
  order_.resize(samples_.size());
  use_epoch(0);
}

std::span<const std::uint32_t> BatchSampler::batch(std::uint64_t step) {
  const std::uint64_t first = step * batch_.size();
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const std::uint64_t position = first + k;
    if (position / samples_.size() != epoch_) {
      use_epoch(position / samples_.size());
    }
    batch_[k] = order_[position % samples_.size()];
  }
  return batch_;
}

void BatchSampler::use_epoch(std::uint64_t epoch) {
  order_ = samples_;
  Rng rng({key_.seed, hash3(kEpochStream, key_.stream, epoch)});
  shuffle_samples(order_, rng);
  epoch_ = epoch;
}

}  // namespace hobnob
