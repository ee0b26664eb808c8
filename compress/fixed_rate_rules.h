#pragma once

#include <cmath>
#include <cstdint>

#include "compress/element_rules.h"

// Rules for a value and a scale of the codecs with a few bits per value, bit for bit the same on
// CPU and GPU like element_rules.h. Sums over a block are of integers, so that their order is free.

namespace hobnob::element {

// Blocks whose largest magnitude is below get scale 0: 2^-99, so that a scale far below the largest
// magnitude (a mean, an eighth) still is above 2^-100 or counts as 0.
constexpr std::uint32_t kTinyBlock = 0x0e000000U;

// 2^119: a scale that is a magnitude, a mean or a share of one, rounded up, stays below
// kScaleLimit.
constexpr std::uint32_t kScalePoison = 0x7b000000U;

HOBNOB_HOST_DEVICE inline float square_root(float value) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(value);
#else
  return std::sqrt(value);
#endif
}

HOBNOB_HOST_DEVICE inline double square_root(double value) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(value);
#else
  return std::sqrt(value);
#endif
}

// To the nearest integer, ties to even; |value| < 2^31.
HOBNOB_HOST_DEVICE inline std::int32_t nearest_int(float value) {
#if defined(__CUDA_ARCH__)
  return __float2int_rn(value);
#else
  return static_cast<std::int32_t>(std::lrintf(value));
#endif
}

HOBNOB_HOST_DEVICE inline float float_of_int(std::int32_t value) {
#if defined(__CUDA_ARCH__)
  return __int2float_rn(value);
#else
  return static_cast<float>(value);
#endif
}

// A scale or 0, whose sign may be negative.
HOBNOB_HOST_DEVICE inline bool is_signed_scale(std::uint16_t bits) {
  return bits != 0x8000U && is_scale(bits & 0x7fffU);
}

// A scale too small to invert becomes 0.
HOBNOB_HOST_DEVICE inline std::uint16_t usable_scale(std::uint16_t bits) {
  return bits < kMinScale ? std::uint16_t{0} : bits;
}

// --- int4: 16 levels from -8 to 7. The value of largest magnitude becomes -8, so the scale has its
// sign reversed; the other end loses half a level. ---

// Ordered by magnitude, then negative above positive.
HOBNOB_HOST_DEVICE inline std::uint32_t signed_magnitude(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits << 1U) | (bits >> 31U);
}

HOBNOB_HOST_DEVICE inline std::uint16_t int4_scale(std::uint32_t largest_signed_magnitude) {
  const float magnitude = float_of(largest_signed_magnitude >> 1U);
  const std::uint16_t scale = usable_scale(bf16_up(mul(magnitude, 0.125F)));
  const bool is_negative = (largest_signed_magnitude & 1U) == 0 && scale != 0;
  return static_cast<std::uint16_t>(is_negative ? scale | 0x8000U : scale);
}

// 1 / scale, or 0.
HOBNOB_HOST_DEVICE inline float inverse_of(std::uint16_t scale) {
  return scale == 0 ? 0.0F : divide(1.0F, float_of_bf16(scale));
}

HOBNOB_HOST_DEVICE inline std::int32_t int4_nearest(float value, float inverse) {
  const std::int32_t level = nearest_int(mul(value, inverse));
  return level > 7 ? 7 : level;
}

// --- Sums in fixed point ---

// 2^p with |value| * 2^p < 2^bits for all values of a block whose largest magnitude is `largest`,
// not below kTinyBlock; bits <= 22.
HOBNOB_HOST_DEVICE inline float fixed_point(std::uint32_t largest, std::uint32_t bits) {
  return float_of((253U + bits - (largest >> 23U)) << 23U);
}

HOBNOB_HOST_DEVICE inline float inverse_fixed_point(std::uint32_t largest, std::uint32_t bits) {
  return float_of((1U + (largest >> 23U) - bits) << 23U);
}

constexpr std::uint32_t kMeanBits = 20;  // of a magnitude: a sum of 256 stays below 2^28
constexpr std::uint32_t kRmsBits = 11;   // of a value that is squared: a sum of 256 below 2^31

HOBNOB_HOST_DEVICE inline std::int32_t mean_term(float value, float to_fixed) {
  return nearest_int(mul(float_of(magnitude_bits(value)), to_fixed));
}

HOBNOB_HOST_DEVICE inline std::int32_t rms_term(float value, float to_fixed) {
  const std::int32_t fixed = nearest_int(mul(value, to_fixed));
  return fixed * fixed;
}

// --- sign: one bit, and the mean magnitude of the block's `count` values ---

HOBNOB_HOST_DEVICE inline std::uint16_t mean_scale(std::int32_t sum,
                                                   std::int32_t count,
                                                   std::uint32_t largest) {
  const float mean = divide(float_of_int(sum), float_of_int(count));
  return usable_scale(bf16_nearest(mul(mean, inverse_fixed_point(largest, kMeanBits))));
}

// --- Codebooks: 16 values, ascending; a value's code is how many of the 15 thresholds, the middles
// between neighbours, lie below it ---

HOBNOB_HOST_DEVICE inline std::uint16_t rms_scale(std::int32_t sum,
                                                  std::int32_t count,
                                                  std::uint32_t largest) {
  const float rms = square_root(divide(float_of_int(sum), float_of_int(count)));
  return usable_scale(bf16_nearest(mul(rms, inverse_fixed_point(largest, kRmsBits))));
}

HOBNOB_HOST_DEVICE inline std::uint16_t absmax_scale(std::uint32_t largest) {
  return usable_scale(bf16_up(float_of(largest)));
}

struct Codebook {
  float values[16];
  float thresholds[15];
  // The thresholds in the order of a binary search: row r has those of step r, by the code so far.
  float search[4][16];
};

constexpr Codebook codebook_of(const float (&values)[16]) {
  Codebook book{};
  for (int k = 0; k < 16; ++k) {
    book.values[k] = values[k];
  }
  for (int k = 0; k < 15; ++k) {
    book.thresholds[k] = (values[k] + values[k + 1]) * 0.5F;
  }
  for (int row = 0; row < 4; ++row) {
    const int half = 8 >> row;
    for (int k = 0; k < 1 << row; ++k) {
      book.search[row][k] = book.thresholds[half - 1 + 2 * half * k];
    }
  }
  return book;
}

// NormalFloat of QLoRA (Dettmers et al. 2305.14314, appendix E), of values divided by their largest
// magnitude.
inline constexpr Codebook kNf4 = codebook_of(
    {-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
     -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
     0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F, 0.33791524171829224F,
     0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1.0F});

// Lloyd and Max's 16 levels for the unit normal, of values divided by their root mean square.
inline constexpr Codebook kLm4 =
    codebook_of({-0x1.5dc57ep+1F, -0x1.08d58ep+1F, -0x1.9e384ap+0F, -0x1.41985ep+0F,
                 -0x1.e27a72p-1F, -0x1.5042bcp-1F, -0x1.8d5c88p-2F, -0x1.06f3fap-3F, 0x1.06f3fap-3F,
                 0x1.8d5c88p-2F, 0x1.5042bcp-1F, 0x1.e27a72p-1F, 0x1.41985ep+0F, 0x1.9e384ap+0F,
                 0x1.08d58ep+1F, 0x1.5dc57ep+1F});

// Powers of two and 0, of values divided by their largest magnitude (the logarithmic quantization
// of FastSGD, 2112.04291; powers of two: natural compression, 1905.10988, rounded to nearest).
inline constexpr Codebook kLog4 =
    codebook_of({-1.0F, -0x1p-1F, -0x1p-2F, -0x1p-3F, -0x1p-4F, -0x1p-5F, -0x1p-6F, 0.0F, 0x1p-7F,
                 0x1p-6F, 0x1p-5F, 0x1p-4F, 0x1p-3F, 0x1p-2F, 0x1p-1F, 1.0F});

HOBNOB_HOST_DEVICE inline std::uint32_t code_of(const float* thresholds, float value) {
  std::uint32_t code = 0;
  for (int k = 0; k < 15; ++k) {
    code += value > thresholds[k] ? 1U : 0U;
  }
  return code;
}

// --- Rounding at random: up with the probability of the fraction, in steps of 2^-16 ---

// `noise` is uniform in [0, 2^16); |value * inverse| is at most `limit`, up to rounding.
HOBNOB_HOST_DEVICE inline std::int32_t dithered(float value,
                                                float inverse,
                                                std::uint32_t noise,
                                                std::int32_t limit) {
  const std::int32_t fixed = nearest_int(mul(mul(value, inverse), 65536.0F));
  const std::int32_t level = (fixed + static_cast<std::int32_t>(noise)) >> 16;
  return level > limit ? limit : level;
}

// Of levels -7 to 7.
HOBNOB_HOST_DEVICE inline std::uint16_t qsgd4_scale(std::uint32_t largest) {
  return usable_scale(bf16_up(divide(float_of(largest), 7.0F)));
}

}  // namespace hobnob::element
