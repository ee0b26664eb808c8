#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/block_codec.h"
#include "cuda/varying_message.h"

// top-k with exact selection on the device: the frames and the state of TopKCodec, bit for bit.
// Pointers are to device memory, calls are asynchronous on the stream, errors of CUDA are bugs.

namespace hobnob::gpu {

// Where the k-th magnitude lies, found 12, 12 and 7 bits at a time. Zeros before.
struct TopKCut {
  std::uint32_t bins[4096];
  unsigned finished;     // blocks of the grid
  std::uint32_t prefix;  // the upper bits of the k-th magnitude
  std::uint64_t ties;    // how many of those with this prefix are among the k
};

struct TopKEncodeJob {
  const float* values = nullptr;  // (count,)
  const float* base = nullptr;    // what is encoded is values - base; null: the values
  float* advance = nullptr;       // null, or `base`, to which the decoded message is added
  std::size_t count = 0;
  std::size_t kept = 0;  // kept_count(density, count)
  TopKCut* cut = nullptr;
  // (frames + 1,): 1 + values equal to the k-th before each frame. Zeros before.
  std::uint64_t* ties_before = nullptr;
  VaryingOut out;
  std::byte* scratch = nullptr;  // kFrameGrid x kFrameScratch, 16-byte aligned
};

struct TopKDecodeJob {
  // A message that TopKCodec::check() has passed on the host; 16-byte aligned.
  const std::byte* message = nullptr;
  const std::uint64_t* offsets = nullptr;  // (frames,): where each begins
  std::size_t count = 0;
  float factor = 1.0F;
  float* into = nullptr;  // (count,) += factor * values
};

// Reads the values four times: three times for the cut.
void encode(const TopKEncodeJob& job, Stream stream);
void decode_add(const TopKDecodeJob& job, Stream stream);

}  // namespace hobnob::gpu
