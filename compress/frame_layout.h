#pragma once

#include <cstddef>
#include <cstdint>

// Where things are in a message (FORMAT.md), for CPU and GPU.

namespace hobnob::message {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kFrameHeaderBytes = 16;
constexpr std::size_t kFrameCount = 65536;
constexpr std::size_t kBlockCount = 256;
constexpr std::size_t kScaleAlign = 64;
constexpr std::size_t kPayloadAlign = 128;

// Fields of a message's header, and of a frame's.
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
struct BlockShape {
  // A multiple of 256 is so many bytes per value, and a short block is stored short; else short
  // blocks are stored whole.
  std::size_t bytes = 1024;
  std::size_t scales = 0;  // bf16
};

// One frame of a message, in values and bytes.
struct FrameShape {
  std::size_t count = 0;
  std::size_t scale_bytes = 0;      // with padding
  std::size_t payload_bytes = 0;    // without padding
  std::size_t payload_section = 0;  // with padding

  constexpr std::size_t body_bytes() const { return scale_bytes + payload_section; }
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

constexpr FrameShape frame_shape(BlockShape block, std::size_t count) {
  const bool is_per_value = block.bytes % kBlockCount == 0;
  const std::size_t payload_bytes =
      is_per_value ? count * (block.bytes / kBlockCount) : blocks_of(count) * block.bytes;
  return {.count = count,
          .scale_bytes = round_up(2 * block.scales * blocks_of(count), kScaleAlign),
          .payload_bytes = payload_bytes,
          .payload_section = round_up(payload_bytes, kPayloadAlign)};
}

// From one frame's header to the next one's, when both are whole.
constexpr std::size_t frame_stride(BlockShape block) {
  return kFrameHeaderBytes + frame_shape(block, kFrameCount).body_bytes();
}

// Exact: the length is a function of the count alone.
constexpr std::size_t message_bytes(BlockShape block, std::size_t count) {
  const std::size_t rest = count % kFrameCount;
  const std::size_t last =
      rest == 0 ? 0 : kFrameHeaderBytes + frame_shape(block, rest).body_bytes();
  return kHeaderBytes + count / kFrameCount * frame_stride(block) + last;
}

}  // namespace hobnob::message
