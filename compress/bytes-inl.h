// Between vectors and bytes that need no alignment. Included once for each instruction set
// (Highway's convention, so the guard is not #pragma once).

#if defined(HOBNOB_COMPRESS_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOBNOB_COMPRESS_BYTES_INL_H_
#undef HOBNOB_COMPRESS_BYTES_INL_H_
#else
#define HOBNOB_COMPRESS_BYTES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes: blocks are multiples of it on every machine.
using FloatTag = hn::CappedTag<float, 16>;
using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using Floats = hn::Vec<FloatTag>;
using Ints = hn::Vec<IntTag>;
using Words = hn::Vec<WordTag>;

HWY_INLINE Words load_words(const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return hn::Set(WordTag(), word);
#else
  const hn::Repartition<std::uint8_t, WordTag> bytes;
  return hn::BitCast(WordTag(), hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

HWY_INLINE void store_words(Words words, std::byte* to) {
#if HWY_TARGET == HWY_SCALAR
  const std::uint32_t word = hn::GetLane(words);
  std::memcpy(to, &word, sizeof word);
#else
  const hn::Repartition<std::uint8_t, WordTag> bytes;
  hn::StoreU(hn::BitCast(bytes, words), bytes, reinterpret_cast<std::uint8_t*>(to));
#endif
}

// The low 16 bits of each word, which is below 2^16.
HWY_INLINE void store_low_halves(Words words, std::byte* to) {
#if HWY_TARGET == HWY_SCALAR
  const auto half = static_cast<std::uint16_t>(hn::GetLane(words));
  std::memcpy(to, &half, sizeof half);
#else
  const hn::Rebind<std::uint16_t, WordTag> halves;
  const hn::Repartition<std::uint8_t, decltype(halves)> bytes;
  const auto narrow = hn::DemoteTo(halves, hn::BitCast(IntTag(), words));
  hn::StoreU(hn::BitCast(bytes, narrow), bytes, reinterpret_cast<std::uint8_t*>(to));
#endif
}

HWY_INLINE Words load_halves(const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  std::uint16_t half;
  std::memcpy(&half, from, sizeof half);
  return hn::Set(WordTag(), std::uint32_t{half});
#else
  const hn::Rebind<std::uint16_t, WordTag> halves;
  const hn::Repartition<std::uint8_t, decltype(halves)> bytes;
  const auto narrow = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from));
  return hn::PromoteTo(WordTag(), hn::BitCast(halves, narrow));
#endif
}

// The sign bit in each lane l where `bits` has bit first + l.
HWY_INLINE Words sign_lanes(std::uint32_t bits, std::size_t first) {
  const WordTag words;
  const auto shifts =
      hn::Sub(hn::Set(words, 31U - static_cast<std::uint32_t>(first)), hn::Iota(words, 0));
  return hn::And(hn::Shl(hn::Set(words, bits), shifts), hn::Set(words, 0x80000000U));
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// Highway 1.0 does not pack 16-bit integers. Half of a, then half of b, in each 128 bits.
using Shorts = hn::Vec<hn::Repartition<std::int16_t, IntTag>>;
using SignedBytes = hn::Vec<hn::Repartition<std::int8_t, IntTag>>;

HWY_INLINE SignedBytes pack(Shorts a, Shorts b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return SignedBytes{_mm512_packs_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return SignedBytes{_mm256_packs_epi16(a.raw, b.raw)};
#else
  return SignedBytes{_mm_packs_epi16(a.raw, b.raw)};
#endif
}

// Four vectors of integers in [-128, 127] as bytes, in order.
HWY_INLINE void store_as_bytes(Ints a, Ints b, Ints c, Ints e, std::byte* HWY_RESTRICT to) {
  // Two rounds of packing leave the four vectors interleaved in groups of 128 bits; one permutation
  // of 32-bit lanes puts them in order.
  const hn::Repartition<std::int16_t, IntTag> shorts;
  const hn::Repartition<std::int8_t, IntTag> bytes;
  const auto packed = pack(hn::ReorderDemote2To(shorts, a, b), hn::ReorderDemote2To(shorts, c, e));
  const std::size_t groups = hn::Lanes(IntTag()) / 4;
  HWY_ALIGN std::int32_t order[16] = {};
  // `packed` holds group g of vector v at lane 4 g + v.
  for (std::size_t lane = 0; lane < 4 * groups; ++lane) {
    order[lane] = static_cast<std::int32_t>(lane % groups * 4 + lane / groups);
  }
  const auto ordered =
      hn::TableLookupLanes(hn::BitCast(IntTag(), packed), hn::SetTableIndices(IntTag(), order));
  hn::StoreU(hn::BitCast(bytes, ordered), bytes, reinterpret_cast<std::int8_t*>(to));
}
#else
HWY_INLINE void store_as_bytes(Ints a, Ints b, Ints c, Ints e, std::byte* HWY_RESTRICT to) {
  const hn::Rebind<std::int8_t, IntTag> bytes;
  auto* out = reinterpret_cast<std::int8_t*>(to);
  const std::size_t lanes = hn::Lanes(IntTag());
  hn::StoreU(hn::DemoteTo(bytes, a), bytes, out);
  hn::StoreU(hn::DemoteTo(bytes, b), bytes, out + lanes);
  hn::StoreU(hn::DemoteTo(bytes, c), bytes, out + 2 * lanes);
  hn::StoreU(hn::DemoteTo(bytes, e), bytes, out + 3 * lanes);
}
#endif

// The bytes at(k), at(k + lanes), ... of a block's payload.
template <std::size_t kBytes, typename At>
HWY_INLINE void store_joined(At at, std::byte* HWY_RESTRICT to) {
  const std::size_t step = hn::Lanes(IntTag());
  for (std::size_t k = 0; k < kBytes; k += 4 * step) {
    store_as_bytes(at(k), at(k + step), at(k + 2 * step), at(k + 3 * step), to + k);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#endif  // per-target guard
