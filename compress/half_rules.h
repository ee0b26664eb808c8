#pragma once

#include <cstdint>

#include "compress/element_rules.h"

// fp16 with a power of two for each block, so that its largest value is near the top of the range.

namespace hobnob::element {

// The scale's exponent: largest / scale lies in [2^14, 2^15), or lower for blocks below 2^-86.
HOBNOB_HOST_DEVICE inline std::uint16_t half_scale(std::uint32_t largest) {
  const std::uint32_t exponent = largest >> 23U;
  const std::uint32_t least = kMinScale >> 7U;
  const std::uint32_t scale = exponent < least + 14U ? least : exponent - 14U;
  return static_cast<std::uint16_t>(largest == 0 ? 0U : scale << 7U);
}

// A scale that half_scale() may give. 2^111 times the largest half is below 2^127.
HOBNOB_HOST_DEVICE inline bool is_half_scale(std::uint16_t bits) {
  constexpr std::uint16_t kLimit = 0x7780;  // 2^112
  return is_scale(bits) && bits % 128 == 0 && bits < kLimit;
}

// 1 / scale of a power of two, exactly.
HOBNOB_HOST_DEVICE inline float half_inverse(std::uint16_t scale) {
  return scale == 0 ? 0.0F : float_of((254U - (std::uint32_t{scale} >> 7U)) << 23U);
}

// float32 of magnitude below 65520 to the nearest fp16, ties to even. Adding 2^-1 leaves the ten
// bits of a subnormal at the end of the mantissa.
HOBNOB_HOST_DEVICE inline std::uint16_t half_nearest(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t subnormal = bits_of(add(float_of(magnitude), 0.5F)) - 0x3f000000U;
  const std::uint32_t normal =
      (magnitude + 0xc8000fffU + ((magnitude >> 13U) & 1U)) >> 13U;  // exponent less 112
  const std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal & 0x7fffU;
  return static_cast<std::uint16_t>(half | ((bits >> 16U) & 0x8000U));
}

// Exact.
HOBNOB_HOST_DEVICE inline float float_of_half(std::uint16_t half) {
  const float shifted = mul(float_of((half & 0x7fffU) << 13U), 0x1p112F);
  return float_of(bits_of(shifted) | (static_cast<std::uint32_t>(half & 0x8000U) << 16U));
}

}  // namespace hobnob::element
