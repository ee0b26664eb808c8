#pragma once

#include "compress/varying_codec.h"

namespace hobnob {

// Sparse ternary compression (Sattler et al. 1903.02891, algorithm 1): the k = ceil(density x
// count) largest values are sent as +mean or -mean, the others as zeros; half the bits of top-k
// with int8. The mean is that of the magnitudes sent in a frame of 65,536 (the paper's is of the
// whole tensor), to nearest after an integer sum, so that its bits do not depend on the order. A
// frame's body is
//
//   u24 values sent, u8 Rice parameter | f32 mean | for each: Rice code of the values skipped, sign
//
// 9.1 bits for a value that is sent at 1 % density.
class SparseTernaryCodec final : public VaryingCodec {
 public:
  // Share of the values that is sent, in (0, 1].
  explicit SparseTernaryCodec(double density = 0.01);

  CodecId id() const override { return CodecId::kSparseTernary; }

  CodecTraits traits() const override;
  std::size_t max_bytes(std::size_t count, DType type) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const override;

  const double density_;
};

}  // namespace hobnob
