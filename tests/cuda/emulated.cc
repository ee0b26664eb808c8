#include "tests/cuda/emulated.h"

#include <algorithm>

// The stand-in for CUDA comes before the kernels.
// clang-format off
#include "tests/support/simt/cuda.h"
#include "cuda/block_kernels.cuh"
#include "cuda/entropy_kernels.cuh"
#include "cuda/top_k_kernels.cuh"

// clang-format on

namespace hobnob {

namespace {

// Fewer blocks of the grid than there is work for, so that each does more than one thing.
auto launcher(std::uint64_t seed) {
  return [seed](auto kernel, std::size_t blocks, const auto& args) {
    const auto grid = static_cast<unsigned>(std::min<std::size_t>(blocks, 2));
    simt::launch({.grid = grid, .block = gpu::kThreads, .seed = seed}, [&] { kernel(args); });
  };
}

}  // namespace

bool encode_emulated(const gpu::EncodeJob& job, std::uint64_t seed) {
  return gpu::encode_with(job, launcher(seed));
}

bool decode_add_emulated(CodecId codec,
                         std::span<const gpu::DecodePart> parts,
                         float* into,
                         std::size_t count,
                         std::uint64_t seed) {
  return gpu::decode_add_with(codec, parts, into, count, launcher(seed));
}

void encode_emulated(const gpu::EntropyEncodeJob& job, std::uint64_t seed) {
  launcher(seed)(gpu::entropy_encode_kernel, message::frames_of(job.count), job);
}

void decode_add_emulated(const gpu::EntropyDecodeJob& job, std::uint64_t seed) {
  launcher(seed)(gpu::entropy_decode_kernel, message::frames_of(job.count), job);
}

void encode_emulated(const gpu::TopKEncodeJob& job, std::uint64_t seed) {
  for (const gpu::MagnitudeBits level : gpu::kTopKLevels) {
    simt::launch({.grid = 2, .block = gpu::kThreads, .seed = seed},
                 [&] { gpu::top_k_count_kernel(job, level); });
  }
  launcher(seed)(gpu::top_k_encode_kernel, message::frames_of(job.count), job);
}

void decode_add_emulated(const gpu::TopKDecodeJob& job, std::uint64_t seed) {
  launcher(seed)(gpu::top_k_decode_kernel, message::frames_of(job.count), job);
}

std::size_t kernel_message_bytes(CodecId codec, std::size_t count) {
  std::size_t bytes = 0;
  gpu::with_rule(codec,
                 [&](auto rule) { bytes = message::message_bytes(decltype(rule)::kShape, count); });
  return bytes;
}

}  // namespace hobnob
