#pragma once

#include "compress/quantizer.h"
#include "compress/varying_codec.h"

namespace hobnob {

struct EntropyConfig {
  // Of the root mean square of a frame: .34 costs 3.6 bits a value of a normal source and
  // loses 20.3 dB, .5: 3.1 bits and 16.9 dB, 1: 2.1 bits and 11.1 dB, 2: 1.2 bits.
  double step = 0.5;
  // A magnitude goes up to the next level from 1 - rounding on; less than 0.5 widens the zero.
  double rounding = 0.5;
};

namespace entropy {

// Step, top, a byte of zeros, number of escapes; a byte a middle and two a frequency.
constexpr std::size_t kMaxModelBytes = 10 + 2 * kMaxLevel + 2 * kRansSymbols;

constexpr std::size_t streams_of(std::size_t count) {
  return (count + kRansStreamSymbols - 1) / kRansStreamSymbols;
}

// Every value of a frame may be an escape.
constexpr std::size_t max_body_bytes(std::size_t count) {
  return kMaxModelBytes + 4 * count + streams_of(count) * (4 + 4 * kRansLanes) + 2 * count;
}

constexpr std::size_t max_message_bytes(std::size_t count) {
  const std::size_t whole = count / message::kFrameCount;
  const std::size_t rest = count % message::kFrameCount;
  return message::max_varying_bytes(
      count, whole * max_body_bytes(message::kFrameCount) + (rest == 0 ? 0 : max_body_bytes(rest)));
}

}  // namespace entropy

// Uniform scalar quantization with entropy coding: each frame has its own step, the levels' middle
// values and the frequencies of its 2 x 15 + 1 levels and of the escape for those beyond, from a
// sample, and rANS streams of at most 32,768 symbols. Within 0.25 bits of the rate-distortion bound
// at high rates (Gish and Pierce, IEEE Trans. Inf. Theory 14(5), 1968).
class EntropyCodec final : public VaryingCodec {
 public:
  explicit EntropyCodec(const EntropyConfig& config) : config_(config) {}

  CodecId id() const override { return CodecId::kEntropy; }

  CodecTraits traits() const override;

  std::size_t max_bytes(std::size_t count, DType /*type*/) const override {
    return entropy::max_message_bytes(count);
  }

  std::size_t encode_advance(ConstVec values, Vec hat, RngKey key, Bytes& out) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const override;
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;

  const EntropyConfig config_;
};

}  // namespace hobnob
