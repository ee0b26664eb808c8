#include "compress/message_parts.h"

#include <algorithm>
#include <cstring>

#include "compress/message.h"

namespace hobnob::message {

namespace {

constexpr std::size_t kPayloadBytesAt = 8;  // in a frame's header
constexpr std::size_t kFlagsAt = 12;
constexpr std::size_t kVaryingPayloadAlign = 16;

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// What a frame has beside its payload.
struct FrameRule {
  std::size_t scale_bytes = 0;
  std::size_t payload_align = 0;
};

// It depends on the count alone, and so a message of zeros shows it: one as long as any is of fixed
// length, with scales; others have all in the payload, which is small for zeros.
FrameRule frame_rule(const Codec& codec, std::size_t count, DType type) {
  const Bytes zeros(count * bytes_of(type));
  Bytes sample;
  codec.encode(ConstVec(zeros.data(), count, type), {}, sample);
  if (sample.size() < codec.max_bytes(count, type)) {
    return {.scale_bytes = 0, .payload_align = kVaryingPayloadAlign};
  }
  const auto payload = load<std::uint32_t>(sample.data() + kHeaderBytes + kPayloadBytesAt);
  const std::size_t body = sample.size() - kHeaderBytes - kFrameHeaderBytes;
  return {.scale_bytes = body - round_up(payload, kPayloadAlign), .payload_align = kPayloadAlign};
}

}  // namespace

HeaderFields read_header(ByteSpan bytes) {
  const std::byte* at = bytes.data();
  return {.magic = load<std::uint32_t>(at + kMagicAt),
          .version = load<std::uint8_t>(at + kVersionAt),
          .codec = load<std::uint8_t>(at + kCodecAt),
          .type = load<std::uint8_t>(at + kTypeAt),
          .frame_log2 = load<std::uint8_t>(at + kFrameLog2At),
          .block_log2 = load<std::uint8_t>(at + kBlockLog2At),
          .count = load<std::uint64_t>(at + kCountAt),
          .total_bytes = load<std::uint64_t>(at + kTotalBytesAt),
          .checksum = load<std::uint64_t>(at + kChecksumAt)};
}

std::size_t FrameFields::body_offset() const {
  return offset + kFrameHeaderBytes;
}

std::size_t FrameFields::body_bytes() const {
  return scale_bytes + payload_section;
}

std::vector<FrameFields> read_frames(const Codec& codec,
                                     std::size_t count,
                                     DType type,
                                     ByteSpan bytes) {
  std::vector<FrameFields> frames;
  FrameRule rule;
  std::size_t offset = kHeaderBytes;
  while (count > 0 && bytes.size() - offset >= kFrameHeaderBytes) {
    const std::byte* at = bytes.data() + offset;
    if (frames.empty() || count < kFrameCount) {  // the first of equal ones, or the last
      rule = frame_rule(codec, std::min(count, kFrameCount), type);
    }
    FrameFields frame{.offset = offset,
                      .count = std::min(count, kFrameCount),
                      .payload_bytes = load<std::uint32_t>(at + kPayloadBytesAt),
                      .checksum = load<std::uint64_t>(at),
                      .flags = load<std::uint32_t>(at + kFlagsAt)};
    frame.scale_bytes = rule.scale_bytes;
    frame.payload_section = round_up(frame.payload_bytes, rule.payload_align);
    frame.checked_bytes =
        rule.payload_align == kPayloadAlign ? frame.body_bytes() : frame.payload_bytes;
    if (bytes.size() - frame.body_offset() < frame.body_bytes()) {
      break;
    }
    frames.push_back(frame);
    offset = frame.body_offset() + frame.body_bytes();
    count -= frame.count;
  }
  return frames;
}

void seal(const Codec& codec, std::size_t count, DType type, std::span<std::byte> bytes) {
  store(bytes.data() + kTotalBytesAt, std::uint64_t{bytes.size()});
  store(bytes.data() + kChecksumAt, header_checksum(bytes.data()));
  std::size_t index = 0;
  for (const FrameFields& frame : read_frames(codec, count, type, bytes)) {
    const ByteSpan body = bytes.subspan(frame.body_offset(), frame.checked_bytes);
    store(bytes.data() + frame.offset, frame_checksum(body, index++, frame.flags));
  }
}

}  // namespace hobnob::message
