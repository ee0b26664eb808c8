#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compress/rans_rules.h"

// What rans.cc and the steps of each instruction set share.

namespace hobnob::rans {

// The symbols that are left of one stream, the last first.
struct EncodeTask {
  const std::uint8_t* symbols = nullptr;
  std::size_t steps = 0;            // of 32 symbols
  std::uint32_t* states = nullptr;  // (32,)
  // Words go before it, where there is room for 8 more than there are.
  std::uint16_t* end = nullptr;
};

// The symbols that are left of one stream, the first first.
struct DecodeTask {
  const std::byte* words = nullptr;
  const std::byte* end = nullptr;
  std::size_t steps = 0;
  std::uint32_t* states = nullptr;
  std::uint8_t* symbols = nullptr;

  // A step may read 32 words.
  bool has_step() const {
    return steps > 0 && end - words >= static_cast<std::ptrdiff_t>(2 * kRansLanes);
  }
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

// One symbol; a word goes before `end` when the state is too large.
inline std::uint32_t put_word(std::uint32_t state, const Entry& entry, std::uint16_t*& end) {
  if (state >= emit_limit(entry)) {
    *--end = static_cast<std::uint16_t>(state);
    state >>= 16U;
  }
  return put(state, entry);
}

// One symbol; past the last word there are zeros.
inline std::uint32_t take(std::uint32_t state,
                          const std::uint32_t* slots,
                          const std::byte*& at,
                          const std::byte* end) {
  const std::uint32_t slot = slots[state & (kRansTotal - 1)];
  std::uint32_t next = taken(state, slot);
  if (next < kLow) {
    std::uint16_t word = 0;
    if (at < end) {
      std::memcpy(&word, at, sizeof word);
      at += sizeof word;
    }
    next = next << 16U | word;
  }
  return next;
}

}  // namespace hobnob::rans
