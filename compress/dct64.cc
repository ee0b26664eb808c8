#include "compress/dct64.h"

#include "compress/dct64_table.h"
#include "compress/element_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/dct64.cc"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// out_j = sum_n matrix_jn in_n, n in turn. Lanes are different j, so their number changes no sum.
template <std::size_t kHalf>
HWY_INLINE void dct_multiply_odd(const float* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, kHalf> tag;
  const float* matrix = kDctOdd<kHalf>.data();
  for (std::size_t j = 0; j < kHalf; j += hn::Lanes(tag)) {
    auto sum = hn::Mul(hn::Set(tag, in[0]), hn::LoadU(tag, matrix + j));
    for (std::size_t n = 1; n < kHalf; ++n) {
      const auto product = hn::Mul(hn::Set(tag, in[n]), hn::LoadU(tag, matrix + n * kHalf + j));
      sum = hn::Add(sum, product);
    }
    hn::StoreU(sum, tag, out + j);
  }
}

// Where coefficient 2j + 1 of a transform of 2 kHalf values is in the transform of 64.
template <std::size_t kHalf>
constexpr std::size_t dct_odd_place(std::size_t j) {
  return (2 * j + 1) * (32 / kHalf);
}

// Coefficients of 2 kHalf values; overwrites them.
template <std::size_t kHalf>
HWY_INLINE void dct_forward(float* HWY_RESTRICT values, float* HWY_RESTRICT coefficients) {
  float differences[kHalf];
  float odd[kHalf];
  for (std::size_t n = 0; n < kHalf; ++n) {
    const float first = values[n];
    const float second = values[2 * kHalf - 1 - n];
    differences[n] = element::add(first, -second);
    values[n] = element::add(first, second);
  }
  dct_multiply_odd<kHalf>(differences, odd);
  for (std::size_t j = 0; j < kHalf; ++j) {
    coefficients[dct_odd_place<kHalf>(j)] = odd[j];
  }
  if constexpr (kHalf > 1) {
    dct_forward<kHalf / 2>(values, coefficients);
  } else {
    coefficients[0] = element::mul(values[0], 0.125F);
  }
}

template <std::size_t kHalf>
HWY_INLINE void dct_inverse(const float* HWY_RESTRICT coefficients, float* HWY_RESTRICT values) {
  if constexpr (kHalf > 1) {
    dct_inverse<kHalf / 2>(coefficients, values);
  } else {
    values[0] = element::mul(coefficients[0], 0.125F);
  }
  float gathered[kHalf];
  float odd[kHalf];
  for (std::size_t j = 0; j < kHalf; ++j) {
    gathered[j] = coefficients[dct_odd_place<kHalf>(j)];
  }
  dct_multiply_odd<kHalf>(gathered, odd);
  for (std::size_t n = 0; n < kHalf; ++n) {
    const float even = values[n];
    values[n] = element::add(even, odd[n]);
    values[2 * kHalf - 1 - n] = element::add(even, -odd[n]);
  }
}

void dct64_forward_chunks(const float* values, float* coefficients, std::size_t chunks) {
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    float copy[kDctCount];
    for (std::size_t n = 0; n < kDctCount; ++n) {
      copy[n] = values[chunk * kDctCount + n];
    }
    dct_forward<kDctCount / 2>(copy, coefficients + chunk * kDctCount);
  }
}

void dct64_inverse_chunks(const float* coefficients, float* values, std::size_t chunks) {
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    dct_inverse<kDctCount / 2>(coefficients + chunk * kDctCount, values + chunk * kDctCount);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(dct64_forward_chunks);
HWY_EXPORT(dct64_inverse_chunks);

void dct64_forward(const float* values, float* coefficients, std::size_t chunks) {
  HWY_DYNAMIC_DISPATCH(dct64_forward_chunks)(values, coefficients, chunks);
}

void dct64_inverse(const float* coefficients, float* values, std::size_t chunks) {
  HWY_DYNAMIC_DISPATCH(dct64_inverse_chunks)(coefficients, values, chunks);
}

}  // namespace hobnob

#endif
