#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/top_k_select.h"
#include "compress/varying_codec.h"

namespace hobnob {

struct TopKConfig {
  enum class Selection : std::uint8_t {
    kHistogram,  // exactly the ceil(density x count) largest
    kDgc,        // as many within [0.8, 1.3], by sampled threshold (dgc_rules.h)
  };

  double density = 0.01;  // share of the values that is sent, in (0, 1]
  Selection selection = Selection::kHistogram;
};

// The largest values as int8, the others as zeros: a contraction, |v - Q(v)|^2 <= (1 - k / d) |v|^2
// before the int8 rounding (Stich et al. 1809.07599). For a frame with n values sent, its body is
//
//   u8 count of each block of 256 | bf16 scale of each 256 sent | u8 index in its block | int8
//   value
//
// 16.06 bits for a value that is sent and 0.031 for one that is not; a scale for each block would
// add 0.06 for every value, and more than the values themselves take at 0.3 % density. Of a block
// with all 256 chosen the smallest is left out, since counts end at 255. All frames keep int8's
// rules for scales (FORMAT.md).
class TopKCodec final : public VaryingCodec {
 public:
  explicit TopKCodec(const TopKConfig& config = {});

  CodecId id() const override { return CodecId::kTopK; }

  CodecTraits traits() const override;
  std::size_t max_bytes(std::size_t count, DType type) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

  // Sets bit k of `mask` (64 to a word, ceil(count / 64) words) where a peer who decodes `bytes`
  // gets something other than zero, and clears the others. kMalformed leaves it as it is.
  Result<void> mark_sent(ByteSpan bytes, std::size_t count, std::span<std::uint64_t> mask) const;

 private:
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;
  // The key decides where DGC's sample begins.
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const override;

  const TopKConfig config_;
};

}  // namespace hobnob
