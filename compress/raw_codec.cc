#include "compress/raw_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "compress/element_rules.h"

namespace hobnob {

namespace {

template <typename T>
bool are_finite(const std::byte* values, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (!std::isfinite(load_value<T>(values + k * sizeof(T)))) {
      return false;
    }
  }
  return true;
}

// Copies the blocks of values - base that can be sent; the others stay zeros. No base: null.
template <typename T>
std::size_t copy_blocks(std::span<const T> values, const T* base, std::byte* to) {
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < values.size(); start += message::kBlockCount) {
    const auto source =
        values.subspan(start, std::min(message::kBlockCount, values.size() - start));
    std::array<T, message::kBlockCount> block;
    bool is_sendable = true;
    for (std::size_t k = 0; k < source.size(); ++k) {
      block[k] = base == nullptr ? source[k] : source[k] - base[start + k];
      is_sendable = is_sendable && std::isfinite(block[k]);
    }
    if (is_sendable) {
      std::memcpy(to + start * sizeof(T), block.data(), source.size_bytes());
    } else {
      ++poisoned;
    }
  }
  return poisoned;
}

template <typename T>
void add(const std::byte* values, double scale, std::span<T> into) {
  for (std::size_t k = 0; k < into.size(); ++k) {
    into[k] =
        element::add_scaled(into[k], static_cast<T>(scale), load_value<T>(values + k * sizeof(T)));
  }
}

// visit(frame index, its values, its bytes from the header on)
template <typename Visit>
void for_each_frame(const message::Layout& layout, std::size_t count, Visit visit) {
  std::size_t at = message::kHeaderBytes;
  for (std::size_t start = 0; start < count; start += message::kFrameCount) {
    const auto shape =
        message::frame_shape(layout.block, std::min(message::kFrameCount, count - start));
    visit(start, shape, at);
    at += message::kFrameHeaderBytes + shape.body_bytes();
  }
}

}  // namespace

std::size_t RawCodec::encode(ConstVec values, RngKey /*key*/, Bytes& out) const {
  return encode_any(values, nullptr, out);
}

std::size_t RawCodec::encode_difference(ConstVec values,
                                        ConstVec base,
                                        RngKey /*key*/,
                                        Bytes& out) const {
  HOBNOB_CHECK(values.count() == base.count(), "difference of vectors of different lengths");
  return encode_any(values, &base, out);
}

std::size_t RawCodec::encode_any(ConstVec values, const ConstVec* base, Bytes& out) const {
  return values.type() == DType::kFloat32 ? encode_all<float>(values, base, out)
                                          : encode_all<double>(values, base, out);
}

template <typename T>
std::size_t RawCodec::encode_all(ConstVec values, const ConstVec* base, Bytes& out) const {
  const message::Layout format = layout(values.type());
  const std::size_t begin = out.size();
  out.resize(begin + message::message_bytes(format.block, values.count()));
  std::byte* message = out.data() + begin;
  message::write_header(format, values.count(), message);
  const T* subtracted = base == nullptr ? nullptr : base->as<T>().data();
  std::size_t poisoned = 0;
  for_each_frame(format, values.count(), [&](std::size_t start, const auto& shape, std::size_t at) {
    const std::size_t bad = copy_blocks(values.as<T>().subspan(start, shape.count),
                                        subtracted == nullptr ? nullptr : subtracted + start,
                                        message + at + message::kFrameHeaderBytes);
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
