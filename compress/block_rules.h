#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "compress/element_rules.h"
#include "compress/message.h"

// One block of 256 values under each codec; the CPU reference. See BlockCoder for what a rule is.

namespace hobnob {

inline std::uint32_t largest_magnitude(const float* values) {
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < message::kBlockCount; ++k) {
    largest = std::max(largest, element::magnitude_bits(values[k]));
  }
  return largest;
}

// The values as they are.
template <typename T>
struct PlainRule {
  using Stored = T;
  using Value = T;
  static constexpr bool kHasScales = false;

  static bool encode(const T* values, T* stored, std::uint16_t* /*scale*/) {
    std::copy_n(values, message::kBlockCount, stored);
    return is_valid(values, 0);
  }

  static bool is_valid(const T* stored, std::uint16_t /*scale*/) {
    if constexpr (std::is_same_v<T, float>) {
      return largest_magnitude(stored) < element::kFloatPoison;
    } else {
      std::uint64_t largest = 0;
      for (std::size_t k = 0; k < message::kBlockCount; ++k) {
        largest =
            std::max(largest, std::bit_cast<std::uint64_t>(stored[k]) & ~(std::uint64_t{1} << 63U));
      }
      return largest < 0x7ff0000000000000ULL;  // infinity
    }
  }

  static void decode(const T* stored, std::uint16_t /*scale*/, T* values) {
    std::copy_n(stored, message::kBlockCount, values);
  }
};

struct Bf16Rule {
  using Stored = std::uint16_t;
  using Value = float;
  static constexpr bool kHasScales = false;

  static bool encode(const float* values, std::uint16_t* stored, std::uint16_t* /*scale*/) {
    for (std::size_t k = 0; k < message::kBlockCount; ++k) {
      stored[k] = element::bf16_nearest(values[k]);
    }
    return largest_magnitude(values) < element::kBf16Poison;
  }

  static bool is_valid(const std::uint16_t* stored, std::uint16_t /*scale*/) {
    std::uint16_t largest = 0;
    for (std::size_t k = 0; k < message::kBlockCount; ++k) {
      largest = std::max(largest, static_cast<std::uint16_t>(stored[k] & 0x7fffU));
    }
    return largest < 0x7f80U;  // infinity
  }

  static void decode(const std::uint16_t* stored, std::uint16_t /*scale*/, float* values) {
    for (std::size_t k = 0; k < message::kBlockCount; ++k) {
      values[k] = element::float_of_bf16(stored[k]);
    }
  }
};

struct Int8Rule {
  using Stored = std::int8_t;
  using Value = float;
  static constexpr bool kHasScales = true;

  static bool encode(const float* values, std::int8_t* stored, std::uint16_t* scale) {
    const std::uint32_t largest = largest_magnitude(values);
    if (largest >= element::kInt8Poison) {
      return false;
    }
    *scale = element::int8_scale(largest);
    const float inverse = element::int8_inverse(*scale);
    for (std::size_t k = 0; k < message::kBlockCount; ++k) {
      stored[k] = element::int8_nearest(values[k], inverse);
    }
    return true;
  }

  static bool is_valid(const std::int8_t* /*stored*/, std::uint16_t scale) {
    return element::is_scale(scale);
  }

  static void decode(const std::int8_t* stored, std::uint16_t scale, float* values) {
    const float factor = element::float_of_bf16(scale);
    for (std::size_t k = 0; k < message::kBlockCount; ++k) {
      values[k] = element::int8_value(stored[k], factor);
    }
  }
};

}  // namespace hobnob
