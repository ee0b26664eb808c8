#include "runtime/wire/frame.h"

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace hobnob {

namespace {

constexpr std::size_t kHeaderChecksumOffset = 60;

std::uint32_t checksum(ByteSpan bytes) {
  return static_cast<std::uint32_t>(hash_bytes(bytes));
}

bool is_control(FrameKind kind) {
  switch (kind) {
    case FrameKind::kEdgeRequest:
    case FrameKind::kEdgeReply:
    case FrameKind::kState:
      return false;
    default:
      return true;
  }
}

struct RawHeader {
  FrameHeader header;
  std::uint32_t payload_bytes = 0;
  std::uint32_t payload_checksum = 0;
};

Result<RawHeader> parse_header(ByteSpan bytes) {
  if (bytes.size() < kFrameHeaderBytes) {
    return make_error(ErrorCode::kMalformed, "frame of %zu bytes is shorter than its header",
                      bytes.size());
  }
  ByteReader reader(bytes.first(kFrameHeaderBytes));
  RawHeader raw;
  FrameHeader& h = raw.header;
  const auto magic = reader.get<std::uint32_t>();
  const auto version = reader.get<std::uint8_t>();
  h.kind = static_cast<FrameKind>(reader.get<std::uint8_t>());
  h.codec = reader.get<std::uint8_t>();
  h.flags = reader.get<std::uint8_t>();
  raw.payload_bytes = reader.get<std::uint32_t>();
  h.fragment = reader.get<std::uint32_t>();
  h.epoch = reader.get<std::uint64_t>();
  h.round = reader.get<std::uint64_t>();
  h.view_digest = reader.get<std::uint64_t>();
  h.seq = reader.get<std::uint64_t>();
  h.base_seq = reader.get<std::uint64_t>();
  raw.payload_checksum = reader.get<std::uint32_t>();
  const auto header_checksum = reader.get<std::uint32_t>();
  if (magic != kFrameMagic) {
    return make_error(ErrorCode::kMalformed, "not a hobnob frame (magic %08x)", magic);
  }
  if (version != kWireVersion) {
    return make_error(ErrorCode::kMalformed, "wire version %u; this build speaks %u", version,
                      kWireVersion);
  }
  if (header_checksum != checksum(bytes.first(kHeaderChecksumOffset))) {
    return make_error(ErrorCode::kMalformed, "frame header checksum differs");
  }
  const std::size_t limit = is_control(h.kind) ? kMaxControlPayloadBytes : kMaxFramePayloadBytes;
  if (raw.payload_bytes > limit) {
    return make_error(ErrorCode::kMalformed, "frame payload of %u bytes; the limit is %zu",
                      raw.payload_bytes, limit);
  }
  return raw;
}

}  // namespace

Bytes encode_frame(const FrameHeader& header, ByteSpan payload) {
  HOBNOB_CHECK(payload.size() <= kMaxFramePayloadBytes, "frame payload over its limit");
  Bytes bytes;
  bytes.reserve(kFrameHeaderBytes + payload.size());
  ByteWriter writer(bytes);
  writer.put(kFrameMagic);
  writer.put(kWireVersion);
  writer.put(static_cast<std::uint8_t>(header.kind));
  writer.put(header.codec);
  writer.put(header.flags);
  writer.put(static_cast<std::uint32_t>(payload.size()));
  writer.put(header.fragment);
  writer.put(header.epoch);
  writer.put(header.round);
  writer.put(header.view_digest);
  writer.put(header.seq);
  writer.put(header.base_seq);
  writer.put(checksum(payload));
  writer.put(checksum(bytes));
  writer.put_bytes(payload);
  return bytes;
}

Result<std::size_t> frame_bytes(ByteSpan header_bytes) {
  const Result<RawHeader> raw = parse_header(header_bytes);
  if (!raw.ok()) {
    return raw.error();
  }
  return kFrameHeaderBytes + raw.value().payload_bytes;
}

Result<Frame> parse_frame(ByteSpan bytes) {
  const Result<RawHeader> raw = parse_header(bytes);
  if (!raw.ok()) {
    return raw.error();
  }
  const ByteSpan payload = bytes.subspan(kFrameHeaderBytes);
  if (payload.size() != raw.value().payload_bytes) {
    return make_error(ErrorCode::kMalformed, "frame payload of %zu bytes; its header says %u",
                      payload.size(), raw.value().payload_bytes);
  }
  if (checksum(payload) != raw.value().payload_checksum) {
    return make_error(ErrorCode::kMalformed, "frame payload checksum differs");
  }
  return Frame{raw.value().header, payload};
}

}  // namespace hobnob
