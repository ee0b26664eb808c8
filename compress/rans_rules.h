#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

// The arithmetic of rans.h, for CPU and GPU: nothing but integers.

namespace hobnob {

constexpr std::uint32_t kRansSymbols = 32;
constexpr std::uint32_t kRansTotal = 4096;
constexpr std::size_t kRansLanes = 32;
// Symbols of one stream: its states cost 128 bytes, its decoder one warp.
constexpr std::size_t kRansStreamSymbols = 32768;

// Frequencies of all symbols, whose sum is kRansTotal; a symbol with frequency 0 cannot be sent,
// and none has all.
using RansFrequencies = std::array<std::uint16_t, kRansSymbols>;

// 32 lanes where the states' 128 bytes are little beside the symbols, else 4.
constexpr std::size_t rans_lanes(std::size_t symbols) {
  return symbols >= 4096 ? kRansLanes : 4;
}

// In proportion to `counts`, but at least 1 where `is_needed`, which two symbols or more are. All
// counts may be 0. O(symbols).
constexpr RansFrequencies rans_frequencies(const std::array<std::uint32_t, kRansSymbols>& counts,
                                           const std::array<bool, kRansSymbols>& is_needed) {
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  RansFrequencies frequencies{};
  std::uint32_t sum = 0;
  for (std::size_t symbol = 0; symbol < kRansSymbols; ++symbol) {
    const std::uint64_t share =
        total == 0 ? 0 : (std::uint64_t{counts[symbol]} * kRansTotal + total / 2) / total;
    frequencies[symbol] = static_cast<std::uint16_t>(
        is_needed[symbol] ? std::clamp<std::uint64_t>(share, 1, kRansTotal - 1) : 0);
    sum += frequencies[symbol];
  }
  // What rounding left over or took too much goes to the most frequent, which feels it least.
  while (sum != kRansTotal) {
    auto largest = std::max_element(frequencies.begin(), frequencies.end());
    const int missing = static_cast<int>(kRansTotal) - static_cast<int>(sum);
    const int change = std::max(missing, 1 - static_cast<int>(*largest));
    *largest = static_cast<std::uint16_t>(*largest + change);
    sum = static_cast<std::uint32_t>(static_cast<int>(sum) + change);
  }
  return frequencies;
}

namespace rans {

constexpr std::uint32_t kLow = 1U << 15U;
constexpr std::uint32_t kBits = 12;

// Of one symbol, for the encoder. Division by the frequency is a multiplication by its reciprocal,
// exact for states below 2^31 (Alverson, 1991; Giesen's ryg_rans, public domain, has the proof):
// x / f = (x * reciprocal >> 32) >> shift.
struct Entry {
  std::uint32_t reciprocal = 0;
  // x -> x + start + (x / f) * (4096 - f); f = 1 is start + 4095 and a quotient one too small.
  std::uint32_t packed = 0;  // start' | complement << 13 | shift << 26

  constexpr std::uint32_t start() const { return packed & 0x1fffU; }

  constexpr std::uint32_t complement() const { return packed >> 13U & 0x1fffU; }

  constexpr std::uint32_t shift() const { return packed >> 26U; }
};

using Entries = std::array<Entry, kRansSymbols>;

constexpr std::uint32_t put(std::uint32_t state, const Entry& entry) {
  const auto high = static_cast<std::uint32_t>(std::uint64_t{state} * entry.reciprocal >> 32U);
  return state + entry.start() + (high >> entry.shift()) * entry.complement();
}

// From 4096 - complement: the frequency, also of f = 1.
constexpr std::uint32_t emit_limit(const Entry& entry) {
  return (kRansTotal - entry.complement()) << 19U;
}

constexpr Entries entries_of(const RansFrequencies& frequencies) {
  Entries entries{};
  std::uint32_t start = 0;
  for (std::uint32_t symbol = 0; symbol < kRansSymbols; ++symbol) {
    const std::uint32_t f = frequencies[symbol];
    Entry& entry = entries[symbol];
    if (f == 1) {
      entry.reciprocal = ~0U;
      entry.packed = (start + kRansTotal - 1) | (kRansTotal - 1) << 13U;
    } else if (f > 1) {
      const auto shift = static_cast<std::uint32_t>(std::bit_width(f - 1));
      const std::uint64_t scaled = (std::uint64_t{1} << (shift + 31U)) + f - 1;
      entry.reciprocal = static_cast<std::uint32_t>(scaled / f);
      entry.packed = start | (kRansTotal - f) << 13U | (shift - 1) << 26U;
    }
    start += f;
  }
  return entries;
}

// Slot 0 to 4095 of a state: frequency | slot's place among its symbol's << 12 | symbol << 24.
constexpr std::uint32_t slot_of(const RansFrequencies& frequencies, std::uint32_t slot) {
  std::uint32_t symbol = 0;
  while (slot >= frequencies[symbol]) {
    slot -= frequencies[symbol];
    ++symbol;
  }
  return frequencies[symbol] | slot << 12U | symbol << 24U;
}

// The state before a symbol that is in `slot`; below kLow it takes a word.
constexpr std::uint32_t taken(std::uint32_t state, std::uint32_t slot) {
  return (slot & 0xfffU) * (state >> kBits) + (slot >> 12U & 0xfffU);
}

}  // namespace rans

}  // namespace hobnob
