#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compress/rans_rules.h"
#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

namespace hobnob {

// Range asymmetric numeral systems (Duda 1311.2540) with interleaved states (Giesen 1402.3392):
// state l of `lanes` codes symbols l, l + lanes, ...; 32-bit states in [2^15, 2^31), 16 bits at a
// time, probabilities in 4096ths. With 32 lanes one warp, or vectors of 8 or 16, give the same
// bytes.
//
// A stream is: u32 words, `lanes` x u32 first states, words x u16.

bool are_rans_frequencies(const RansFrequencies& frequencies);

// No stream of so many symbols is longer.
constexpr std::size_t max_rans_bytes(std::size_t symbols) {
  return 4 + 4 * kRansLanes + 2 * symbols;
}

// Appends the streams of symbols (n,): kRansStreamSymbols each but the last. Thread-safe. O(n).
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

  // Symbols (n,) of the streams that rans_encode() makes of n. Total: any checked ones give
  // symbols.
  void decode(std::span<const ByteSpan> streams, std::span<std::uint8_t> symbols) const;

 private:
  // Slot 0 to 4095 of a state: frequency | slot's place among its symbol's << 12 | symbol << 24.
  std::array<std::uint32_t, kRansTotal> slots_;
};

}  // namespace hobnob
