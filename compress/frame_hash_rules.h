#pragma once

#include <cstdint>

#include "compress/element_rules.h"
#include "runtime/base/hash.h"

// The arithmetic of frame_hash(), for CPU and GPU.

namespace hobnob::frame_hash_rules {

constexpr std::uint32_t kLanes = 128;
constexpr std::uint32_t kPrime1 = 0x9E3779B1U;  // of xxHash32 (BSD-2 specification)
constexpr std::uint32_t kPrime2 = 0x85EBCA77U;

HOBNOB_HOST_DEVICE inline std::uint32_t start(std::uint32_t lane, std::uint64_t seed) {
  const auto folded = static_cast<std::uint32_t>(seed ^ (seed >> 32U));
  return folded * kPrime2 + (lane + 1) * kPrime1;
}

HOBNOB_HOST_DEVICE inline std::uint32_t absorb(std::uint32_t lane, std::uint32_t word) {
  const std::uint32_t sum = lane + word * kPrime2;
  return ((sum << 13U) | (sum >> 19U)) * kPrime1;
}

// The share of lanes 2 k and 2 k + 1; the shares are joined by exclusive or.
HOBNOB_HOST_DEVICE inline std::uint64_t share(std::uint32_t k,
                                              std::uint32_t even,
                                              std::uint32_t odd) {
  const std::uint64_t pair = std::uint64_t{odd} << 32U | even;
  return mix64(mix64(pair) + k);
}

HOBNOB_HOST_DEVICE inline std::uint64_t finish(std::uint64_t shares,
                                               std::uint64_t length,
                                               std::uint64_t seed) {
  return mix64(mix64(shares ^ length) + seed);
}

}  // namespace hobnob::frame_hash_rules
