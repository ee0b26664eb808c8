#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/base/hash.h"

namespace hobnob {

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

// Values of all exponents with blocks of zeros, of one value, of denormals, of ties, and poison.
inline std::vector<float> awkward_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t random = mix64(k);
    const auto sign = static_cast<float>(random % 2 == 0 ? 1 : -1);
    const auto fraction = static_cast<float>(random >> 40U) * 0x1p-24F;
    switch (k / 256 % 9) {
      case 1:
        values[k] = k % 2 == 0 ? 0.0F : -0.0F;
        break;
      case 2:
        values[k] = sign * fraction * 0x1p-130F;  // denormals
        break;
      case 3:
        values[k] = k % 256 == 17 ? std::numeric_limits<float>::quiet_NaN() : fraction;
        break;
      case 4:
        values[k] = sign * 0x1p118F * fraction;  // too large for some
        break;
      case 5:
        values[k] = static_cast<float>(static_cast<int>(k % 255) - 127) * 0.5F;  // ties
        break;
      case 6:
        values[k] = k % 64 == 0 ? sign : 0.0F;
        break;
      case 7:
        values[k] =
            sign * std::bit_cast<float>(static_cast<std::uint32_t>(random >> 33U) % 0x7f000000U);
        break;
      default:
        values[k] = sign * fraction;
    }
  }
  return values;
}

inline std::vector<std::vector<float>> kernel_samples() {
  std::vector<std::vector<float>> samples;
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 255U, 256U, 257U, 4000U, 65537U}) {
    samples.push_back(awkward_values(count));
  }
  samples.emplace_back(300, 0.0F);
  samples.push_back(awkward_values(2600));
  return samples;
}

}  // namespace hobnob
