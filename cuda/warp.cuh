#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/element_rules.h"

// What a warp does together. Kernels are plain CUDA; tests include them after support/simt/cuda.h,
// which stands in for the device, and run every lane on a CPU.

namespace hobnob::gpu {

constexpr unsigned kAllLanes = 0xffffffffU;
constexpr unsigned kWarpLanes = 32;
constexpr unsigned kThreads = 256;  // of a block of the grid
constexpr unsigned kWarps = kThreads / kWarpLanes;

// One 256-block is one warp's: lane l holds value 128 (i / 4) + 4 l + i % 4 as number i of 8, so
// that each half is one load of 16 bytes.
constexpr unsigned kLaneValues = 8;
using LaneValues = float[kLaneValues];

__device__ inline unsigned value_index(unsigned lane, unsigned i) {
  return 128 * (i / 4) + 4 * lane + i % 4;
}

__device__ inline unsigned this_lane() {
  return threadIdx.x % kWarpLanes;
}

__device__ inline unsigned this_warp() {
  return threadIdx.x / kWarpLanes;
}

__device__ inline std::uint32_t max_of(std::uint32_t a, std::uint32_t b) {
  return a > b ? a : b;
}

// Over the 16 lanes of each half of the warp.
__device__ inline std::uint32_t max_of_half(std::uint32_t value) {
  for (int distance = 8; distance > 0; distance /= 2) {
    value = max_of(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

__device__ inline std::int32_t sum_of_half(std::int32_t value) {
  for (int distance = 8; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

__device__ inline bool is_aligned(const void* at, std::size_t unit) {
  return reinterpret_cast<std::uintptr_t>(at) % unit == 0;
}

// The lane's share of values (count,), count <= 256; zeros after them.
__device__ inline void load_values(const float* from, unsigned count, LaneValues& d) {
  const unsigned lane = this_lane();
  if (count == 256 && is_aligned(from, sizeof(float4))) {
    for (unsigned half = 0; half < 2; ++half) {
      const float4 v = reinterpret_cast<const float4*>(from)[32 * half + lane];
      d[4 * half] = v.x;
      d[4 * half + 1] = v.y;
      d[4 * half + 2] = v.z;
      d[4 * half + 3] = v.w;
    }
    return;
  }
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const unsigned at = value_index(lane, i);
    d[i] = at < count ? from[at] : 0.0F;
  }
}

__device__ inline void store_values(const LaneValues& d, unsigned count, float* to) {
  const unsigned lane = this_lane();
  if (count == 256 && is_aligned(to, sizeof(float4))) {
    for (unsigned half = 0; half < 2; ++half) {
      reinterpret_cast<float4*>(to)[32 * half + lane] =
          float4{d[4 * half], d[4 * half + 1], d[4 * half + 2], d[4 * half + 3]};
    }
    return;
  }
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const unsigned at = value_index(lane, i);
    if (at < count) {
      to[at] = d[i];
    }
  }
}

}  // namespace hobnob::gpu
