#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/level_rules.h"
#include "compress/rans.h"

namespace hobnob {

// From a sample of d (n,), n <= 65,536, whose largest magnitude_bits() are below kLevelPoison: an
// eighth of it, or all when there are fewer than 16,384. All sums are of integers.
LevelModel fit_levels(std::span<const float> d, std::uint32_t largest, const LevelRule& rule);

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

// into (n,) += factor x those values.
void add_dequantized(std::span<const std::uint8_t> symbols,
                     const LevelModel& model,
                     std::span<const std::int32_t> escapes,
                     float factor,
                     std::span<float> into);

}  // namespace hobnob
