#include "compress/message.h"

#include <algorithm>
#include <cstring>

#include "compress/frame_hash.h"
#include "runtime/base/hash.h"

namespace hobnob::message {

namespace {

// Offsets; FORMAT.md has the tables.
constexpr std::size_t kHeaderChecksumAt = 56;
constexpr std::size_t kPayloadBytesAt = 8;
constexpr std::size_t kFlagsAt = 12;
constexpr std::uint8_t kFrameLog2 = 16;
constexpr std::uint8_t kBlockLog2 = 8;

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_zero(ByteSpan bytes) {
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    if (load<std::uint64_t>(bytes.data()) != 0) {
      return false;
    }
  }
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// Place and flags go into the seed: a frame that moved, or whose flags changed, fails too.
std::uint64_t checksum(ByteSpan body, std::size_t frame_index, std::uint32_t flags) {
  return frame_hash(body, std::uint64_t{frame_index} << 8U | flags);
}

Error malformed(const char* why) {
  return make_error(ErrorCode::kMalformed, "decode failed: %s", why);
}

Result<void> check_frame(const Layout& layout,
                         const FrameShape& shape,
                         std::size_t frame_index,
                         const std::byte* at) {
  const ByteSpan body(at + kFrameHeaderBytes, shape.body_bytes());
  const std::uint32_t flags = frame_flags(at);
  if (load<std::uint32_t>(at + kPayloadBytesAt) != shape.payload_bytes) {
    return malformed("frame of another length");
  }
  if ((flags & ~(kZero | kPoison)) != 0) {
    return malformed("unknown frame flag");
  }
  if (load<std::uint64_t>(at) != checksum(body, frame_index, flags)) {
    return malformed("frame checksum differs");
  }
  if ((flags & kZero) != 0 && !is_zero(body)) {
    return malformed("frame is flagged zero and is not");
  }
  const std::size_t scales_end = 2 * layout.block_scales * blocks_of(shape.count);
  if (!is_zero(body.subspan(scales_end, shape.scale_bytes - scales_end)) ||
      !is_zero(body.subspan(shape.scale_bytes + shape.payload_bytes))) {
    return malformed("padding is not zero");
  }
  return {};
}

}  // namespace

FrameShape frame_shape(const Layout& layout, std::size_t count) {
  const bool is_per_value = layout.block_bytes % kBlockCount == 0;
  const std::size_t payload_bytes = is_per_value ? count * (layout.block_bytes / kBlockCount)
                                                 : blocks_of(count) * layout.block_bytes;
  return {.count = count,
          .scale_bytes = round_up(2 * layout.block_scales * blocks_of(count), kScaleAlign),
          .payload_bytes = payload_bytes,
          .payload_section = round_up(payload_bytes, kPayloadAlign)};
}

std::size_t message_bytes(const Layout& layout, std::size_t count) {
  const std::size_t full = kFrameHeaderBytes + frame_shape(layout, kFrameCount).body_bytes();
  const std::size_t rest = count % kFrameCount;
  const std::size_t last =
      rest == 0 ? 0 : kFrameHeaderBytes + frame_shape(layout, rest).body_bytes();
  return kHeaderBytes + count / kFrameCount * full + last;
}

void write_header(const Layout& layout, std::size_t count, std::byte* at) {
  std::fill_n(at, kHeaderBytes, std::byte{0});
  store(at, kMagic);
  store(at + 4, kVersion);
  store(at + 5, static_cast<std::uint8_t>(layout.codec));
  store(at + 6, static_cast<std::uint8_t>(layout.type));
  store(at + 7, kFrameLog2);
  store(at + 8, kBlockLog2);
  store(at + 16, std::uint64_t{count});
  store(at + 24, std::uint64_t{message_bytes(layout, count)});
  store(at + kHeaderChecksumAt, hash_bytes({at, kHeaderChecksumAt}));
}

void write_frame_header(const FrameShape& shape,
                        std::size_t frame_index,
                        bool has_poison,
                        std::byte* at) {
  const ByteSpan body(at + kFrameHeaderBytes, shape.body_bytes());
  const std::uint32_t flags = (is_zero(body) ? kZero : 0U) | (has_poison ? kPoison : 0U);
  store(at, checksum(body, frame_index, flags));
  store(at + kPayloadBytesAt, static_cast<std::uint32_t>(shape.payload_bytes));
  store(at + kFlagsAt, flags);
}

Result<void> check_message(const Layout& layout, std::size_t count, ByteSpan bytes) {
  if (bytes.size() != message_bytes(layout, count)) {
    return malformed("message of another length");
  }
  // Codec, type, count, length and the reserved zeros are all known beforehand, so one comparison
  // checks them.
  std::array<std::byte, kHeaderBytes> expected;
  write_header(layout, count, expected.data());
  if (!std::ranges::equal(expected, bytes.first(kHeaderBytes))) {
    return malformed("header of another codec, type, count or version");
  }
  const std::byte* at = bytes.data() + kHeaderBytes;
  for (std::size_t start = 0; start < count; start += kFrameCount) {
    const FrameShape shape = frame_shape(layout, std::min(kFrameCount, count - start));
    const Result<void> frame = check_frame(layout, shape, start / kFrameCount, at);
    if (!frame.ok()) {
      return frame.error();
    }
    at += kFrameHeaderBytes + shape.body_bytes();
  }
  return {};
}

std::uint64_t frame_checksum(ByteSpan body, std::size_t frame_index, std::uint32_t flags) {
  return checksum(body, frame_index, flags);
}

std::uint64_t header_checksum(const std::byte* at) {
  return hash_bytes({at, kHeaderChecksumAt});
}

std::uint32_t frame_flags(const std::byte* at) {
  return load<std::uint32_t>(at + kFlagsAt);
}

}  // namespace hobnob::message
