#pragma once

#include <cuda_runtime_api.h>

#include "runtime/base/result.h"

namespace hobnob::gpu {

// Errors of CUDA stay with the device and are bugs: stops with their name.
inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    std::fprintf(stderr, "CUDA: %s: %s\n", what, cudaGetErrorString(error));
    std::abort();
  }
}

}  // namespace hobnob::gpu
