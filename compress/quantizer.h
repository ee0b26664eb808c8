#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/rans.h"

namespace hobnob {

constexpr std::int32_t kMaxLevel = 15;
constexpr std::uint8_t kEscape = 31;  // the symbol of a level beyond; level l is symbol 15 + l
constexpr std::int32_t kMaxEscapedLevel = 1 << 22;
// 2^99, as float32 bits. Values stay below: a step of at most 16 root mean squares then is below
// the 2^104 that a decoder takes, and the largest level times it is finite.
constexpr std::uint32_t kLevelPoison = 0x71000000U;

// How the values of one frame become levels and come back.
struct LevelModel {
  float step = 0.0F;      // 0: nothing is sent, all are 0 or too small
  std::uint32_t top = 0;  // levels beyond +-top are escaped
  RansFrequencies frequencies{};
  // What level l = 1, ..., top decodes to: l - 1 + middles[l - 1] / 128 steps.
  std::array<std::uint8_t, kMaxLevel> middles{};

  // What each symbol decodes to; the escape to 0.
  std::array<float, kRansSymbols> values() const;
};

struct LevelRule {
  float step = 0.5F;      // of the root mean square
  float rounding = 0.5F;  // of a magnitude in steps, added before it is cut
};

// From a sample of d (n,), n <= 65,536, all below kLevelPoison: its runs of 64 values
// each 1,024, or all when there are fewer than 16,384. All sums are of integers.
LevelModel fit_levels(std::span<const float> d, const LevelRule& rule);

// d (n,) to symbols (n,), and appends the levels of the escaped to `escapes`, at most
// kMaxEscapedLevel.
void quantize(std::span<const float> d,
              const LevelModel& model,
              float rounding,
              std::span<std::uint8_t> symbols,
              std::vector<std::int32_t>& escapes);

// Symbols (n,) and escapes, in order, to values (n,). A missing escape is 0.
void dequantize(std::span<const std::uint8_t> symbols,
                const LevelModel& model,
                std::span<const std::int32_t> escapes,
                std::span<float> values);

}  // namespace hobnob
