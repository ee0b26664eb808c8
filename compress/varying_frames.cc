#include "compress/varying_frames.h"

#include <algorithm>
#include <limits>

namespace hobnob::message {

namespace {

std::size_t payload_bytes(const std::byte* frame) {
  return load_value<std::uint32_t>(frame + kPayloadBytesAt);
}

// With header and padding.
std::size_t frame_bytes(const std::byte* frame) {
  return kFrameHeaderBytes + round_up(payload_bytes(frame), kBodyAlign);
}

// The frame at the beginning of `bytes`.
Result<void> check_frame(ByteSpan bytes, std::size_t frame_index, std::size_t max_payload) {
  if (bytes.size() < kFrameHeaderBytes) {
    return malformed("message ends before its last frame");
  }
  const std::size_t payload = payload_bytes(bytes.data());
  const std::uint32_t flags = frame_flags(bytes.data());
  if (payload > max_payload || round_up(payload, kBodyAlign) > bytes.size() - kFrameHeaderBytes) {
    return malformed("frame is too long");
  }
  if ((flags & ~(kZero | kPoison)) != 0) {
    return malformed("unknown frame flag");
  }
  if ((payload == 0) != ((flags & kZero) != 0)) {
    return malformed("zero flag is not true");
  }
  const ByteSpan body = bytes.subspan(kFrameHeaderBytes, payload);
  const ByteSpan padding =
      bytes.subspan(kFrameHeaderBytes + payload, round_up(payload, kBodyAlign) - payload);
  if (load_value<std::uint64_t>(bytes.data() + kFrameChecksumAt) !=
      frame_checksum(body, frame_index, flags)) {
    return malformed("frame checksum differs");
  }
  if (!is_zero(padding)) {
    return malformed("padding is not zero");
  }
  return {};
}

}  // namespace

VaryingWriter::VaryingWriter(CodecId codec,
                             std::size_t count,
                             const Parameters& parameters,
                             Bytes& out)
    : codec_(codec), count_(count), parameters_(parameters), out_(out), begin_(out.size()) {
  out_.resize(begin_ + kHeaderBytes);
}

void VaryingWriter::append_frame(ByteSpan body, bool has_poison) {
  HOBNOB_CHECK(body.size() <= std::numeric_limits<std::uint32_t>::max(), "a frame of 4 GiB");
  const std::size_t at = out_.size();
  const std::size_t section = round_up(body.size(), kBodyAlign);
  out_.resize(at + kFrameHeaderBytes + section);
  std::byte* header = out_.data() + at;
  std::ranges::copy(body, header + kFrameHeaderBytes);
  const std::uint32_t flags = (body.empty() ? kZero : 0U) | (has_poison ? kPoison : 0U);
  store_value(header + kFrameChecksumAt, frame_checksum(body, frames_++, flags));
  store_value(header + kPayloadBytesAt, static_cast<std::uint32_t>(body.size()));
  store_value(header + kFlagsAt, flags);
}

void VaryingWriter::finish() {
  write_varying_header(codec_, count_, parameters_, out_.size() - begin_, out_.data() + begin_);
}

Result<VaryingMessage> check_frames(ByteSpan bytes,
                                    CodecId codec,
                                    std::size_t count,
                                    std::size_t max_payload) {
  if (bytes.size() < kHeaderBytes ||
      (bytes.size() - kHeaderBytes) / kFrameHeaderBytes < frames_of(count)) {
    return malformed("message is too short");
  }
  Parameters parameters;
  std::ranges::copy(bytes.subspan(kParametersAt, kParameterBytes), parameters.begin());
  // All but the parameters is known beforehand, so one comparison checks it.
  std::array<std::byte, kHeaderBytes> expected;
  write_varying_header(codec, count, parameters, bytes.size(), expected.data());
  if (!std::ranges::equal(expected, bytes.first(kHeaderBytes))) {
    return malformed("header of another codec, count, length or version");
  }
  std::size_t at = kHeaderBytes;
  for (std::size_t index = 0; index < frames_of(count); ++index) {
    const Result<void> frame = check_frame(bytes.subspan(at), index, max_payload);
    if (!frame.ok()) {
      return frame.error();
    }
    at += frame_bytes(bytes.data() + at);
  }
  if (at != bytes.size()) {
    return malformed("bytes after the last frame");
  }
  return split_frames(bytes, count);
}

VaryingMessage split_frames(ByteSpan bytes, std::size_t count) {
  VaryingMessage message;
  std::ranges::copy(bytes.subspan(kParametersAt, kParameterBytes), message.parameters.begin());
  message.frames.reserve(frames_of(count));
  std::size_t at = kHeaderBytes;
  for (std::size_t start = 0; start < count; start += kFrameCount) {
    message.frames.push_back(
        {.body = bytes.subspan(at + kFrameHeaderBytes, payload_bytes(bytes.data() + at)),
         .start = start,
         .count = std::min(kFrameCount, count - start)});
    at += frame_bytes(bytes.data() + at);
  }
  return message;
}

Result<void> check_no_parameters(const Parameters& parameters) {
  if (parameters != Parameters{}) {
    return malformed("parameters that the codec does not have");
  }
  return {};
}

}  // namespace hobnob::message
