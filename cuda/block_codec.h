#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compress/codec.h"

// The codecs of fixed length on the device: the bytes and the state of BlockCodec, bit for bit. All
// pointers are to device memory, all calls are asynchronous on the stream, errors of CUDA are bugs.

struct CUstream_st;

namespace hobnob::gpu {

using Stream = CUstream_st*;  // cudaStream_t

constexpr std::size_t kMaxFused = 4;

struct EncodeJob {
  CodecId codec = CodecId::kInt8;
  const float* values = nullptr;  // (count,)
  // What is encoded is values - base; null: the values.
  const float* base = nullptr;
  // Null, or `base`, to which the decoded message is added (Codec::encode_advance()).
  float* advance = nullptr;
  std::size_t count = 0;
  std::uint64_t key = 0;         // philox_key() of codecs that round at random
  std::byte* message = nullptr;  // Codec::max_bytes() of them, 16-byte aligned
  unsigned* poisoned = nullptr;  // blocks that were sent as zeros are added to it
};

// A message that Codec::check() has passed on the host, and the factor it is added with.
struct DecodePart {
  const std::byte* message = nullptr;  // 16-byte aligned
  float factor = 1.0F;
};

bool has_kernels(CodecId codec);

void encode(const EncodeJob& job, Stream stream);

// into (count,) += factor * values, for 1 to kMaxFused parts, in one pass over `into`.
void decode_add(CodecId codec,
                std::span<const DecodePart> parts,
                float* into,
                std::size_t count,
                Stream stream);

}  // namespace hobnob::gpu
