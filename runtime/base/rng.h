#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/hash.h"

namespace hobnob {

// Names a random stream: same key, same numbers, on every machine and in any order of use.
struct RngKey {
  std::uint64_t seed = 0;    // of the run
  std::uint64_t stream = 0;  // who draws: hash of purpose, peer, round, ...
};

// Of Philox, for a key: what Rng(key) draws with.
constexpr std::uint64_t philox_key(RngKey key) {
  return mix64(key.seed) ^ mix64(key.stream + 0x51ED270B);
}

// Counter-based generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011). State is a position, so a stream can be copied, skipped and replayed. Value type.
class Rng {
 public:
  explicit Rng(RngKey key) : key_(philox_key(key)) {}

  std::uint32_t next_u32() {
    if (used_ == 4) {
      block_ = philox(counter_++, key_);
      used_ = 0;
    }
    return block_[used_++];
  }

  std::uint64_t next_u64() {
    const std::uint64_t high = next_u32();
    return high << 32 | next_u32();
  }

  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound), bound > 0. Bias below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next_u64()) * bound) >> 64);
  }

  // Standard normal (Box-Muller, one of the pair).
  double normal();

  // Gamma(shape, 1), shape > 0 (Marsaglia and Tsang, ACM TOMS 26(3), 2000).
  double gamma(double shape);

  // One block of four words; the bare function, for known-answer tests.
  static std::array<std::uint32_t, 4> philox(std::uint64_t counter, std::uint64_t key);
  static std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                             std::array<std::uint32_t, 2> key);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace hobnob
