#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"
#include "runtime/base/rng.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// On the wire; ONLY APPEND TO THIS LIST.
enum class CodecId : std::uint8_t {
  kRaw = 0,  // the working precision as it is (float64 in the simulator)
  kFloat32 = 1,
  kBFloat16 = 2,
  kInt8 = 3,
  kFloat16 = 4,
  kInt4 = 5,
  kNf4 = 6,
  kLm4 = 7,
  kH4 = 8,
  kH2 = 9,
  kSign = 10,
  kEntropy = 11,
  kTopK = 12,
  kRandomK = 13,
  kSparseTernary = 14,
  kDctTopK = 15,
  kTerngrad = 16,
  kLog = 17,
  kQsgd8 = 18,
  kQsgd4 = 19,
  kPowerSgd = 20,
  kLqSgd = 21,
  kBinomial = 22,
};

// Their messages hold two messages of another codec (low_rank_codec.h).
constexpr bool is_low_rank(CodecId id) {
  return id == CodecId::kPowerSgd || id == CodecId::kLqSgd;
}

struct CodecTraits {
  bool exact = false;          // decode(encode(v)) == v in the working precision
  bool unbiased = false;       // the mean over keys of decode(encode(v, key)) is v
  bool fixed_length = true;    // every message of a count has max_bytes()
  double nominal_bits = 32.0;  // per value, scales included
  // About which share of a difference one message carries; the rest is left to later ones.
  double carried = 1.0;
};

// A message, and the factor it is added with.
struct CodecPart {
  ByteSpan bytes;
  double scale = 1.0;
};

// Values -> bytes -> values, the same bytes on every machine. Thread-safe: no state.
//
// Codecs other than raw see float32: float64, and a difference of float64, is rounded once. A block
// of 256 with a NaN, an infinity or a number too large for the format (FORMAT.md) is sent as zeros.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual CodecId id() const = 0;
  virtual CodecTraits traits() const = 0;

  // No encoding of `count` values of `type` is longer.
  virtual std::size_t max_bytes(std::size_t count, DType type) const = 0;

  // Appends the encoding of values (count,) to `out`. Returns how many blocks were sent as zeros
  // because they could not be sent. The key decides what a codec that rounds or selects at random
  // does; others ignore it.
  virtual std::size_t encode(ConstVec values, RngKey key, Bytes& out) const = 0;

  // encode(values - base); both of one type.
  virtual std::size_t encode_difference(ConstVec values,
                                        ConstVec base,
                                        RngKey key,
                                        Bytes& out) const = 0;

  // encode_difference(values, hat), then decode_add of its bytes to `hat` with scale 1: `hat` is
  // what the neighbours hold, and what the codec lost stays in the next difference (CHOCO-SGD,
  // Koloskova et al. 1902.00340, algorithm 2).
  virtual std::size_t encode_advance(ConstVec values, Vec hat, RngKey key, Bytes& out) const;

  // Whether a peer's bytes are a message of `count` values for a target of `type`: ok, or
  // kMalformed.
  virtual Result<void> check(ByteSpan bytes, std::size_t count, DType type) const = 0;

  // into (count,) += scale * values. Total: any bytes give the sum or kMalformed, and then `into`
  // is untouched. The multiply and the add are rounded one after the other in into's type, so all
  // machines agree.
  Result<void> decode_add(ByteSpan bytes, double scale, Vec into) const;
  // The same for several messages, one after the other; at most kMaxFused are read in one pass over
  // `into`. kMalformed if any is.
  Result<void> decode_add(std::span<const CodecPart> parts, Vec into) const;

  static constexpr std::size_t kMaxFused = 4;

 protected:
  // decode_add of 1 to kMaxFused messages that passed check().
  virtual void add_checked(std::span<const CodecPart> parts, Vec into) const = 0;
};

}  // namespace hobnob
