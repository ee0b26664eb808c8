#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/varying_codec.h"

namespace hobnob {

struct BinomialConfig {
  float clip = 1.0F;          // values beyond are sent as +-clip
  std::uint32_t levels = 8;   // on each side of 0, 1 to kMaxLevels
  std::uint32_t trials = 32;  // of the noise, even, 0 to kMaxTrials
};

// Clipped, rounded at random to levels of clip / levels, and with Binomial(trials, 1/2) - trials /
// 2 levels of noise added (cpSGD, Agarwal et al. 1805.10559; decentralized: 2304.13545). Unbiased
// for values within the clip; the noise adds trials / 4 x (clip / levels)^2 of variance. The noise
// is as secret as the key. What it gives is a mechanism: nothing here counts the privacy that is
// left after many messages of one difference.
//
// Blocks that cannot be sent are noise around zero, and so are zeros: a frame never says that it
// has none.
class BinomialCodec final : public VaryingCodec {
 public:
  static constexpr std::uint32_t kMaxLevels = 1024;
  static constexpr std::uint32_t kMaxTrials = 256;
  static constexpr float kLeastClip = 0x1p-60F;
  static constexpr float kLargestClip = 0x1p60F;

  explicit BinomialCodec(const BinomialConfig& config);

  CodecId id() const override { return CodecId::kBinomial; }

  CodecTraits traits() const override;
  std::size_t max_bytes(std::size_t count, DType type) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const override;
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;

  const BinomialConfig config_;
};

}  // namespace hobnob
