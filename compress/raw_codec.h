#pragma once

#include "compress/codec.h"
#include "compress/message.h"

namespace hobnob {

// Values of the working type as they are; a message of one type does not decode into the other.
class RawCodec final : public Codec {
 public:
  CodecId id() const override { return CodecId::kRaw; }

  CodecTraits traits() const override {
    return {.exact = true, .unbiased = true, .nominal_bits = 32.0};
  }

  std::size_t max_bytes(std::size_t count, DType type) const override {
    return message::message_bytes(layout(type).block, count);
  }

  std::size_t encode(ConstVec values, RngKey key, Bytes& out) const override;
  std::size_t encode_difference(ConstVec values,
                                ConstVec base,
                                RngKey key,
                                Bytes& out) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  std::size_t encode_any(ConstVec values, const ConstVec* base, Bytes& out) const;
  template <typename T>
  std::size_t encode_all(ConstVec values, const ConstVec* base, Bytes& out) const;
  void add_checked(std::span<const CodecPart> parts, Vec into) const override;

  static message::Layout layout(DType type) {
    return {.codec = CodecId::kRaw,
            .type = type,
            .block = {.bytes = message::kBlockCount * bytes_of(type)}};
  }
};

}  // namespace hobnob
