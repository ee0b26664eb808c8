#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compress/fixed_rate_rules.h"
#include "compress/rans_rules.h"

// The arithmetic of quantizer.h, for CPU and GPU. All sums are of integers.

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
};

struct LevelRule {
  float step = 0.5F;      // of the root mean square
  float rounding = 0.5F;  // of a magnitude in steps, added before it is cut
};

namespace level_rules {

// Magnitude in steps, rounded as the rule says, at most kMaxEscapedLevel. `inverse` is 1 / step.
HOBNOB_HOST_DEVICE inline std::int32_t level_of(float value, float inverse, float rounding) {
  const float steps = element::mul(element::float_of(element::magnitude_bits(value)), inverse);
  const float limit = static_cast<float>(kMaxEscapedLevel);
  const float bounded = steps < limit ? steps : limit;
  const auto level = static_cast<std::int32_t>(element::add(bounded, rounding));
  return (element::bits_of(value) >> 31U) != 0 ? -level : level;
}

HOBNOB_HOST_DEVICE inline std::uint8_t symbol_of(std::int32_t level, std::uint32_t top) {
  const std::int32_t magnitude = level < 0 ? -level : level;
  return magnitude > static_cast<std::int32_t>(top) ? kEscape
                                                    : static_cast<std::uint8_t>(kMaxLevel + level);
}

// What a symbol but the escape decodes to.
HOBNOB_HOST_DEVICE inline float value_of(const LevelModel& model, std::uint32_t symbol) {
  const std::int32_t level = static_cast<std::int32_t>(symbol) - kMaxLevel;
  const auto magnitude = static_cast<std::uint32_t>(level < 0 ? -level : level);
  if (magnitude == 0 || magnitude > model.top) {
    return 0.0F;
  }
  const auto middle =
      static_cast<std::int32_t>(128 * (magnitude - 1) + model.middles[magnitude - 1]);
  const float value =
      element::mul(element::mul(element::float_of_int(middle), 0x1p-7F), model.step);
  return level < 0 ? -value : value;
}

// --- The step, from the root mean square: integers of at most 18 bits, whose squares' sum a
// float64 holds exactly in any order ---

constexpr std::uint32_t kRmsBits = 18;

// `sum` of nearest_int(value x fixed_point(largest, kRmsBits)) squared over n values; 0 when the
// values are too small to be sent.
HOBNOB_HOST_DEVICE inline float step_of(double sum,
                                        std::size_t n,
                                        std::uint32_t largest,
                                        float rule_step) {
  if (largest < element::kTinyBlock) {
    return 0.0F;
  }
  const auto root =
      static_cast<float>(element::square_root(element::divide(sum, static_cast<double>(n))));
  const float rms = element::mul(root, element::inverse_fixed_point(largest, kRmsBits));
  const float step = element::mul(rms, rule_step);
  return step < element::float_of_bf16(element::kMinScale) ? 0.0F : step;
}

// --- The sample: all of fewer than 16,384 values, else a run of 64 of each 512, whose place moves
// so that no period of the data is missed ---

constexpr std::size_t kSampledWhole = 16384;
constexpr std::size_t kRun = 64;
constexpr std::size_t kStride = 512;

constexpr std::size_t sample_size(std::size_t n) {
  return n < kSampledWhole ? n : n / kStride * kRun;
}

constexpr std::size_t sample_index(std::size_t i, std::size_t n) {
  if (n < kSampledWhole) {
    return i;
  }
  const std::size_t stride = i / kRun;
  return stride * kStride + stride * 5 % 8 * kRun + i % kRun;
}

// Of a sample.
struct LevelCounts {
  std::array<std::uint32_t, kRansSymbols> symbols{};  // of levels up to kMaxLevel, and the escape
  std::array<std::uint64_t, kMaxLevel + 1> sums{};    // of magnitudes in 256ths of a step
};

// A magnitude in 256ths of a step.
HOBNOB_HOST_DEVICE inline std::uint32_t in_256ths(float value, float inverse) {
  const float steps = element::mul(element::float_of(element::magnitude_bits(value)), inverse);
  return static_cast<std::uint32_t>(element::nearest_int(element::mul(steps, 256.0F)));
}

// One value of it.
inline void count(float value, float inverse, float rounding, LevelCounts& counts) {
  const std::int32_t level = level_of(value, inverse, rounding);
  const std::uint8_t symbol = symbol_of(level, kMaxLevel);
  ++counts.symbols[symbol];
  if (symbol != kEscape) {
    counts.sums[static_cast<std::size_t>(level < 0 ? -level : level)] += in_256ths(value, inverse);
  }
}

constexpr LevelModel model_of(float step, const LevelCounts& counts) {
  LevelModel model;
  model.step = step;
  std::array<bool, kRansSymbols> is_needed{};
  is_needed[kEscape] = true;
  is_needed[kMaxLevel] = true;
  const auto both = [&](std::uint32_t level) {
    return counts.symbols[kMaxLevel + level] + counts.symbols[kMaxLevel - level];
  };
  for (std::uint32_t level = 1; level <= kMaxLevel; ++level) {
    model.top = both(level) > 0 ? level : model.top;
  }
  for (std::uint32_t level = 1; level <= model.top; ++level) {
    is_needed[kMaxLevel + level] = is_needed[kMaxLevel - level] = true;
    // The mean of the sample's magnitudes, of 256ths to 128ths.
    std::int64_t past = 256;
    if (both(level) > 0) {
      past = static_cast<std::int64_t>(counts.sums[level] / both(level)) -
             std::int64_t{256} * (level - 1);
    }
    model.middles[level - 1] =
        static_cast<std::uint8_t>(std::clamp<std::int64_t>((past + 1) / 2, 0, 255));
  }
  model.frequencies = rans_frequencies(counts.symbols, is_needed);
  return model;
}

}  // namespace level_rules

}  // namespace hobnob
