#include "compress/raw_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compress/element_rules.h"

namespace hobnob {

namespace {

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
bool are_finite(const std::byte* values, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (!std::isfinite(load<T>(values + k * sizeof(T)))) {
      return false;
    }
  }
  return true;
}

// Copies the blocks that can be sent; the others stay zeros.
template <typename T>
std::size_t copy_blocks(ByteSpan values, std::byte* to) {
  constexpr std::size_t kBlockBytes = message::kBlockCount * sizeof(T);
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < values.size(); start += kBlockBytes) {
    const ByteSpan block = values.subspan(start, std::min(kBlockBytes, values.size() - start));
    if (are_finite<T>(block.data(), block.size() / sizeof(T))) {
      std::memcpy(to + start, block.data(), block.size());
    } else {
      ++poisoned;
    }
  }
  return poisoned;
}

template <typename T>
void add(const std::byte* values, double scale, std::span<T> into) {
  for (std::size_t k = 0; k < into.size(); ++k) {
    into[k] = element::add_scaled(into[k], static_cast<T>(scale), load<T>(values + k * sizeof(T)));
  }
}

// visit(frame index, its values, its bytes from the header on)
template <typename Visit>
void for_each_frame(const message::Layout& layout, std::size_t count, Visit visit) {
  std::size_t at = message::kHeaderBytes;
  for (std::size_t start = 0; start < count; start += message::kFrameCount) {
    const auto shape = message::frame_shape(layout, std::min(message::kFrameCount, count - start));
    visit(start, shape, at);
    at += message::kFrameHeaderBytes + shape.body_bytes();
  }
}

}  // namespace

std::size_t RawCodec::encode(ConstVec values, RngKey /*key*/, Bytes& out) const {
  const message::Layout format = layout(values.type());
  const std::size_t begin = out.size();
  out.resize(begin + message::message_bytes(format, values.count()));
  std::byte* message = out.data() + begin;
  message::write_header(format, values.count(), message);
  const ByteSpan all(static_cast<const std::byte*>(values.data()), values.size_bytes());
  std::size_t poisoned = 0;
  for_each_frame(format, values.count(), [&](std::size_t start, const auto& shape, std::size_t at) {
    const ByteSpan frame = all.subspan(start * bytes_of(values.type()), shape.payload_bytes);
    std::byte* body = message + at + message::kFrameHeaderBytes;
    const std::size_t bad = values.type() == DType::kFloat32 ? copy_blocks<float>(frame, body)
                                                             : copy_blocks<double>(frame, body);
    message::write_frame_header(shape, start / message::kFrameCount, bad > 0, message + at);
    poisoned += bad;
  });
  return poisoned;
}

Result<void> RawCodec::check(ByteSpan bytes, std::size_t count, DType type) const {
  const message::Layout format = layout(type);
  const Result<void> checked = message::check_message(format, count, bytes);
  if (!checked.ok()) {
    return checked.error();
  }
  bool is_valid = true;
  for_each_frame(format, count, [&](std::size_t /*start*/, const auto& shape, std::size_t at) {
    const std::byte* body = bytes.data() + at + message::kFrameHeaderBytes;
    is_valid = is_valid && (type == DType::kFloat32 ? are_finite<float>(body, shape.count)
                                                    : are_finite<double>(body, shape.count));
  });
  if (!is_valid) {
    return make_error(ErrorCode::kMalformed, "decode failed: a value is not finite");
  }
  return {};
}

void RawCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  const message::Layout format = layout(into.type());
  for (const CodecPart& part : parts) {
    for_each_frame(format, into.count(), [&](std::size_t start, const auto& shape, std::size_t at) {
      const std::byte* frame = part.bytes.data() + at;
      if ((message::frame_flags(frame) & message::kZero) != 0) {
        return;
      }
      const std::byte* values = frame + message::kFrameHeaderBytes;
      if (into.type() == DType::kFloat32) {
        add<float>(values, part.scale, into.as<float>().subspan(start, shape.count));
      } else {
        add<double>(values, part.scale, into.as<double>().subspan(start, shape.count));
      }
    });
  }
}

}  // namespace hobnob
