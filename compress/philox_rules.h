#pragma once

#include <cstdint>

#include "compress/element_rules.h"

// Random bits for kernels that round at random: Philox4x32-10 (Salmon et al., SC 2011) like
// runtime/base/rng.h, for CPU and GPU. 16 bits serve one value: element e of block b takes word e %
// 4 of counter 32 b + e % 128 / 4, its lower half when e < 128, its upper half else. So a warp's
// lane draws once for its eight values.

namespace hobnob::element {

constexpr std::uint32_t kPhiloxRounds = 10;
constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kPhiloxMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kPhiloxWeyl1 = 0xBB67AE85U;
constexpr std::uint64_t kCountersPerBlock = 32;

struct PhiloxWords {
  std::uint32_t word[4];
};

HOBNOB_HOST_DEVICE inline PhiloxWords philox(std::uint64_t counter, std::uint64_t key) {
  PhiloxWords c{
      {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), 0, 0}};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32U);
  for (std::uint32_t round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMultiplier0} * c.word[0];
    const std::uint64_t p1 = std::uint64_t{kPhiloxMultiplier1} * c.word[2];
    c = {{static_cast<std::uint32_t>(p1 >> 32U) ^ c.word[1] ^ k0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32U) ^ c.word[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  return c;
}

HOBNOB_HOST_DEVICE inline std::uint32_t noise_of(std::uint32_t word, std::uint32_t element) {
  return element < 128 ? word & 0xffffU : word >> 16U;
}

}  // namespace hobnob::element
