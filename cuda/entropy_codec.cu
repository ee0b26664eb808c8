#include "cuda/entropy_codec.h"

#include <algorithm>

#include "cuda/check.h"
#include "cuda/entropy_kernels.cuh"

namespace hobnob::gpu {

namespace {

unsigned grid_of(std::size_t count) {
  return static_cast<unsigned>(
      std::min<std::size_t>(message::frames_of(count), std::size_t{kFrameGrid}));
}

}  // namespace

void encode(const EntropyEncodeJob& job, Stream stream) {
  if (job.count > 0) {
    entropy_encode_kernel<<<grid_of(job.count), kThreads, 0, stream>>>(job);
    check_cuda(cudaGetLastError(), "kernel launch");
  }
}

void decode_add(const EntropyDecodeJob& job, Stream stream) {
  if (job.count > 0) {
    entropy_decode_kernel<<<grid_of(job.count), kThreads, 0, stream>>>(job);
    check_cuda(cudaGetLastError(), "kernel launch");
  }
}

}  // namespace hobnob::gpu
