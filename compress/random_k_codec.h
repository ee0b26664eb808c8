#pragma once

#include <cstdint>

#include "compress/varying_codec.h"

namespace hobnob {

struct RandomKConfig {
  // Of each `one_in` groups of 64 values one is sent, drawn anew in every message: density
  // 1 / one_in. 1 to 65,536.
  std::uint32_t one_in = 10;
  // What is sent is multiplied by one_in and rounded to bf16 at random, so that the mean over keys
  // of what is decoded is the vector. Without, it is rounded to nearest, and |v - Q(v)|^2 is
  // (1 - 1 / one_in) |v|^2 in the mean (Stich et al. 1809.07599).
  bool is_unbiased = false;
};

// Values at random places, the same for all who use one key: no index is sent, and sums of such
// messages stay as sparse. The places follow from a key in the header. Groups are numbered from the
// start of their frame of 65,536 values; stratum s of frame f, groups [s one_in, (s + 1) one_in),
// sends its group floor(w one_in / 2^64), with w the first two words of Philox4x32-10 at counter
// (f << 32 | s); in a stratum cut short by the frame's or vector's end that group may not exist,
// and then nothing is sent. So each value is sent with probability exactly 1 / one_in up to 2^-48.
// A frame's body is the bf16 values of its groups, or nothing if all are zero.
//
// A group with an infinity, a NaN or a number beyond bf16 is sent as zeros and counted. Only groups
// that are sent are read at all.
class RandomKCodec final : public VaryingCodec {
 public:
  explicit RandomKCodec(const RandomKConfig& config = {});

  CodecId id() const override { return CodecId::kRandomK; }

  CodecTraits traits() const override;
  std::size_t max_bytes(std::size_t count, DType type) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const override;

  const RandomKConfig config_;
};

}  // namespace hobnob
