#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compress/codec.h"
#include "compress/delta.h"

namespace hobnob {

struct LowRankConfig {
  std::uint32_t rank = 4;  // 1 to kMaxRank; fewer are sent of a matrix with fewer rows or columns
  // The vector is read as rows of so many values; 0: as many as make it square. The length of a
  // layer's rows is what finds its structure.
  std::uint32_t columns = 0;
};

// PowerSGD (Vogels et al. 1905.13727) of one peer's difference: D ~ P Q^T, P (rows, rank) and Q
// (columns, rank), from two steps of subspace iteration that begin at columns drawn from the key,
// since a codec keeps no state from message to message; what is lost is the replica's to remember.
// P is sent with another codec: bf16, or 4-bit powers of two (LQ-SGD, 2506.17974); Q is the least
// squares fit to the P that arrives, sent with the same codec.
//
// Decoding is sum_k P_ik Q_jk in the order of k. A block of 256 with a magnitude of 2^96 or more,
// an infinity or a NaN is taken for zeros. O(4 rank count) to encode, O(rank count) to decode.
class LowRankCodec final : public Codec {
 public:
  static constexpr std::uint32_t kMaxRank = 64;
  static constexpr std::uint32_t kMaxColumns = 1U << 24U;

  // `factors` encodes P and Q: float32 messages of fixed length.
  LowRankCodec(CodecId id, const LowRankConfig& config, std::unique_ptr<Codec> factors);

  CodecId id() const override { return id_; }

  CodecTraits traits() const override;
  std::size_t max_bytes(std::size_t count, DType type) const override;
  std::size_t encode(ConstVec values, RngKey key, Bytes& out) const override;
  std::size_t encode_difference(ConstVec values,
                                ConstVec base,
                                RngKey key,
                                Bytes& out) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

  // What a message holds after its header: two messages of the factor codec, (rank, rows) and
  // (rank, columns) values. Rank 0: none, the message is of zeros.
  struct Factors {
    std::size_t rank = 0;
    std::size_t rows = 0;
    std::size_t columns = 0;
    ByteSpan p;
    ByteSpan q;

    std::size_t p_values() const { return rank * rows; }

    std::size_t q_values() const { return rank * columns; }
  };

  // By rank, columns and lengths alone; kMalformed when they do not fit each other and `count`.
  Result<Factors> split(ByteSpan bytes, std::size_t count) const;

  const Codec& factor_codec() const { return *factors_; }

 private:
  std::size_t encode_delta(const Delta& delta, RngKey key, Bytes& out) const;
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;
  std::size_t factor_bytes(std::size_t values) const;

  const CodecId id_;
  const LowRankConfig config_;
  const std::unique_ptr<Codec> factors_;
};

}  // namespace hobnob
