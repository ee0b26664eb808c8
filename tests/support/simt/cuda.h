#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "tests/support/simt/launch.h"

// The part of CUDA that our kernels use, for a host compiler. To be included before them.

// NOLINTBEGIN: names are CUDA's.
#define __global__ static
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(threads)
#define __shared__ static  // one block of the grid runs at a time

#define threadIdx (::hobnob::simt::thread_index)
#define blockIdx (::hobnob::simt::block_index)
#define blockDim (::hobnob::simt::block_size)
#define gridDim (::hobnob::simt::grid_size)

struct alignas(16) float4 {
  float x, y, z, w;
};

struct alignas(8) uint2 {
  unsigned x, y;
};

namespace hobnob::simt {

template <typename T>
std::uint64_t bits_of(T value) {
  static_assert(sizeof value <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
T shuffle(const char* call, std::uint32_t mask, T value, unsigned source) {
  const Gathered& all = gather(call, mask, bits_of(value));
  if ((mask >> source & 1U) == 0) {
    fail(std::string(call) + " reads from a lane outside its mask");
  }
  return value_of<T>(all.value[source]);
}

template <typename T, typename Op>
T reduce(const char* call, std::uint32_t mask, T value, T start, Op op) {
  const Gathered& all = gather(call, mask, bits_of(value));
  for (unsigned lane = 0; lane < 32; ++lane) {
    start = (mask >> lane & 1U) != 0 ? op(start, value_of<T>(all.value[lane])) : start;
  }
  return start;
}

}  // namespace hobnob::simt

template <typename T>
T __shfl_sync(std::uint32_t mask, T value, int source) {
  return hobnob::simt::shuffle("__shfl_sync", mask, value, static_cast<unsigned>(source) % 32);
}

template <typename T>
T __shfl_xor_sync(std::uint32_t mask, T value, int distance) {
  return hobnob::simt::shuffle("__shfl_xor_sync", mask, value,
                               hobnob::simt::current_lane() ^ static_cast<unsigned>(distance));
}

// Lanes before the first keep their own.
template <typename T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned distance) {
  const unsigned lane = hobnob::simt::current_lane();
  return hobnob::simt::shuffle("__shfl_up_sync", mask, value,
                               lane < distance ? lane : lane - distance);
}

inline std::uint32_t __ballot_sync(std::uint32_t mask, int predicate) {
  const auto& all = hobnob::simt::gather("__ballot_sync", mask, predicate != 0 ? 1 : 0);
  std::uint32_t bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    bits |= static_cast<std::uint32_t>(all.value[lane]) << lane;
  }
  return bits;
}

inline std::uint32_t __reduce_max_sync(std::uint32_t mask, std::uint32_t value) {
  return hobnob::simt::reduce("__reduce_max_sync", mask, value, 0U,
                              [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; });
}

inline std::int32_t __reduce_add_sync(std::uint32_t mask, std::int32_t value) {
  return hobnob::simt::reduce("__reduce_add_sync", mask, value, 0,
                              [](std::int32_t a, std::int32_t b) { return a + b; });
}

inline void __syncwarp(std::uint32_t mask = 0xffffffffU) {
  hobnob::simt::gather("__syncwarp", mask, 0);
}

inline void __syncthreads() {
  hobnob::simt::any_of_block("__syncthreads", false);
}

inline int __syncthreads_or(int predicate) {
  return hobnob::simt::any_of_block("__syncthreads_or", predicate != 0) ? 1 : 0;
}

inline int __popc(std::uint32_t bits) {
  return std::popcount(bits);
}

template <typename T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at = before + value;
  return before;
}

template <typename T>
T atomicMax(T* at, T value) {
  const T before = *at;
  *at = before < value ? value : before;
  return before;
}

template <typename T>
T atomicOr(T* at, T value) {
  const T before = *at;
  *at = before | value;
  return before;
}

inline void __threadfence() {}

// NOLINTEND
