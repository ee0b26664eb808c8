#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/base/hash.h"
#include "topology/schedule.h"

// What the schedules build their plans of. `self`, peers and members are all ranks or all
// positions.

namespace hobnob {

inline constexpr Weight kHalf{1, 2};

// Epoch 0 leaves the seed alone; the golden vectors are of epoch 0.
constexpr std::uint64_t epoch_seed(std::uint64_t seed, std::uint64_t epoch) {
  return seed ^ (epoch == 0 ? 0 : mix64(epoch));
}

// ceil(log2 size), 0 for size <= 1.
constexpr std::uint32_t ceil_log2(std::uint32_t size) {
  return size <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(size - 1));
}

// Both take `weight` of each other.
RoundPlan pair_with(std::uint32_t peer, const Weight& weight = kHalf);

// All members, self among them, take their mean. Nothing when self is alone.
RoundPlan clique_of(std::vector<std::uint32_t> members, std::uint32_t self);

// On a circle of `size` > `shift` > 0 positions: gives `weight` to self + shift and takes as much
// of self - shift.
RoundPlan shift_by(std::uint32_t self,
                   std::uint32_t size,
                   std::uint32_t shift,
                   const Weight& weight);

}  // namespace hobnob
