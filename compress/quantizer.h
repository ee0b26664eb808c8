#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/level_rules.h"
#include "compress/rans.h"

namespace hobnob {

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
