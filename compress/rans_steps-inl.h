// The steps of rans.cc, 32 symbols each. Included once for each instruction set (Highway's
// convention, so the guard is not #pragma once).

#if defined(HOBNOB_COMPRESS_RANS_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOBNOB_COMPRESS_RANS_STEPS_INL_H_
#undef HOBNOB_COMPRESS_RANS_STEPS_INL_H_
#else
#define HOBNOB_COMPRESS_RANS_STEPS_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compress/rans_steps.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

// Vectors of 16 lanes, two a stream, and two streams side by side: one alone waits for its own last
// step. Each table of 32 symbols is two registers.

constexpr std::size_t kSixteen = 16;

struct Table32 {
  __m512i low;
  __m512i high;

  HWY_INLINE __m512i operator[](__m512i symbols) const {
    return _mm512_permutex2var_epi32(low, symbols, high);
  }
};

struct EntryTables {
  Table32 reciprocal;
  Table32 packed;
  Table32 limit;
};

HWY_INLINE __m512i complement_of(__m512i packed) {
  return _mm512_and_si512(_mm512_srli_epi32(packed, 13), _mm512_set1_epi32(0x1fff));
}

HWY_INLINE __m512i limit_of(__m512i packed) {
  return _mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32(kRansTotal), complement_of(packed)),
                           19);
}

HWY_INLINE EntryTables tables_of(const rans::Entry* entries) {
  // Reciprocals have even places, what is packed odd ones.
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
  const __m512i a = _mm512_loadu_si512(entries);
  const __m512i b = _mm512_loadu_si512(entries + 8);
  const __m512i c = _mm512_loadu_si512(entries + 16);
  const __m512i d = _mm512_loadu_si512(entries + 24);
  const Table32 packed{_mm512_permutex2var_epi32(a, odd, b), _mm512_permutex2var_epi32(c, odd, d)};
  return {
      .reciprocal = {_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(c, even, d)},
      .packed = packed,
      .limit = {limit_of(packed.low), limit_of(packed.high)}};
}

// rans::put_word() of 16 symbols.
HWY_INLINE __m512i put_sixteen(__m512i state,
                               const std::uint8_t* symbols,
                               const EntryTables& tables,
                               std::uint16_t*& end) {
  const __m512i index =
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(symbols)));
  const __m512i packed = tables.packed[index];
  const __m512i reciprocal = tables.reciprocal[index];
  // Both are below 2^31.
  const __mmask16 is_large = _mm512_cmpge_epi32_mask(state, tables.limit[index]);
  const unsigned taken = static_cast<unsigned>(std::popcount(std::uint32_t{is_large}));
  const __m256i words = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(is_large, state));
  end -= taken;
  _mm256_mask_storeu_epi16(end, static_cast<__mmask16>((1U << taken) - 1), words);
  state = _mm512_mask_srli_epi32(state, is_large, state, 16);
  const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(state, reciprocal), 32);
  const __m512i odd =
      _mm512_mul_epu32(_mm512_srli_epi64(state, 32), _mm512_srli_epi64(reciprocal, 32));
  const __m512i high = _mm512_mask_blend_epi32(0xaaaa, even, odd);
  const __m512i quotient = _mm512_srlv_epi32(high, _mm512_srli_epi32(packed, 26));
  const __m512i start = _mm512_and_si512(packed, _mm512_set1_epi32(0x1fff));
  return _mm512_add_epi32(_mm512_add_epi32(state, start),
                          _mm512_mullo_epi32(quotient, complement_of(packed)));
}

// The last `steps` of each.
template <std::size_t kTasks>
HWY_INLINE void encode_together(const rans::Entry* entries,
                                rans::EncodeTask* tasks,
                                std::size_t steps) {
  if (steps == 0) {
    return;
  }
  const EntryTables tables = tables_of(entries);
  __m512i states[kTasks][2];
  for (std::size_t t = 0; t < kTasks; ++t) {
    states[t][0] = _mm512_loadu_si512(tasks[t].states);
    states[t][1] = _mm512_loadu_si512(tasks[t].states + kSixteen);
  }
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t t = 0; t < kTasks; ++t) {
      const std::uint8_t* symbols = tasks[t].symbols + --tasks[t].steps * kRansLanes;
      states[t][1] = put_sixteen(states[t][1], symbols + kSixteen, tables, tasks[t].end);
      states[t][0] = put_sixteen(states[t][0], symbols, tables, tasks[t].end);
    }
  }
  for (std::size_t t = 0; t < kTasks; ++t) {
    _mm512_storeu_si512(tasks[t].states, states[t][0]);
    _mm512_storeu_si512(tasks[t].states + kSixteen, states[t][1]);
  }
}

void encode_steps(const rans::Entry* entries, rans::EncodeTask* tasks) {
  encode_together<2>(entries, tasks, HWY_MIN(tasks[0].steps, tasks[1].steps));
  encode_together<1>(entries, tasks, tasks[0].steps);
  encode_together<1>(entries, tasks + 1, tasks[1].steps);
}

// Without a mask that it knows nothing of, GCC 12 gathers into a register that still waits for its
// last value: decoding eq then took 1.1 times as long.
HWY_INLINE __m512i gathered(const std::uint32_t* table, __m512i index) {
  __mmask16 all = 0xffff;
  __asm__("" : "+Yk"(all));
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), all, index, table, 4);
}

// rans::take() of 16 symbols, where 16 words may be read.
HWY_INLINE __m512i take_sixteen(__m512i state,
                                const std::uint32_t* slots,
                                const std::byte*& words,
                                std::uint8_t* symbols) {
  const __m512i part = _mm512_set1_epi32(0xfff);
  const __m512i slot = gathered(slots, _mm512_and_si512(state, part));
  const __m512i place = _mm512_and_si512(_mm512_srli_epi32(slot, 12), part);
  const __m512i next = _mm512_add_epi32(
      _mm512_mullo_epi32(_mm512_and_si512(slot, part), _mm512_srli_epi32(state, rans::kBits)),
      place);
  const __mmask16 is_small = _mm512_cmplt_epi32_mask(next, _mm512_set1_epi32(rans::kLow));
  const __m512i fresh = _mm512_maskz_expand_epi32(
      is_small, _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words))));
  words += 2 * std::popcount(std::uint32_t{is_small});
  _mm_storeu_si128(reinterpret_cast<__m128i*>(symbols),
                   _mm512_cvtepi32_epi8(_mm512_srli_epi32(slot, 24)));
  return _mm512_mask_or_epi32(next, is_small, _mm512_slli_epi32(next, 16), fresh);
}

// Whole steps while there are some of each task, and each may read 32 words.
template <std::size_t kTasks>
HWY_INLINE void decode_together(const std::uint32_t* slots, rans::DecodeTask* tasks) {
  if (!tasks[0].has_step() || !tasks[kTasks - 1].has_step()) {
    return;
  }
  __m512i states[kTasks][2];
  for (std::size_t t = 0; t < kTasks; ++t) {
    states[t][0] = _mm512_loadu_si512(tasks[t].states);
    states[t][1] = _mm512_loadu_si512(tasks[t].states + kSixteen);
  }
  while (tasks[0].has_step() && tasks[kTasks - 1].has_step()) {
    for (std::size_t t = 0; t < kTasks; ++t) {
      rans::DecodeTask& task = tasks[t];
      states[t][0] = take_sixteen(states[t][0], slots, task.words, task.symbols);
      states[t][1] = take_sixteen(states[t][1], slots, task.words, task.symbols + kSixteen);
      task.symbols += kRansLanes;
      --task.steps;
    }
  }
  for (std::size_t t = 0; t < kTasks; ++t) {
    _mm512_storeu_si512(tasks[t].states, states[t][0]);
    _mm512_storeu_si512(tasks[t].states + kSixteen, states[t][1]);
  }
}

void decode_steps(const std::uint32_t* slots, rans::DecodeTask* tasks) {
  decode_together<2>(slots, tasks);
  decode_together<1>(slots, tasks);
  decode_together<1>(slots, tasks + 1);
}

#elif HWY_TARGET == HWY_AVX2

using Eight = hn::CappedTag<std::uint32_t, 8>;
using Vec8 = hn::Vec<Eight>;

HWY_INLINE Vec8 load_bytes(const std::uint8_t* from) {
  return hn::PromoteTo(Eight(), hn::LoadU(hn::Rebind<std::uint8_t, Eight>(), from));
}

HWY_INLINE Vec8 permuted(Vec8 values, const std::uint8_t* order) {
  const auto indices = hn::BitCast(hn::RebindToSigned<Eight>(), load_bytes(order));
  return hn::TableLookupLanes(values, hn::IndicesFromVec(Eight(), indices));
}

HWY_INLINE unsigned bits_of(hn::Mask<Eight> mask) {
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(Eight(), mask, bits);
  return bits[0];
}

HWY_INLINE Vec8 high_product(Vec8 a, Vec8 b) {
  const hn::Repartition<std::uint64_t, Eight> longs;
  const Eight tag;
  const auto even = hn::ShiftRight<32>(hn::MulEven(a, b));
  const auto odd = hn::MulEven(hn::BitCast(tag, hn::ShiftRight<32>(hn::BitCast(longs, a))),
                               hn::BitCast(tag, hn::ShiftRight<32>(hn::BitCast(longs, b))));
  return hn::OddEven(hn::BitCast(tag, odd), hn::BitCast(tag, even));
}

void encode_task(const rans::Entry* entries, rans::EncodeTask& task) {
  const Eight tag;
  const hn::RebindToSigned<Eight> ints;
  const auto* table = reinterpret_cast<const std::uint32_t*>(entries);
  while (task.steps > 0) {
    const std::uint8_t* symbols = task.symbols + --task.steps * kRansLanes;
    for (std::size_t lane = kRansLanes; lane > 0;) {
      lane -= 8;
      const auto symbol = hn::BitCast(ints, load_bytes(symbols + lane));
      const auto index = hn::Add(symbol, symbol);
      const auto reciprocal = hn::GatherIndex(tag, table, index);
      const auto packed = hn::GatherIndex(tag, table + 1, index);
      const auto complement = hn::And(hn::ShiftRight<13>(packed), hn::Set(tag, 0x1fffU));
      const auto limit = hn::ShiftLeft<19>(hn::Sub(hn::Set(tag, kRansTotal), complement));
      auto state = hn::LoadU(tag, task.states + lane);
      // Both are below 2^31.
      const auto is_large =
          hn::RebindMask(tag, hn::Not(hn::Lt(hn::BitCast(ints, state), hn::BitCast(ints, limit))));
      const unsigned mask = bits_of(is_large);
      const auto words =
          hn::And(permuted(state, rans::kLaneTables.pack[mask]), hn::Set(tag, 0xffffU));
      const hn::Rebind<std::uint16_t, Eight> shorts;
      hn::StoreU(hn::DemoteTo(shorts, hn::BitCast(ints, words)), shorts, task.end - 8);
      task.end -= std::popcount(mask);
      state = hn::IfThenElse(is_large, hn::ShiftRight<16>(state), state);
      const auto quotient = hn::Shr(high_product(state, reciprocal), hn::ShiftRight<26>(packed));
      const auto start = hn::And(packed, hn::Set(tag, 0x1fffU));
      state = hn::Add(hn::Add(state, start), hn::Mul(quotient, complement));
      hn::StoreU(state, tag, task.states + lane);
    }
  }
}

void encode_steps(const rans::Entry* entries, rans::EncodeTask* tasks) {
  encode_task(entries, tasks[0]);
  encode_task(entries, tasks[1]);
}

void decode_task(const std::uint32_t* slots, rans::DecodeTask& task) {
  const Eight tag;
  const hn::RebindToSigned<Eight> ints;
  const hn::Rebind<std::uint16_t, Eight> shorts;
  const hn::Rebind<std::uint8_t, Eight> bytes;
  const auto low = hn::Set(tag, rans::kLow);
  for (; task.has_step(); --task.steps, task.symbols += kRansLanes) {
    for (std::size_t lane = 0; lane < kRansLanes; lane += 8) {
      const auto state = hn::LoadU(tag, task.states + lane);
      const auto index = hn::BitCast(ints, hn::And(state, hn::Set(tag, kRansTotal - 1)));
      const auto slot = hn::GatherIndex(tag, slots, index);
      const auto frequency = hn::And(slot, hn::Set(tag, 0xfffU));
      const auto place = hn::And(hn::ShiftRight<12>(slot), hn::Set(tag, 0xfffU));
      auto next = hn::Add(hn::Mul(frequency, hn::ShiftRight<rans::kBits>(state)), place);
      const auto is_small =
          hn::RebindMask(tag, hn::Lt(hn::BitCast(ints, next), hn::BitCast(ints, low)));
      const unsigned mask = bits_of(is_small);
      const auto fresh =
          hn::PromoteTo(tag, hn::LoadU(shorts, reinterpret_cast<const std::uint16_t*>(task.words)));
      const auto filled =
          hn::Or(hn::ShiftLeft<16>(next), permuted(fresh, rans::kLaneTables.spread[mask]));
      task.words += 2 * std::popcount(mask);
      next = hn::IfThenElse(is_small, filled, next);
      hn::StoreU(next, tag, task.states + lane);
      const auto symbol = hn::BitCast(ints, hn::ShiftRight<24>(slot));
      hn::StoreU(hn::DemoteTo(bytes, symbol), bytes, task.symbols + lane);
    }
  }
}

void decode_steps(const std::uint32_t* slots, rans::DecodeTask* tasks) {
  decode_task(slots, tasks[0]);
  decode_task(slots, tasks[1]);
}

#else

void encode_steps(const rans::Entry* entries, rans::EncodeTask* tasks) {
  for (rans::EncodeTask* task = tasks; task != tasks + 2; ++task) {
    for (std::size_t at = task->steps * kRansLanes; at-- > 0;) {
      std::uint32_t& state = task->states[at % kRansLanes];
      state = rans::put_word(state, entries[task->symbols[at]], task->end);
    }
    task->steps = 0;
  }
}

void decode_steps(const std::uint32_t* /*slots*/, rans::DecodeTask* /*tasks*/) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#endif  // per-target guard
