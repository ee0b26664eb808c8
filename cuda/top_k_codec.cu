#include "cuda/top_k_codec.h"

#include <algorithm>

#include "cuda/check.h"
#include "cuda/top_k_kernels.cuh"

namespace hobnob::gpu {

namespace {

unsigned grid_of(std::size_t count) {
  return static_cast<unsigned>(
      std::min<std::size_t>(message::frames_of(count), std::size_t{kFrameGrid}));
}

}  // namespace

void encode(const TopKEncodeJob& job, Stream stream) {
  if (job.count == 0) {
    return;
  }
  for (const MagnitudeBits level : kTopKLevels) {
    top_k_count_kernel<<<kFrameGrid, kThreads, 0, stream>>>(job, level);
    check_cuda(cudaGetLastError(), "kernel launch");
  }
  top_k_encode_kernel<<<grid_of(job.count), kThreads, 0, stream>>>(job);
  check_cuda(cudaGetLastError(), "kernel launch");
}

void decode_add(const TopKDecodeJob& job, Stream stream) {
  if (job.count > 0) {
    top_k_decode_kernel<<<grid_of(job.count), kThreads, 0, stream>>>(job);
    check_cuda(cudaGetLastError(), "kernel launch");
  }
}

}  // namespace hobnob::gpu
