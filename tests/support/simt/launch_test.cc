// What the stand-in for a GPU must see: each of these kernels is wrong on a device, or right.

#include "tests/support/simt/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/simt/cuda.h"

namespace hobnob::simt {
namespace {

std::string error_of(const Launch& how, const std::function<void()>& kernel) {
  try {
    launch(how, kernel);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

constexpr std::uint32_t kAll = ~0U;

TEST(Simt, ShufflesAndReducesInAnyOrderOfLanes) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    std::vector<std::int32_t> sums(64);
    std::vector<std::uint32_t> ballots(64);
    launch({.block = 64, .seed = seed}, [&] {
      const auto own = static_cast<std::int32_t>(threadIdx.x);
      std::int32_t sum = own;
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(kAll, sum, distance);
      }
      sums[threadIdx.x] = sum;
      ballots[threadIdx.x] = __ballot_sync(kAll, own % 3 == 0);
    });
    EXPECT_EQ(sums[5], 31 * 16);
    EXPECT_EQ(sums[40], 31 * 16 + 32 * 32);
    EXPECT_EQ(ballots[0], 0x49249249U);
    EXPECT_EQ(ballots[63], 0x92492492U);
  }
}

TEST(Simt, BarriersOrderSharedMemory) {
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    std::vector<unsigned> found(128);
    std::vector<unsigned> shared(128);
    launch({.grid = 2, .block = 128, .seed = seed}, [&] {
      shared[threadIdx.x] = threadIdx.x + 1000 * blockIdx.x;
      __syncthreads();
      found[threadIdx.x] = shared[127 - threadIdx.x];
    });
    EXPECT_EQ(found[0], 1127U);
    EXPECT_EQ(found[127], 1000U);
  }
}

// A missing barrier gives another result in some order.
TEST(Simt, OrdersShowWhatABarrierWouldHide) {
  std::vector<unsigned> sums;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<unsigned> shared(32);
    std::vector<unsigned> found(32);
    launch({.seed = seed}, [&] {
      shared[threadIdx.x] = threadIdx.x + 1;
      found[threadIdx.x] = shared[31 - threadIdx.x];
    });
    sums.push_back(std::accumulate(found.begin(), found.end(), 0U));
  }
  EXPECT_GT(std::ranges::max(sums), std::ranges::min(sums));
}

TEST(Simt, RefusesALaneThatEndedOrWaitsElsewhere) {
  const auto ended = [] {
    if (threadIdx.x != 7) {
      __syncwarp();
    }
  };
  EXPECT_NE(error_of({}, ended).find("7:ended"), std::string::npos);
  const auto elsewhere = [] {
    if (threadIdx.x < 16) {
      __syncwarp();
    } else {
      __ballot_sync(kAll, 1);
    }
  };
  EXPECT_NE(error_of({.seed = 3}, elsewhere).find("no lane can go on"), std::string::npos);
  const auto half_barrier = [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    }
  };
  EXPECT_NE(error_of({.block = 64}, half_barrier).find("__syncthreads"), std::string::npos);
}

TEST(Simt, RefusesLanesOutsideTheMask) {
  const auto caller = [] { __shfl_sync(0xffffU, 1, 0); };
  EXPECT_NE(error_of({}, caller).find("outside its mask"), std::string::npos);
  const auto source = [] {
    if (threadIdx.x < 16) {
      __shfl_sync(0xffffU, 1, 20);
    }
  };
  EXPECT_NE(error_of({}, source).find("outside its mask"), std::string::npos);
}

TEST(Simt, RunsTwoMasksOfOneWarpApart) {
  std::vector<int> found(32);
  launch({.seed = 1}, [&] {
    const std::uint32_t mask = threadIdx.x < 16 ? 0xffffU : 0xffff0000U;
    found[threadIdx.x] = __reduce_add_sync(mask, 1 + static_cast<int>(threadIdx.x / 16));
  });
  EXPECT_EQ(found[0], 16);
  EXPECT_EQ(found[31], 32);
}

TEST(Simt, RefusesABlockThatIsNotWholeWarps) {
  EXPECT_NE(error_of({.block = 40}, [] {}), "");
}

}  // namespace
}  // namespace hobnob::simt
