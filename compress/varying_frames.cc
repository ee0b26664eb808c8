#include "compress/varying_frames.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/hash.h"

namespace hobnob::message {

namespace {

// Offsets of the header (FORMAT.md) and of a frame's.
constexpr std::size_t kTotalAt = 24;
constexpr std::size_t kParametersAt = 32;
constexpr std::size_t kHeaderChecksumAt = 56;
constexpr std::size_t kPayloadBytesAt = 8;
constexpr std::size_t kFlagsAt = 12;

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

Error malformed(const char* why) {
  return make_error(ErrorCode::kMalformed, "decode failed: %s", why);
}

// Total and checksum are left to seal().
void begin_header(CodecId codec, std::size_t count, const Parameters& parameters, std::byte* at) {
  write_header({.codec = codec}, count, at);
  std::ranges::copy(parameters, at + kParametersAt);
}

void seal(std::size_t total, std::byte* at) {
  store(at + kTotalAt, std::uint64_t{total});
  store(at + kHeaderChecksumAt, hash_bytes({at, kHeaderChecksumAt}));
}

// The body of the frame at the beginning of `bytes`.
Result<ByteSpan> check_frame(ByteSpan bytes, std::size_t frame_index, std::size_t max_payload) {
  if (bytes.size() < kFrameHeaderBytes) {
    return malformed("message ends before its last frame");
  }
  const std::size_t payload = load<std::uint32_t>(bytes.data() + kPayloadBytesAt);
  const std::uint32_t flags = load<std::uint32_t>(bytes.data() + kFlagsAt);
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
  if (load<std::uint64_t>(bytes.data()) != frame_checksum(body, frame_index, flags)) {
    return malformed("frame checksum differs");
  }
  if (std::ranges::any_of(padding, [](std::byte b) { return b != std::byte{0}; })) {
    return malformed("padding is not zero");
  }
  return body;
}

}  // namespace

VaryingWriter::VaryingWriter(CodecId codec,
                             std::size_t count,
                             const Parameters& parameters,
                             Bytes& out)
    : out_(out), begin_(out.size()) {
  out_.resize(begin_ + kHeaderBytes);
  begin_header(codec, count, parameters, out_.data() + begin_);
}

void VaryingWriter::append_frame(ByteSpan body, bool has_poison) {
  HOBNOB_CHECK(body.size() <= std::numeric_limits<std::uint32_t>::max(), "a frame of 4 GiB");
  const std::size_t at = out_.size();
  const std::size_t section = round_up(body.size(), kBodyAlign);
  out_.resize(at + kFrameHeaderBytes + section);
  std::byte* header = out_.data() + at;
  std::ranges::copy(body, header + kFrameHeaderBytes);
  const std::uint32_t flags = (body.empty() ? kZero : 0U) | (has_poison ? kPoison : 0U);
  store(header, frame_checksum(body, frames_++, flags));
  store(header + kPayloadBytesAt, static_cast<std::uint32_t>(body.size()));
  store(header + kFlagsAt, flags);
}

void VaryingWriter::finish() {
  seal(out_.size() - begin_, out_.data() + begin_);
}

Result<VaryingMessage> check_frames(ByteSpan bytes,
                                    CodecId codec,
                                    std::size_t count,
                                    std::size_t max_payload) {
  const std::size_t frames = (count + kFrameCount - 1) / kFrameCount;
  if (bytes.size() < kHeaderBytes || (bytes.size() - kHeaderBytes) / kFrameHeaderBytes < frames) {
    return malformed("message is too short");
  }
  VaryingMessage checked;
  std::ranges::copy(bytes.subspan(kParametersAt, kParameterBytes), checked.parameters.begin());
  // All but the parameters is known beforehand, so one comparison checks it.
  std::array<std::byte, kHeaderBytes> expected;
  begin_header(codec, count, checked.parameters, expected.data());
  seal(bytes.size(), expected.data());
  if (!std::ranges::equal(expected, bytes.first(kHeaderBytes))) {
    return malformed("header of another codec, count, length or version");
  }
  checked.frames.reserve(frames);
  ByteSpan left = bytes.subspan(kHeaderBytes);
  for (std::size_t start = 0; start < count; start += kFrameCount) {
    const Result<ByteSpan> body = check_frame(left, start / kFrameCount, max_payload);
    if (!body.ok()) {
      return body.error();
    }
    checked.frames.push_back(
        {.body = body.value(), .start = start, .count = std::min(kFrameCount, count - start)});
    left = left.subspan(kFrameHeaderBytes + round_up(body.value().size(), kBodyAlign));
  }
  if (!left.empty()) {
    return malformed("bytes after the last frame");
  }
  return checked;
}

}  // namespace hobnob::message
