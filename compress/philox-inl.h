// The random bits of one block, many counters at a time. Included once for each instruction set
// (Highway's convention, so the guard is not #pragma once).

#if defined(HOBNOB_COMPRESS_PHILOX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOBNOB_COMPRESS_PHILOX_INL_H_
#undef HOBNOB_COMPRESS_PHILOX_INL_H_
#else
#define HOBNOB_COMPRESS_PHILOX_INL_H_
#endif

#include <hwy/highway.h>

#include "compress/bytes-inl.h"
#include "compress/philox_rules.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

// noise (128,) aligned: element e of the block draws from noise[e % 128]; see philox_rules.h.
HWY_INLINE void draw_noise(std::uint64_t key,
                           std::uint64_t block,
                           std::uint32_t* HWY_RESTRICT noise) {
  const std::uint64_t first = element::kCountersPerBlock * block;
#if HWY_TARGET == HWY_SCALAR
  for (std::uint64_t lane = 0; lane < element::kCountersPerBlock; ++lane) {
    const element::PhiloxWords words = element::philox(first + lane, key);
    std::memcpy(noise + 4 * lane, words.word, sizeof words.word);
  }
#else
  // Each 32-bit word in a lane of 64: a product of two lanes then needs no shuffle, and what is
  // left in the upper halves is not read by the next.
  const hn::Repartition<std::uint64_t, WordTag> longs;
  const WordTag words;
  const auto low = hn::Set(longs, 0xffffffffULL);
  const auto multiplier0 = hn::BitCast(words, hn::Set(longs, element::kPhiloxMultiplier0));
  const auto multiplier1 = hn::BitCast(words, hn::Set(longs, element::kPhiloxMultiplier1));
  const std::size_t lanes = hn::Lanes(longs);
  for (std::uint64_t lane = 0; lane < element::kCountersPerBlock; lane += lanes) {
    auto k0 = hn::Set(longs, key & 0xffffffffU);
    auto k1 = hn::Set(longs, key >> 32U);
    const auto counter = hn::Add(hn::Set(longs, first + lane), hn::Iota(longs, 0));
    auto c0 = counter;
    auto c1 = hn::ShiftRight<32>(counter);
    auto c2 = hn::Zero(longs);
    auto c3 = hn::Zero(longs);
    for (std::uint32_t round = 0; round < element::kPhiloxRounds; ++round) {
      const auto p0 = hn::MulEven(hn::BitCast(words, c0), multiplier0);
      const auto p1 = hn::MulEven(hn::BitCast(words, c2), multiplier1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), k0);
      c1 = p1;
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), k1);
      c3 = p0;
      k0 = hn::Add(k0, hn::Set(longs, element::kPhiloxWeyl0));
      k1 = hn::Add(k1, hn::Set(longs, element::kPhiloxWeyl1));
    }
    const auto even = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
    const auto odd = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    hn::StoreInterleaved2(even, odd, longs, reinterpret_cast<std::uint64_t*>(noise + 4 * lane));
  }
#endif
}

// The 16 bits of the elements from k on.
HWY_INLINE Ints noise_at(const std::uint32_t* HWY_RESTRICT noise, std::size_t k) {
  const WordTag words;
  const auto word = hn::Load(words, noise + k % 128);
  return hn::BitCast(IntTag(),
                     k < 128 ? hn::And(word, hn::Set(words, 0xffffU)) : hn::ShiftRight<16>(word));
}

// element::dithered() of values already divided by their scale.
HWY_INLINE Ints dithered(Floats scaled, Ints noise, std::int32_t limit) {
  const auto fixed = hn::NearestInt(hn::Mul(scaled, hn::Set(FloatTag(), 65536.0F)));
  return hn::Min(hn::ShiftRight<16>(hn::Add(fixed, noise)), hn::Set(IntTag(), limit));
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#endif  // per-target guard
