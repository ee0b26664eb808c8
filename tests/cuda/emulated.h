#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/block_codec.h"
#include "cuda/entropy_codec.h"
#include "cuda/top_k_codec.h"

namespace hobnob {

// A message in memory that starts as device memory does; filled with ones before it is written.
struct MessageBuffer {
  explicit MessageBuffer(std::size_t size)
      : words((size + 7) / 8, ~std::uint64_t{0}), bytes(size) {}

  std::byte* data() { return reinterpret_cast<std::byte*>(words.data()); }

  std::span<const std::byte> span() const { return std::as_bytes(std::span(words)).first(bytes); }

  std::vector<std::uint64_t> words;
  std::size_t bytes = 0;
};

// The kernels of cuda/, run lane by lane on this machine, on host memory. The seed chooses the
// order of the lanes. False: the codec has none.
bool encode_emulated(const gpu::EncodeJob& job, std::uint64_t seed);
bool decode_add_emulated(CodecId codec,
                         std::span<const gpu::DecodePart> parts,
                         float* into,
                         std::size_t count,
                         std::uint64_t seed);

void encode_emulated(const gpu::EntropyEncodeJob& job, std::uint64_t seed);
void decode_add_emulated(const gpu::EntropyDecodeJob& job, std::uint64_t seed);

void encode_emulated(const gpu::TopKEncodeJob& job, std::uint64_t seed);
void decode_add_emulated(const gpu::TopKDecodeJob& job, std::uint64_t seed);

// Of messages with kernels; 0: the codec has none.
std::size_t kernel_message_bytes(CodecId codec, std::size_t count);

}  // namespace hobnob
