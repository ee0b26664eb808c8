// Codebooks of 16 values and integer sums, a vector at a time. Included once for each instruction
// set (Highway's convention, so the guard is not #pragma once).

#if defined(HOBNOB_COMPRESS_CODEBOOK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOBNOB_COMPRESS_CODEBOOK_INL_H_
#undef HOBNOB_COMPRESS_CODEBOOK_INL_H_
#else
#define HOBNOB_COMPRESS_CODEBOOK_INL_H_
#endif

#include <hwy/highway.h>

#include "compress/bytes-inl.h"
#include "compress/fixed_rate_rules.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

// table[index] for indices below 16.
HWY_INLINE Floats look_up_sixteen(Ints index, const float* HWY_RESTRICT table) {
  const FloatTag tag;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return hn::TableLookupLanes(hn::LoadU(tag, table), hn::IndicesFromVec(tag, index));
#elif HWY_TARGET == HWY_AVX2
  const auto seven = hn::Set(IntTag(), 7);
  const auto lanes = hn::IndicesFromVec(tag, hn::And(index, seven));
  const auto lower = hn::TableLookupLanes(hn::LoadU(tag, table), lanes);
  const auto upper = hn::TableLookupLanes(hn::LoadU(tag, table + 8), lanes);
  return hn::IfThenElse(hn::RebindMask(tag, hn::Gt(index, seven)), upper, lower);
#else
  return hn::GatherIndex(tag, table, index);
#endif
}

// table[index] for indices below 8.
HWY_INLINE Floats look_up_eight(Ints index, const float* HWY_RESTRICT table) {
  const FloatTag tag;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX2
  return hn::TableLookupLanes(hn::LoadU(tag, table), hn::IndicesFromVec(tag, index));
#else
  return hn::GatherIndex(tag, table, index);
#endif
}

// element::code_of(), by halves.
HWY_INLINE Ints search_sixteen(Floats value, const element::Codebook& book) {
  const IntTag ints;
#if HWY_TARGET == HWY_SCALAR
  // GCC 12 at -O3 vectorises the search below wrongly when a vector is one value.
  return hn::Set(ints,
                 static_cast<std::int32_t>(element::code_of(book.thresholds, hn::GetLane(value))));
#else
  const FloatTag tag;
  const auto one = hn::Set(ints, 1);
  const auto above = [&](Floats threshold) HWY_ATTR {
    return hn::IfThenElseZero(hn::RebindMask(ints, hn::Gt(value, threshold)), one);
  };
  auto code = above(hn::Set(tag, book.search[0][0]));
  code = hn::Add(hn::Add(code, code), above(look_up_eight(code, book.search[1])));
  code = hn::Add(hn::Add(code, code), above(look_up_eight(code, book.search[2])));
  return hn::Add(hn::Add(code, code), above(look_up_eight(code, book.search[3])));
#endif
}

// Codes 0 to 15 are stored less 8, so that a nibble is signed like those of other codecs.
HWY_INLINE Ints level_of(Floats value, const element::Codebook& book) {
  return hn::Sub(search_sixteen(value, book), hn::Set(IntTag(), 8));
}

HWY_INLINE Floats value_of(Ints level, const element::Codebook& book) {
  return look_up_sixteen(hn::Add(level, hn::Set(IntTag(), 8)), book.values);
}

// Levels (256,) of four bits to bytes, k and k + 128 to one, and back: as signed integers.
HWY_INLINE Ints joined_nibbles(const std::int32_t* HWY_RESTRICT levels, std::size_t k) {
  const auto low = hn::And(hn::Load(IntTag(), levels + k), hn::Set(IntTag(), 15));
  return hn::Or(low, hn::ShiftLeft<4>(hn::Load(IntTag(), levels + 128 + k)));
}

HWY_INLINE Ints parted_nibbles(Ints byte, std::size_t k) {
  return k < 128 ? hn::ShiftRight<28>(hn::ShiftLeft<28>(byte)) : hn::ShiftRight<4>(byte);
}

// Sum of element::rms_term(d[k], to_fixed) over d (kCount,) aligned.
template <std::size_t kCount>
HWY_INLINE std::int32_t sum_of_squares(const float* HWY_RESTRICT d, float to_fixed) {
  const FloatTag tag;
  const IntTag ints;
  const auto factor = hn::Set(tag, to_fixed);
  auto sum = hn::Zero(ints);
  for (std::size_t k = 0; k < kCount; k += hn::Lanes(tag)) {
    const auto fixed = hn::NearestInt(hn::Mul(hn::Load(tag, d + k), factor));
    sum = hn::Add(sum, hn::Mul(fixed, fixed));
  }
  return hn::GetLane(hn::SumOfLanes(ints, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#endif  // per-target guard
