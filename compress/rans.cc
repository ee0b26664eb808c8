#include "compress/rans.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/rans.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HOBNOB_COMPRESS_RANS_SHARED_
#define HOBNOB_COMPRESS_RANS_SHARED_

namespace hobnob::rans {

struct EncodeTask {
  const std::uint8_t* symbols = nullptr;
  std::size_t steps = 0;  // of 32 symbols
  const Entry* entries = nullptr;
  std::uint32_t* states = nullptr;  // (32,)
};

struct DecodeTask {
  const std::uint16_t* words = nullptr;  // unaligned
  const std::uint16_t* end = nullptr;
  std::size_t steps = 0;
  const std::uint32_t* slots = nullptr;
  std::uint32_t* states = nullptr;
  std::uint8_t* symbols = nullptr;
};

// For each mask of 8 lanes: where its set lanes stand, packed to the right (encoder), and for each
// lane the word it takes, counted from the first (decoder).
struct LaneTables {
  std::uint8_t pack[256][8];
  std::uint8_t spread[256][8];
};

constexpr LaneTables make_lane_tables() {
  LaneTables tables{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned taken = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      tables.spread[mask][lane] = static_cast<std::uint8_t>(taken % 8);
      taken += mask >> lane & 1U;
    }
    unsigned at = 8 - taken;
    for (unsigned lane = 0; lane < 8; ++lane) {
      if ((mask >> lane & 1U) != 0) {
        tables.pack[mask][at++] = static_cast<std::uint8_t>(lane);
      }
    }
  }
  return tables;
}

inline constexpr LaneTables kLaneTables = make_lane_tables();

inline std::uint16_t load_word(const std::uint16_t* at) {
  std::uint16_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// One symbol; a word goes before `end` when the state is too large.
inline std::uint32_t put_word(std::uint32_t state, const Entry& entry, std::uint16_t*& end) {
  if (state >= emit_limit(entry)) {
    const auto word = static_cast<std::uint16_t>(state);
    --end;
    std::memcpy(end, &word, sizeof word);
    state >>= 16U;
  }
  return put(state, entry);
}

// One symbol; past the last word there are zeros.
inline std::uint32_t take(std::uint32_t state,
                          const std::uint32_t* slots,
                          const std::uint16_t*& at,
                          const std::uint16_t* end) {
  const std::uint32_t slot = slots[state & (kRansTotal - 1)];
  std::uint32_t next = taken(state, slot);
  if (next < kLow) {
    next = next << 16U | (at < end ? load_word(at) : std::uint16_t{0});
    at += at < end ? 1 : 0;
  }
  return next;
}

}  // namespace hobnob::rans

#endif  // HOBNOB_COMPRESS_RANS_SHARED_

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Eight = hn::CappedTag<std::uint32_t, 8>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

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

// Words go before `end`, where there is room for 8 more than there are.
void encode_steps(const rans::EncodeTask& task, std::uint16_t*& end) {
  const Eight tag;
  const hn::RebindToSigned<Eight> ints;
  const auto* table = reinterpret_cast<const std::uint32_t*>(task.entries);
  for (std::size_t step = task.steps; step-- > 0;) {
    for (std::size_t lane = kRansLanes; lane > 0;) {
      lane -= 8;
      const auto symbol = hn::BitCast(ints, load_bytes(task.symbols + step * kRansLanes + lane));
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
      hn::StoreU(hn::DemoteTo(shorts, hn::BitCast(ints, words)), shorts, end - 8);
      end -= std::popcount(mask);
      state = hn::IfThenElse(is_large, hn::ShiftRight<16>(state), state);
      const auto quotient = hn::Shr(high_product(state, reciprocal), hn::ShiftRight<26>(packed));
      const auto start = hn::And(packed, hn::Set(tag, 0x1fffU));
      state = hn::Add(hn::Add(state, start), hn::Mul(quotient, complement));
      hn::StoreU(state, tag, task.states + lane);
    }
  }
}

// Whole steps while each may read 32 words; returns how many were done.
std::size_t decode_steps(const rans::DecodeTask& task, const std::uint16_t*& words) {
  const Eight tag;
  const hn::RebindToSigned<Eight> ints;
  const hn::Rebind<std::uint16_t, Eight> shorts;
  const hn::Rebind<std::uint8_t, Eight> bytes;
  const auto low = hn::Set(tag, rans::kLow);
  std::size_t step = 0;
  for (; step < task.steps && task.end - words >= static_cast<std::ptrdiff_t>(kRansLanes); ++step) {
    for (std::size_t lane = 0; lane < kRansLanes; lane += 8) {
      const auto state = hn::LoadU(tag, task.states + lane);
      const auto index = hn::BitCast(ints, hn::And(state, hn::Set(tag, kRansTotal - 1)));
      const auto slot = hn::GatherIndex(tag, task.slots, index);
      const auto frequency = hn::And(slot, hn::Set(tag, 0xfffU));
      const auto place = hn::And(hn::ShiftRight<12>(slot), hn::Set(tag, 0xfffU));
      auto next = hn::Add(hn::Mul(frequency, hn::ShiftRight<rans::kBits>(state)), place);
      const auto is_small =
          hn::RebindMask(tag, hn::Lt(hn::BitCast(ints, next), hn::BitCast(ints, low)));
      const unsigned mask = bits_of(is_small);
      const auto fresh = hn::PromoteTo(tag, hn::LoadU(shorts, words));
      const auto filled =
          hn::Or(hn::ShiftLeft<16>(next), permuted(fresh, rans::kLaneTables.spread[mask]));
      words += std::popcount(mask);
      next = hn::IfThenElse(is_small, filled, next);
      hn::StoreU(next, tag, task.states + lane);
      const auto symbol = hn::BitCast(ints, hn::ShiftRight<24>(slot));
      hn::StoreU(hn::DemoteTo(bytes, symbol), bytes, task.symbols + step * kRansLanes + lane);
    }
  }
  return step;
}

#else

void encode_steps(const rans::EncodeTask& task, std::uint16_t*& end) {
  for (std::size_t at = task.steps * kRansLanes; at-- > 0;) {
    std::uint32_t& state = task.states[at % kRansLanes];
    state = rans::put_word(state, task.entries[task.symbols[at]], end);
  }
}

std::size_t decode_steps(const rans::DecodeTask& /*task*/, const std::uint16_t*& /*words*/) {
  return 0;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(encode_steps);
HWY_EXPORT(decode_steps);

bool are_rans_frequencies(const RansFrequencies& frequencies) {
  return std::accumulate(frequencies.begin(), frequencies.end(), 0U) == kRansTotal &&
         std::ranges::max(frequencies) < kRansTotal;
}

void rans_encode(std::span<const std::uint8_t> symbols,
                 const RansFrequencies& frequencies,
                 Bytes& out) {
  const std::size_t lanes = rans_lanes(symbols.size());
  const rans::Entries entries = rans::entries_of(frequencies);
  std::array<std::uint32_t, kRansLanes> states;
  states.fill(rans::kLow);
  // A symbol emits one word at most; 8 more for what a vector stores beyond its words.
  std::array<std::uint16_t, kRansStreamSymbols + 8> words;
  std::uint16_t* end = words.data() + words.size();
  const std::size_t steps = lanes == kRansLanes ? symbols.size() / kRansLanes : 0;
  for (std::size_t at = symbols.size(); at-- > steps * kRansLanes;) {
    std::uint32_t& state = states[at % lanes];
    state = rans::put_word(state, entries[symbols[at]], end);
  }
  HWY_DYNAMIC_DISPATCH(encode_steps)
  ({.symbols = symbols.data(), .steps = steps, .entries = entries.data(), .states = states.data()},
   end);
  const auto count = static_cast<std::uint32_t>(words.data() + words.size() - end);
  ByteWriter writer(out);
  writer.put(count);
  writer.put_bytes(std::as_bytes(std::span(states).first(lanes)));
  writer.put_bytes(std::as_bytes(std::span(end, count)));
}

Result<std::size_t> check_rans_stream(ByteSpan bytes, std::size_t symbols) {
  const std::size_t lanes = rans_lanes(symbols);
  ByteReader reader(bytes);
  const std::size_t words = reader.get<std::uint32_t>();
  if (!reader.ok() || words > symbols || reader.left() < 4 * lanes + 2 * words) {
    return make_error(ErrorCode::kMalformed, "decode failed: entropy-coded stream is cut off");
  }
  return 4 + 4 * lanes + 2 * words;
}

RansDecoder::RansDecoder(const RansFrequencies& frequencies) {
  std::uint32_t slot = 0;
  for (std::uint32_t symbol = 0; symbol < kRansSymbols; ++symbol) {
    const std::uint32_t f = frequencies[symbol];
    for (std::uint32_t place = 0; place < f && slot < kRansTotal; ++place, ++slot) {
      slots_[slot] = f | place << 12U | symbol << 24U;
    }
  }
}

void RansDecoder::decode(ByteSpan stream, std::span<std::uint8_t> symbols) const {
  const std::size_t lanes = rans_lanes(symbols.size());
  std::array<std::uint32_t, kRansLanes> states{};
  std::memcpy(states.data(), stream.data() + 4, 4 * lanes);
  for (std::uint32_t& state : states) {
    state &= 0x7fffffffU;  // of a stream that no encoder made
  }
  const auto* words = reinterpret_cast<const std::uint16_t*>(stream.data() + 4 + 4 * lanes);
  const auto* end = words + (stream.size() - 4 - 4 * lanes) / 2;
  std::size_t at = 0;
  if (lanes == kRansLanes) {
    at = kRansLanes * HWY_DYNAMIC_DISPATCH(decode_steps)({.words = words,
                                                          .end = end,
                                                          .steps = symbols.size() / kRansLanes,
                                                          .slots = slots_.data(),
                                                          .states = states.data(),
                                                          .symbols = symbols.data()},
                                                         words);
  }
  for (; at < symbols.size(); ++at) {
    std::uint32_t& state = states[at % lanes];
    symbols[at] = static_cast<std::uint8_t>(slots_[state & (kRansTotal - 1)] >> 24U);
    state = rans::take(state, slots_.data(), words, end);
  }
}

}  // namespace hobnob

#endif  // HWY_ONCE
