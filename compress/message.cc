#include "compress/message.h"

#include <algorithm>

#include "compress/frame_hash.h"

namespace hobnob::message {

namespace {

Result<void> check_frame(const Layout& layout,
                         const FrameShape& shape,
                         std::size_t frame_index,
                         const std::byte* at) {
  const ByteSpan body(at + kFrameHeaderBytes, shape.body_bytes());
  const std::uint32_t flags = frame_flags(at);
  if (load_value<std::uint32_t>(at + kPayloadBytesAt) != shape.payload_bytes) {
    return malformed("frame of another length");
  }
  if ((flags & ~(kZero | kPoison)) != 0) {
    return malformed("unknown frame flag");
  }
  if (load_value<std::uint64_t>(at + kFrameChecksumAt) !=
      frame_checksum(body, frame_index, flags)) {
    return malformed("frame checksum differs");
  }
  if ((flags & kZero) != 0 && !is_zero(body)) {
    return malformed("frame is flagged zero and is not");
  }
  const std::size_t scales_end = 2 * layout.block.scales * blocks_of(shape.count);
  if (!is_zero(body.subspan(scales_end, shape.scale_bytes - scales_end)) ||
      !is_zero(body.subspan(shape.scale_bytes + shape.payload_bytes))) {
    return malformed("padding is not zero");
  }
  return {};
}

}  // namespace

Error malformed(const char* why) {
  return make_error(ErrorCode::kMalformed, "decode failed: %s", why);
}

bool is_zero(ByteSpan bytes) {
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    if (load_value<std::uint64_t>(bytes.data()) != 0) {
      return false;
    }
  }
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

void write_frame_header(const FrameShape& shape,
                        std::size_t frame_index,
                        bool has_poison,
                        std::byte* at) {
  const ByteSpan body(at + kFrameHeaderBytes, shape.body_bytes());
  const std::uint32_t flags = (is_zero(body) ? kZero : 0U) | (has_poison ? kPoison : 0U);
  store_value(at + kFrameChecksumAt, frame_checksum(body, frame_index, flags));
  store_value(at + kPayloadBytesAt, static_cast<std::uint32_t>(shape.payload_bytes));
  store_value(at + kFlagsAt, flags);
}

Result<void> check_message(const Layout& layout, std::size_t count, ByteSpan bytes) {
  if (bytes.size() != message_bytes(layout.block, count)) {
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
    const FrameShape shape = frame_shape(layout.block, std::min(kFrameCount, count - start));
    const Result<void> frame = check_frame(layout, shape, start / kFrameCount, at);
    if (!frame.ok()) {
      return frame.error();
    }
    at += kFrameHeaderBytes + shape.body_bytes();
  }
  return {};
}

// Place and flags go into the seed: a frame that moved, or whose flags changed, fails too.
std::uint64_t frame_checksum(ByteSpan body, std::size_t frame_index, std::uint32_t flags) {
  return frame_hash(body, std::uint64_t{frame_index} << 8U | flags);
}

std::uint32_t frame_flags(const std::byte* at) {
  return load_value<std::uint32_t>(at + kFlagsAt);
}

}  // namespace hobnob::message
