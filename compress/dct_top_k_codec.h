#pragma once

#include <cstddef>

#include "compress/varying_codec.h"

namespace hobnob {

// The largest coefficients of each chunk of 64 after a cosine transform (dct64.h), as int8 with a
// scale for each block of 256: what DeMo sends of its momentum (Peng et al. 2411.19870), which
// there subtracts what was decoded. Chunks run along the flat vector (the paper's demo.py takes 64
// x 64 tiles of a matrix); a last chunk that is short is filled up with zeros. All frames have the
// length that `kept` gives them. A body is
//
//   bf16 scale of each block | places in each chunk | int8 coefficient for each place, in order
//
// Places are u8 each, increasing, if a chunk sends 8 or fewer; above, a u64 whose bit k says that
// coefficient k is sent. kept = 32: 5.06 bits per value; kept = 4: 1.06.
//
// A block with a magnitude of 2^116 or more is sent as zeros; scales are 0 or in [2^-100, 2^114),
// so that no sum overflows.
class DctTopKCodec final : public VaryingCodec {
 public:
  // Coefficients sent of each 64, 1 to 64.
  explicit DctTopKCodec(std::size_t kept = 32);

  CodecId id() const override { return CodecId::kDctTopK; }

  CodecTraits traits() const override;
  std::size_t max_bytes(std::size_t count, DType type) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const override;

  const std::size_t kept_;
};

}  // namespace hobnob
