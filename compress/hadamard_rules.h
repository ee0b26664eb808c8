#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/fixed_rate_rules.h"

// Rules of the rotated codecs. Rotation of a block x (256,): signs flipped where rotation_signs()
// has a bit (bit e % 32 of word e / 32), then butterflies (a, b) -> (a + b, a - b) of strides 1, 2,
// 4, ..., 128 in this order, then times 1/16. Its inverse is the same without the signs first, then
// the signs.

namespace hobnob::element {

// Fixed, so that nothing need be sent; without them a constant block would become one spike. Word e
// / 32 for value e: the low half of mix64(e / 32).
HOBNOB_HOST_DEVICE inline std::uint32_t rotation_signs(std::size_t word) {
  constexpr std::uint32_t kSigns[8] = {0x7b1dcdafU, 0x89025cc1U, 0x1c9756ceU, 0xdb018fedU,
                                       0xe2338acaU, 0xa389c35aU, 0xadefe000U, 0x59320dd7U};
  return kSigns[word];
}

// 2^117: sums of 256 stay finite, and so do those of a decoder.
constexpr std::uint32_t kRotationPoison = 0x7a000000U;
constexpr std::uint16_t kRotatedScaleLimit = 0x7a80;  // 2^118

// Lloyd and Max's four levels for the unit normal.
inline constexpr float kLm2Values[4] = {-0x1.82aabap+0F, -0x1.cfa592p-2F, 0x1.cfa592p-2F,
                                        0x1.82aabap+0F};
inline constexpr float kLm2Thresholds[3] = {(kLm2Values[0] + kLm2Values[1]) * 0.5F, 0.0F,
                                            (kLm2Values[2] + kLm2Values[3]) * 0.5F};

// A rotated value is at most 16 times the block's largest, and the sum of squares is that of the
// block: with 15 bits for the first, the sum of all 256 stays within 2^30.
constexpr std::uint32_t kRotatedBits = 15;

HOBNOB_HOST_DEVICE inline std::uint32_t rotated_bound(std::uint32_t largest) {
  return largest + (4U << 23U);
}

HOBNOB_HOST_DEVICE inline std::uint16_t rotated_scale(std::int32_t sum, std::uint32_t largest) {
  const float rms = square_root(mul(float_of_int(sum), 0x1p-8F));
  const float unit = inverse_fixed_point(rotated_bound(largest), kRotatedBits);
  return usable_scale(bf16_nearest(mul(rms, unit)));
}

}  // namespace hobnob::element
