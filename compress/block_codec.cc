#include "compress/block_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "compress/element_rules.h"

namespace hobnob {

namespace {

constexpr std::size_t kBlock = message::kBlockCount;
// The longest block: fp32.
constexpr std::size_t kMaxBlockBytes = 4 * kBlock;

using Block = std::array<float, kBlock>;

}  // namespace

// What is encoded from one place on: values, or values - base; and what is advanced.
template <typename T>
struct BlockCodec::Input {
  const T* values = nullptr;
  const T* base = nullptr;
  T* advance = nullptr;
  std::size_t count = 0;

  // Null: none.
  static Input of(ConstVec values, const ConstVec* base, const Vec* advance) {
    return {.values = values.as<T>().data(),
            .base = base == nullptr ? nullptr : base->as<T>().data(),
            .advance = advance == nullptr ? nullptr : advance->as<T>().data(),
            .count = values.count()};
  }

  Input at(std::size_t start, std::size_t length) const {
    return {values + start, base == nullptr ? nullptr : base + start,
            advance == nullptr ? nullptr : advance + start, length};
  }
};

struct BlockCodec::ScaledPart {
  const std::byte* payload = nullptr;
  const std::byte* scales = nullptr;
  double scale = 1.0;
};

// A frame in its message.
struct BlockCodec::Place {
  message::FrameShape shape;
  std::uint64_t key = 0;
  std::uint64_t first_block = 0;
};

std::size_t BlockCodec::max_bytes(std::size_t count, DType /*type*/) const {
  return message::message_bytes(format_.layout.block, count);
}

std::size_t BlockCodec::encode(ConstVec values, RngKey key, Bytes& out) const {
  return encode_any(values, nullptr, nullptr, key, out);
}

std::size_t BlockCodec::encode_difference(ConstVec values,
                                          ConstVec base,
                                          RngKey key,
                                          Bytes& out) const {
  return encode_any(values, &base, nullptr, key, out);
}

std::size_t BlockCodec::encode_advance(ConstVec values, Vec hat, RngKey key, Bytes& out) const {
  // Without scales nothing marks the blocks to which a decoder adds nothing, so one pass cannot
  // leave the same bits.
  if (format_.layout.block.scales == 0) {
    return Codec::encode_advance(values, hat, key, out);
  }
  const ConstVec base = hat;
  return encode_any(values, &base, &hat, key, out);
}

std::size_t BlockCodec::encode_any(
    ConstVec values, const ConstVec* base, const Vec* advance, RngKey key, Bytes& out) const {
  HOBNOB_CHECK(base == nullptr || values.count() == base->count(),
               "difference of vectors of different lengths");
  return values.type() == DType::kFloat32
             ? encode_all(Input<float>::of(values, base, advance), key, out)
             : encode_all(Input<double>::of(values, base, advance), key, out);
}

template <typename T>
std::size_t BlockCodec::encode_all(const Input<T>& input, RngKey key, Bytes& out) const {
  out.reserve(out.size() + message::message_bytes(format_.layout.block, input.count));
  out.resize(out.size() + message::kHeaderBytes);
  message::write_header(format_.layout, input.count,
                        out.data() + out.size() - message::kHeaderBytes);
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < input.count; start += message::kFrameCount) {
    const std::size_t count = std::min(message::kFrameCount, input.count - start);
    const Place place{.shape = message::frame_shape(format_.layout.block, count),
                      .key = philox_key(key),
                      .first_block = start / kBlock};
    // Frame by frame, so that the zeros written here and the bytes read for the checksum stay in
    // cache.
    const std::size_t at = out.size();
    out.resize(at + message::kFrameHeaderBytes + place.shape.body_bytes());
    std::byte* header = out.data() + at;
    const std::size_t bad =
        encode_frame(input.at(start, count), place, header + message::kFrameHeaderBytes);
    message::write_frame_header(place.shape, start / message::kFrameCount, bad > 0, header);
    poisoned += bad;
  }
  return poisoned;
}

template <typename T>
std::size_t BlockCodec::encode_frame(const Input<T>& input,
                                     const Place& place,
                                     std::byte* body) const {
  std::byte* payload = body + place.shape.scale_bytes;
  std::size_t poisoned = 0;
  std::size_t done = 0;
  if constexpr (std::is_same_v<T, float>) {
    const std::size_t whole = input.count / kBlock;
    poisoned += format_.kernels->encode({.values = input.values,
                                         .base = input.base,
                                         .advance = input.advance,
                                         .payload = payload,
                                         .scales = body,
                                         .blocks = whole,
                                         .key = place.key,
                                         .first_block = place.first_block});
    done = whole * kBlock;
  }
  for (; done < input.count; done += kBlock) {
    const std::size_t index = done / kBlock;
    const std::size_t count = std::min(kBlock, input.count - done);
    poisoned += encode_block(input.at(done, count),
                             {.payload = payload + index * format_.layout.block.bytes,
                              .scales = body + index * scale_bytes(),
                              .blocks = 1,
                              .key = place.key,
                              .first_block = place.first_block + index});
  }
  return poisoned;
}

// One block that is short, or of float64, by way of float32.
template <typename T>
std::size_t BlockCodec::encode_block(const Input<T>& input, const EncodeRun& run) const {
  Block values{};
  for (std::size_t k = 0; k < input.count; ++k) {
    values[k] = static_cast<float>(input.base == nullptr ? input.values[k]
                                                         : input.values[k] - input.base[k]);
  }
  std::array<std::byte, kMaxBlockBytes> payload{};
  EncodeRun local = run;
  local.values = values.data();
  local.payload = payload.data();
  local.block_count = input.count;
  const std::size_t poisoned = format_.kernels->encode(local);
  std::memcpy(run.payload, payload.data(), stored_bytes(input.count));
  if (input.advance != nullptr) {
    add_block<T>({run.payload, run.scales, 1.0}, {input.advance, input.count});
  }
  return poisoned;
}

Result<void> BlockCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  const Result<void> checked = message::check_message(format_.layout, count, bytes);
  if (!checked.ok()) {
    return checked.error();
  }
  const std::byte* at = bytes.data() + message::kHeaderBytes;
  for (std::size_t start = 0; start < count; start += message::kFrameCount) {
    const auto shape =
        message::frame_shape(format_.layout.block, std::min(message::kFrameCount, count - start));
    if (!is_frame_valid(shape, at + message::kFrameHeaderBytes)) {
      return make_error(ErrorCode::kMalformed, "decode failed: a scale or value is not finite");
    }
    at += message::kFrameHeaderBytes + shape.body_bytes();
  }
  return {};
}

bool BlockCodec::is_frame_valid(const message::FrameShape& shape, const std::byte* body) const {
  const std::byte* payload = body + shape.scale_bytes;
  const std::size_t whole = shape.count / kBlock;
  const std::size_t rest = whole * format_.layout.block.bytes;
  std::array<std::byte, kMaxBlockBytes> last{};
  std::memcpy(last.data(), payload + rest, shape.payload_bytes - rest);
  const bool has_rest = shape.count % kBlock != 0;
  return format_.kernels->is_valid(payload, body, whole) &&
         (!has_rest || format_.kernels->is_valid(last.data(), body + whole * scale_bytes(), 1));
}

void BlockCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  if (into.type() == DType::kFloat32) {
    add_frames(parts, into.as<float>());
  } else {
    add_frames(parts, into.as<double>());
  }
}

template <typename T>
void BlockCodec::add_frames(std::span<const CodecPart> parts, std::span<T> into) const {
  std::size_t at = message::kHeaderBytes;
  for (std::size_t start = 0; start < into.size(); start += message::kFrameCount) {
    const auto shape = message::frame_shape(format_.layout.block,
                                            std::min(message::kFrameCount, into.size() - start));
    std::array<ScaledPart, kMaxFused> live;
    std::size_t count = 0;
    for (const CodecPart& part : parts) {
      const std::byte* frame = part.bytes.data() + at;
      if ((message::frame_flags(frame) & message::kZero) == 0) {
        const std::byte* body = frame + message::kFrameHeaderBytes;
        live[count++] = {body + shape.scale_bytes, body, part.scale};
      }
    }
    at += message::kFrameHeaderBytes + shape.body_bytes();
    add_frame<T>({live.data(), count}, into.subspan(start, shape.count));
  }
}

template <typename T>
void BlockCodec::add_frame(std::span<const ScaledPart> parts, std::span<T> into) const {
  std::size_t done = 0;
  if constexpr (std::is_same_v<T, float>) {
    std::array<DecodeRun::Part, kMaxFused> fused;
    std::ranges::transform(parts, fused.begin(), [](const ScaledPart& part) {
      return DecodeRun::Part{part.payload, part.scales, static_cast<float>(part.scale)};
    });
    const std::size_t whole = into.size() / kBlock;
    if (!parts.empty()) {
      format_.kernels->decode_add({.parts = fused.data(),
                                   .part_count = parts.size(),
                                   .into = into.data(),
                                   .blocks = whole});
    }
    done = whole * kBlock;
  }
  for (; done < into.size(); done += kBlock) {
    const std::size_t index = done / kBlock;
    const std::span<T> block = into.subspan(done, std::min(kBlock, into.size() - done));
    for (const ScaledPart& part : parts) {
      add_block<T>({part.payload + index * format_.layout.block.bytes,
                    part.scales + index * scale_bytes(), part.scale},
                   block);
    }
  }
}

// One block that is short, or of float64, by way of float32.
template <typename T>
void BlockCodec::add_block(const ScaledPart& part, std::span<T> into) const {
  const message::Layout& layout = format_.layout;
  std::array<std::byte, kMaxBlockBytes> payload{};
  std::memcpy(payload.data(), part.payload, stored_bytes(into.size()));
  // -0 + v is v for every v, -0 too.
  Block values;
  values.fill(-0.0F);
  const DecodeRun::Part whole{.payload = payload.data(), .scales = part.scales};
  format_.kernels->decode_add({.parts = &whole, .into = values.data(), .blocks = 1});
  const auto factor = static_cast<T>(part.scale);
  const std::size_t run = layout.block.scales == 0 ? kBlock : kBlock / layout.block.scales;
  for (std::size_t k = 0; k < into.size(); ++k) {
    std::uint16_t scale = 1;
    if (layout.block.scales > 0) {
      scale = load_value<std::uint16_t>(part.scales + 2 * (k / run));
    }
    if (scale != 0) {
      into[k] = element::add_scaled(into[k], factor, static_cast<T>(values[k]));
    }
  }
}

// Of the payload of a block with `count` values.
std::size_t BlockCodec::stored_bytes(std::size_t count) const {
  const std::size_t block = format_.layout.block.bytes;
  return block % kBlock == 0 ? block / kBlock * count : block;
}

}  // namespace hobnob
