#pragma once

#include "compress/frame_hash_rules.h"
#include "compress/frame_layout.h"
#include "cuda/warp.cuh"

namespace hobnob::gpu {

// frame_hash() of `bytes` bytes, zeros up to the next multiple of 4 following; in every thread. All
// threads of the block of the grid together.
__device__ inline std::uint64_t hash_body(const std::uint32_t* words,
                                          std::size_t bytes,
                                          std::uint64_t seed) {
  namespace rules = frame_hash_rules;
  constexpr unsigned kHashWarps = rules::kLanes / kWarpLanes;
  __shared__ std::uint64_t shares[kHashWarps];
  const unsigned thread = threadIdx.x;
  if (thread < rules::kLanes) {  // whole warps
    const std::size_t count = (bytes + 3) / 4;
    std::uint32_t state = rules::start(thread, seed);
    const std::size_t end = message::round_up(count, rules::kLanes);
    for (std::size_t k = thread; k < end; k += rules::kLanes) {
      state = rules::absorb(state, k < count ? words[k] : 0U);
    }
    const std::uint32_t other = __shfl_xor_sync(kAllLanes, state, 1);
    std::uint64_t share = thread % 2 == 0 ? rules::share(thread / 2, state, other) : 0;
    for (int distance = 16; distance > 0; distance /= 2) {
      share ^= __shfl_xor_sync(kAllLanes, share, distance);
    }
    if (this_lane() == 0) {
      shares[this_warp()] = share;
    }
  }
  __syncthreads();
  std::uint64_t all = 0;
  for (unsigned warp = 0; warp < kHashWarps; ++warp) {
    all ^= shares[warp];
  }
  return rules::finish(all, bytes, seed);
}

// Fills a frame's header; thread 0 alone.
__device__ inline void store_frame_header(std::byte* at,
                                          std::uint64_t checksum,
                                          std::size_t payload_bytes,
                                          std::uint32_t flags) {
  *reinterpret_cast<std::uint64_t*>(at + message::kFrameChecksumAt) = checksum;
  *reinterpret_cast<std::uint32_t*>(at + message::kPayloadBytesAt) =
      static_cast<std::uint32_t>(payload_bytes);
  *reinterpret_cast<std::uint32_t*>(at + message::kFlagsAt) = flags;
}

}  // namespace hobnob::gpu
