#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

namespace hobnob {

// Range asymmetric numeral systems (Duda 1311.2540) with interleaved states (Giesen 1402.3392):
// state l of `lanes` codes symbols l, l + lanes, ...; 32-bit states in [2^15, 2^31), 16 bits at a
// time, probabilities in 4096ths. With 32 lanes one warp, or vectors of 8, give the same bytes.
//
// A stream is: u32 words, `lanes` x u32 first states, words x u16.

constexpr std::uint32_t kRansSymbols = 32;
constexpr std::uint32_t kRansTotal = 4096;
constexpr std::size_t kRansLanes = 32;
// Symbols of one stream: its states cost 128 bytes, its decoder one warp.
constexpr std::size_t kRansStreamSymbols = 32768;

// Frequencies of all symbols, whose sum is kRansTotal; a symbol with frequency 0 cannot be sent,
// and none has all.
using RansFrequencies = std::array<std::uint16_t, kRansSymbols>;

// In proportion to `counts`, but at least 1 where `is_needed`, which two symbols or more are. All
// counts may be 0. O(symbols).
RansFrequencies rans_frequencies(const std::array<std::uint32_t, kRansSymbols>& counts,
                                 const std::array<bool, kRansSymbols>& is_needed);

bool are_rans_frequencies(const RansFrequencies& frequencies);

// 32 lanes where the states' 128 bytes are little beside the symbols, else 4.
constexpr std::size_t rans_lanes(std::size_t symbols) {
  return symbols >= 4096 ? kRansLanes : 4;
}

// No stream of so many symbols is longer.
constexpr std::size_t max_rans_bytes(std::size_t symbols) {
  return 4 + 4 * kRansLanes + 2 * symbols;
}

// Appends the stream of 1 to kRansStreamSymbols symbols. Thread-safe.
void rans_encode(std::span<const std::uint8_t> symbols,
                 const RansFrequencies& frequencies,
                 Bytes& out);

// The length of the stream of `symbols` symbols at the beginning of `bytes`, or kMalformed: what
// rans_decode() needs to be checked beforehand.
Result<std::size_t> check_rans_stream(ByteSpan bytes, std::size_t symbols);

// Decoding tables of one set of frequencies. 16 KiB.
class RansDecoder {
 public:
  explicit RansDecoder(const RansFrequencies& frequencies);

  // Total: any checked stream gives symbols.
  void decode(ByteSpan stream, std::span<std::uint8_t> symbols) const;

 private:
  // Slot 0 to 4095 of a state: frequency | slot's place among its symbol's << 12 | symbol << 24.
  std::array<std::uint32_t, kRansTotal> slots_;
};

}  // namespace hobnob
