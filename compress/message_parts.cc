#include "compress/message_parts.h"

#include <algorithm>

#include "compress/low_rank_codec.h"
#include "compress/varying_frames.h"

namespace hobnob::message {

namespace {

// What a frame has beside its payload.
struct FrameRule {
  std::size_t scale_bytes = 0;
  std::size_t payload_align = 0;
};

// Of a codec of fixed length it depends on the count alone, and so a message of zeros shows it;
// others have all in the payload.
FrameRule frame_rule(const Codec& codec, std::size_t count, DType type) {
  if (!codec.traits().fixed_length) {
    return {.scale_bytes = 0, .payload_align = kBodyAlign};
  }
  const Bytes zeros(count * bytes_of(type));
  Bytes sample;
  codec.encode(ConstVec(zeros.data(), count, type), {}, sample);
  const auto payload = load_value<std::uint32_t>(sample.data() + kHeaderBytes + kPayloadBytesAt);
  const std::size_t body = sample.size() - kHeaderBytes - kFrameHeaderBytes;
  return {.scale_bytes = body - round_up(payload, kPayloadAlign), .payload_align = kPayloadAlign};
}

}  // namespace

HeaderFields read_header(ByteSpan bytes) {
  const std::byte* at = bytes.data();
  return {.magic = load_value<std::uint32_t>(at + kMagicAt),
          .version = load_value<std::uint8_t>(at + kVersionAt),
          .codec = load_value<std::uint8_t>(at + kCodecAt),
          .type = load_value<std::uint8_t>(at + kTypeAt),
          .frame_log2 = load_value<std::uint8_t>(at + kFrameLog2At),
          .block_log2 = load_value<std::uint8_t>(at + kBlockLog2At),
          .count = load_value<std::uint64_t>(at + kCountAt),
          .total_bytes = load_value<std::uint64_t>(at + kTotalBytesAt),
          .checksum = load_value<std::uint64_t>(at + kChecksumAt)};
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
  if (is_low_rank(codec.id())) {
    return frames;
  }
  FrameRule rule;
  std::size_t offset = kHeaderBytes;
  while (count > 0 && bytes.size() - offset >= kFrameHeaderBytes) {
    const std::byte* at = bytes.data() + offset;
    if (frames.empty() || count < kFrameCount) {  // the first of equal ones, or the last
      rule = frame_rule(codec, std::min(count, kFrameCount), type);
    }
    FrameFields frame{.offset = offset,
                      .count = std::min(count, kFrameCount),
                      .payload_bytes = load_value<std::uint32_t>(at + kPayloadBytesAt),
                      .checksum = load_value<std::uint64_t>(at + kFrameChecksumAt),
                      .flags = load_value<std::uint32_t>(at + kFlagsAt)};
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
  if (const auto* low_rank = dynamic_cast<const LowRankCodec*>(&codec)) {
    const auto factors = low_rank->split(bytes, count);
    if (factors.ok() && factors.value().rank > 0) {
      const std::size_t p = factors.value().p.size();
      const auto inner = bytes.subspan(kHeaderBytes);
      seal(low_rank->factor_codec(), factors.value().p_values(), DType::kFloat32, inner.first(p));
      seal(low_rank->factor_codec(), factors.value().q_values(), DType::kFloat32, inner.subspan(p));
    }
  }
  store_value(bytes.data() + kTotalBytesAt, std::uint64_t{bytes.size()});
  store_value(bytes.data() + kChecksumAt, header_checksum(bytes.data()));
  std::size_t index = 0;
  for (const FrameFields& frame : read_frames(codec, count, type, bytes)) {
    const ByteSpan body = bytes.subspan(frame.body_offset(), frame.checked_bytes);
    store_value(bytes.data() + frame.offset + kFrameChecksumAt,
                frame_checksum(body, index++, frame.flags));
  }
}

}  // namespace hobnob::message
