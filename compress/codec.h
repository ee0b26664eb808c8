#pragma once

#include <cstdint>
#include <memory>
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
};

struct CodecConfig {
  // raw | fp32 | bf16 | int8.
  std::string kind = "int8";
  // Values that share one scale (int8 only; 256 is the wire layout's block and the only one today).
  std::size_t block = 256;
};

struct CodecTraits {
  bool exact = false;          // decode(encode(v)) == v in the working precision
  double nominal_bits = 32.0;  // per value, scales included
};

// Values -> bytes -> values, the same bytes on every machine. Thread-safe: no state.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual CodecId id() const = 0;
  virtual CodecTraits traits() const = 0;

  // No encoding of `count` values of `type` is longer.
  virtual std::size_t max_bytes(std::size_t count, DType type) const = 0;

  // Appends the encoding of values (count,) to `out`. Codecs other than raw see float32 (float64 is
  // rounded once). A block of 256 with a NaN, an infinity or a number too large for the format
  // (FORMAT.md) is sent as zeros; returns how many such blocks there were.
  virtual std::size_t encode(ConstVec values, RngKey key, Bytes& out) const = 0;

  // into (count,) += scale * values. Total: any bytes give the sum or kMalformed, and then `into`
  // is untouched. The multiply and the add are rounded one after the other in into's type, so all
  // machines agree.
  virtual Result<void> decode_add(ByteSpan bytes, double scale, Vec into) const = 0;
};

Result<void> validate(const CodecConfig& config);
// `config` must be valid.
std::unique_ptr<Codec> make_codec(const CodecConfig& config);
// The codec that a peer's bytes name, or kMalformed.
Result<std::unique_ptr<Codec>> make_codec(CodecId id);

}  // namespace hobnob
