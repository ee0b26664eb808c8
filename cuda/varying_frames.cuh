#pragma once

#include "cuda/frame_hash.cuh"
#include "cuda/varying_message.h"

// Frames of messages whose length follows the values. A block of the grid makes one at a time, in
// scratch of its own; then the frame goes to its place behind the one before.

namespace hobnob::gpu {

// The next frame that nobody has begun; all threads of the block together. Frames are begun in
// their order, so that the one before is always being made.
__device__ inline std::size_t next_frame(const VaryingOut& out) {
  __shared__ unsigned ticket;
  __syncthreads();
  if (threadIdx.x == 0) {
    ticket = atomicAdd(out.ticket, 1U);
  }
  __syncthreads();
  return ticket;
}

// What the frame before left at `at`, which is not 0; one thread waits for it.
__device__ inline std::uint64_t wait_for(const std::uint64_t* at) {
  const auto* place = reinterpret_cast<const volatile std::uint64_t*>(at);
  std::uint64_t value = 0;
  while (value == 0) {
    value = *place;
  }
  return value;
}

// Copies a body of `bytes` bytes, zeros up to the next multiple of 16 following, with its header to
// where the frame before ends. All threads.
__device__ inline void place_frame(const VaryingOut& out,
                                   std::size_t index,
                                   const std::byte* body,
                                   std::size_t bytes,
                                   unsigned poisoned) {
  __shared__ std::uint64_t offset;
  const std::size_t padded = message::round_up(bytes, 16);
  const std::uint32_t flags =
      (bytes == 0 ? message::kZero : 0U) | (poisoned > 0 ? message::kPoison : 0U);
  const auto* words = reinterpret_cast<const std::uint32_t*>(body);
  const std::uint64_t checksum = hash_body(words, bytes, std::uint64_t{index} << 8U | flags);
  if (threadIdx.x == 0) {
    if (index == 0) {
      out.offsets[0] = message::kHeaderBytes;
    }
    offset = wait_for(out.offsets + index);
    out.offsets[index + 1] = offset + message::kFrameHeaderBytes + padded;
    __threadfence();
    store_frame_header(out.message + offset, checksum, bytes, flags);
    if (poisoned > 0) {
      atomicAdd(out.poisoned, poisoned);
    }
  }
  __syncthreads();
  auto* to = reinterpret_cast<std::uint32_t*>(out.message + offset + message::kFrameHeaderBytes);
  for (std::size_t k = threadIdx.x; k < padded / 4; k += kThreads) {
    to[k] = words[k];
  }
}

}  // namespace hobnob::gpu
