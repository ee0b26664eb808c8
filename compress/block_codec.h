#pragma once

#include "compress/block_kernels.h"
#include "compress/codec.h"
#include "compress/message.h"

namespace hobnob {

// A codec whose blocks of 256 float32 values have a fixed length: messages from kernels.
class BlockCodec final : public Codec {
 public:
  struct Format {
    message::Layout layout;
    CodecTraits traits;
    const BlockKernels* kernels = nullptr;
  };

  explicit BlockCodec(const Format& format) : format_(format) {}

  CodecId id() const override { return format_.layout.codec; }

  CodecTraits traits() const override { return format_.traits; }

  std::size_t max_bytes(std::size_t count, DType type) const override;
  std::size_t encode(ConstVec values, RngKey key, Bytes& out) const override;
  std::size_t encode_difference(ConstVec values,
                                ConstVec base,
                                RngKey key,
                                Bytes& out) const override;
  std::size_t encode_advance(ConstVec values, Vec hat, RngKey key, Bytes& out) const override;
  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override;

 private:
  template <typename T>
  struct Input;
  struct Place;
  struct ScaledPart;

  void add_checked(std::span<const CodecPart> parts, Vec into) const override;

  std::size_t encode_any(
      ConstVec values, const ConstVec* base, const Vec* advance, RngKey key, Bytes& out) const;
  template <typename T>
  std::size_t encode_all(const Input<T>& input, RngKey key, Bytes& out) const;
  template <typename T>
  std::size_t encode_frame(const Input<T>& input, const Place& place, std::byte* body) const;
  template <typename T>
  std::size_t encode_block(const Input<T>& input, const EncodeRun& run) const;
  template <typename T>
  void add_frames(std::span<const CodecPart> parts, std::span<T> into) const;
  template <typename T>
  void add_frame(std::span<const ScaledPart> parts, std::span<T> into) const;
  template <typename T>
  void add_block(const ScaledPart& part, std::span<T> into) const;
  bool is_frame_valid(const message::FrameShape& shape, const std::byte* body) const;

  std::size_t stored_bytes(std::size_t count) const;

  std::size_t scale_bytes() const { return 2 * format_.layout.block.scales; }

  const Format format_;
};

}  // namespace hobnob
