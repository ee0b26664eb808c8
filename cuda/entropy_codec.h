#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/block_codec.h"
#include "cuda/varying_message.h"

// eq, entropy-coded levels, on the device: the frames and the state of EntropyCodec, bit for bit.
// Pointers are to device memory, calls are asynchronous on the stream, errors of CUDA are bugs.

namespace hobnob::gpu {

struct EntropyEncodeJob {
  const float* values = nullptr;  // (count,)
  const float* base = nullptr;    // what is encoded is values - base; null: the values
  float* advance = nullptr;       // null, or `base`, to which the decoded message is added
  std::size_t count = 0;
  float step = 0.5F;  // EntropyConfig
  float rounding = 0.5F;
  VaryingOut out;
  std::byte* scratch = nullptr;  // kFrameGrid x kFrameScratch, 16-byte aligned
};

struct EntropyDecodeJob {
  // A message that EntropyCodec::check() has passed on the host; 16-byte aligned.
  const std::byte* message = nullptr;
  const std::uint64_t* offsets = nullptr;  // (frames,): where each begins
  std::size_t count = 0;
  float factor = 1.0F;
  float* into = nullptr;  // (count,) += factor * values
  std::byte* scratch = nullptr;
};

void encode(const EntropyEncodeJob& job, Stream stream);
void decode_add(const EntropyDecodeJob& job, Stream stream);

}  // namespace hobnob::gpu
