#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/rng.h"

namespace hobnob {

// Fisher-Yates; unlike std::shuffle the same on every standard library.
void shuffle_samples(std::span<std::uint32_t> values, Rng& rng);

// Which samples are in batch number `step`: every epoch is a new shuffle of the peer's samples, and
// batches run through the epochs one after the other, so a batch can hold the end of one and the
// start of the next. A function of its arguments alone; the shuffle of the last epoch asked for is
// kept. One thread.
class BatchSampler {
 public:
  // `samples` is not empty and batch > 0.
  BatchSampler(std::vector<std::uint32_t> samples, std::size_t batch, RngKey key);

  // (batch,), valid until the next call. Costs O(samples) when the epoch changes, else O(batch);
  // does not allocate.
  std::span<const std::uint32_t> batch(std::uint64_t step);

 private:
  void use_epoch(std::uint64_t epoch);

  std::vector<std::uint32_t> samples_;
  RngKey key_;
  std::vector<std::uint32_t> order_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> batch_;
};

}  // namespace hobnob
