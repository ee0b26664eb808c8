#pragma once

#include <bit>
#include <cstdint>

// What a codec does to one value or one scale, bit for bit the same on CPU and GPU. Every rounding
// is one of the primitives at the top: nothing may be fused, so translation units that include this
// are built without contraction
// (-ffp-contract=off) and without any fast-math or flush-to-zero flag.

#if defined(__CUDACC__)
#define HOBNOB_HOST_DEVICE __host__ __device__
#else
#define HOBNOB_HOST_DEVICE
#endif

namespace hobnob::element {

// Rounded to nearest even, one after the other.
HOBNOB_HOST_DEVICE inline float mul(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

HOBNOB_HOST_DEVICE inline double mul(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

HOBNOB_HOST_DEVICE inline float add(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

HOBNOB_HOST_DEVICE inline double add(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

HOBNOB_HOST_DEVICE inline float divide(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

HOBNOB_HOST_DEVICE inline double divide(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __ddiv_rn(a, b);
#else
  return a / b;
#endif
}

HOBNOB_HOST_DEVICE inline std::uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  return std::bit_cast<std::uint32_t>(value);
#endif
}

HOBNOB_HOST_DEVICE inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

// |value| as an integer: ordered like the magnitudes, with infinity and NaN above all numbers, so
// that a block's largest magnitude does not depend on the order of the comparisons.
HOBNOB_HOST_DEVICE inline std::uint32_t magnitude_bits(float value) {
  return bits_of(value) & 0x7fffffffU;
}

// Blocks whose largest magnitude_bits() reaches these are poison: sent as zeros and counted.
constexpr std::uint32_t kFloatPoison = 0x7f800000U;  // infinity
constexpr std::uint32_t kBf16Poison = 0x7f7f8000U;   // the least number that rounds to infinity
constexpr std::uint32_t kInt8Poison = 0x7e800000U;   // 2^126: no product q * scale can overflow

// To nearest even, in integers (the AVX-512 instruction flushes denormals). NaN -> 0x7fff.
HOBNOB_HOST_DEVICE inline std::uint16_t bf16_nearest(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  return static_cast<std::uint16_t>(magnitude_bits(value) > kFloatPoison ? 0x7fffU : rounded);
}

// The least bf16 >= value, for value >= 0 and finite.
HOBNOB_HOST_DEVICE inline std::uint16_t bf16_up(float value) {
  return static_cast<std::uint16_t>((bits_of(value) + 0xffffU) >> 16U);
}

HOBNOB_HOST_DEVICE inline float float_of_bf16(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16U);
}

// Scales on the wire: 0 (a block of zeros), or 2^-100 <= scale < 2^120. Below, 1 / scale is not
// worth having; above, 127 * scale is not finite.
constexpr std::uint16_t kMinScale = 0x0d80;
constexpr std::uint16_t kScaleLimit = 0x7b80;

HOBNOB_HOST_DEVICE inline bool is_scale(std::uint16_t bits) {
  return bits == 0 || (bits >= kMinScale && bits < kScaleLimit);
}

// Of a block without poison. Rounded up, so that |value / scale| <= 127 and no value is clamped.
HOBNOB_HOST_DEVICE inline std::uint16_t int8_scale(std::uint32_t largest_magnitude_bits) {
  const std::uint16_t scale = bf16_up(divide(float_of(largest_magnitude_bits), 127.0F));
  return scale < kMinScale ? std::uint16_t{0} : scale;
}

// 1 / scale, once per block; 0 for a block of zeros.
HOBNOB_HOST_DEVICE inline float int8_inverse(std::uint16_t scale) {
  return scale == 0 ? 0.0F : divide(1.0F, float_of_bf16(scale));
}

// Adding 1.5 * 2^23 to a number of magnitude below 2^22 leaves the nearest integer, ties to even,
// in the low bits.
constexpr float kRoundingMagic = 12582912.0F;

// value / scale to the nearest integer.
HOBNOB_HOST_DEVICE inline std::int8_t int8_nearest(float value, float inverse) {
  const float shifted = add(mul(value, inverse), kRoundingMagic);
  return static_cast<std::int8_t>(bits_of(shifted) & 0xffU);
}

// q * scale, exact in either type (7 + 8 bits).
HOBNOB_HOST_DEVICE inline float int8_value(std::int8_t q, float scale) {
  return mul(static_cast<float>(q), scale);
}

// into + factor * value, two roundings.
template <typename T>
HOBNOB_HOST_DEVICE inline T add_scaled(T into, T factor, T value) {
  return add(into, mul(factor, value));
}

}  // namespace hobnob::element
