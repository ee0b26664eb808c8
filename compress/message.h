#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "compress/codec.h"
#include "runtime/base/bytes.h"

// The layout all codecs share (FORMAT.md): header, then frames of at most 65,536 values.

namespace hobnob::message {

constexpr std::uint32_t kMagic = 0x44434248;  // "HBCD"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kFrameHeaderBytes = 16;
constexpr std::size_t kFrameCount = 65536;
constexpr std::size_t kBlockCount = 256;
constexpr std::size_t kScaleAlign = 64;
constexpr std::size_t kPayloadAlign = 128;

// Where the fields of a message's header are, and those of a frame's (FORMAT.md).
enum HeaderOffset : std::size_t {
  kMagicAt = 0,
  kVersionAt = 4,
  kCodecAt = 5,
  kTypeAt = 6,
  kFrameLog2At = 7,
  kBlockLog2At = 8,
  kCountAt = 16,
  kTotalBytesAt = 24,
  kParametersAt = 32,
  kChecksumAt = 56,
};

enum FrameOffset : std::size_t {
  kFrameChecksumAt = 0,
  kPayloadBytesAt = 8,
  kFlagsAt = 12,
};

// Frame flags.
constexpr std::uint32_t kZero =
    1;  // all scale and payload bytes are 0; the decoder skips the frame
constexpr std::uint32_t kPoison = 2;  // one block or more held a value that cannot be sent

// What a codec of fixed length stores for each block of 256 values.
struct Layout {
  CodecId codec = CodecId::kRaw;
  DType type = DType::kFloat32;
  // A multiple of 256 is so many bytes per value, and a short block is stored short; else short
  // blocks are stored whole.
  std::size_t block_bytes = 1024;
  std::size_t block_scales = 0;  // bf16
};

// One frame of a message, in values and bytes.
struct FrameShape {
  std::size_t count = 0;
  std::size_t scale_bytes = 0;      // with padding
  std::size_t payload_bytes = 0;    // without padding
  std::size_t payload_section = 0;  // with padding

  std::size_t body_bytes() const { return scale_bytes + payload_section; }
};

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr std::size_t blocks_of(std::size_t count) {
  return (count + kBlockCount - 1) / kBlockCount;
}

constexpr std::size_t frames_of(std::size_t count) {
  return (count + kFrameCount - 1) / kFrameCount;
}

// "decode failed: WHY"
Error malformed(const char* why);

bool is_zero(ByteSpan bytes);

FrameShape frame_shape(const Layout& layout, std::size_t count);
// Exact: the length is a function of the count alone.
std::size_t message_bytes(const Layout& layout, std::size_t count);

// Fills kHeaderBytes at `at`.
void write_header(const Layout& layout, std::size_t count, std::byte* at);
// Fills kFrameHeaderBytes at `at` for the body that follows them.
void write_frame_header(const FrameShape& shape,
                        std::size_t frame_index,
                        bool has_poison,
                        std::byte* at);

// Everything but the meaning of scales and payload: lengths, header, checksums, flags, zero
// padding.
Result<void> check_message(const Layout& layout, std::size_t count, ByteSpan bytes);
// What a frame's header must hold for its body, and a message's for the bytes before it.
std::uint64_t frame_checksum(ByteSpan body, std::size_t frame_index, std::uint32_t flags);
std::uint64_t header_checksum(const std::byte* at);

// Of a checked message; `at` points to the frame's header.
std::uint32_t frame_flags(const std::byte* at);

}  // namespace hobnob::message
