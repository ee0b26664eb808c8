#include "compress/entropy_codec.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "compress/element_rules.h"
#include "compress/quantizer.h"
#include "compress/rans.h"

// FORMAT.md has a frame's body: a head, the model, escapes and streams.

namespace hobnob {

namespace {

// Scratch of one frame.
struct Frame {
  std::vector<float> d;
  std::uint32_t largest = 0;  // largest_magnitude() of d
  std::vector<std::uint8_t> symbols;
  std::vector<std::int32_t> escapes;
};

// Fills frame.d with the values from `start` on; blocks that cannot be sent are zeros. Returns how
// many.
std::size_t load(const Delta& delta, std::size_t start, std::size_t count, Frame& frame) {
  frame.d.resize(count);
  frame.largest = 0;
  std::size_t poisoned = 0;
  for (std::size_t at = 0; at < count; at += message::kBlockCount) {
    const auto block = std::span(frame.d).subspan(at, std::min(message::kBlockCount, count - at));
    const std::uint32_t largest = delta.load(start + at, block);
    if (largest >= kLevelPoison) {
      ++poisoned;
      std::ranges::fill(block, 0.0F);
    } else {
      frame.largest = std::max(frame.largest, largest);
    }
  }
  return poisoned;
}

void put_varint(std::uint32_t value, ByteWriter& writer) {
  for (; value >= 0x80U; value >>= 7U) {
    writer.put(static_cast<std::uint8_t>(value | 0x80U));
  }
  writer.put(static_cast<std::uint8_t>(value));
}

void put_escape(std::int32_t level, std::uint32_t top, ByteWriter& writer) {
  const bool is_negative = level < 0;
  const auto magnitude = static_cast<std::uint32_t>(is_negative ? -level : level);
  put_varint((magnitude - top - 1) * 2 + (is_negative ? 1U : 0U), writer);
}

void write_model(const LevelModel& model, std::size_t escapes, ByteWriter& writer) {
  writer.put(model.step);
  writer.put(static_cast<std::uint8_t>(model.top));
  writer.put(std::uint8_t{0});
  writer.put(static_cast<std::uint32_t>(escapes));
  for (std::size_t level = 0; level < model.top; ++level) {
    writer.put(model.middles[level]);
  }
  for (std::size_t symbol = kMaxLevel - model.top; symbol <= kMaxLevel + model.top; ++symbol) {
    put_varint(model.frequencies[symbol], writer);
  }
  put_varint(model.frequencies[kEscape], writer);
}

// What a body says, its streams still coded.
struct ReadBody {
  LevelModel model;
  std::vector<std::int32_t> escapes;
  std::vector<ByteSpan> streams;
};

// Fails the reader for more than 28 bits.
std::uint32_t get_varint(ByteReader& reader) {
  std::uint32_t value = 0;
  for (std::uint32_t shift = 0; shift < 28; shift += 7) {
    const auto byte = reader.get<std::uint8_t>();
    value |= (byte & 0x7fU) << shift;
    if (byte < 0x80U) {
      return value;
    }
  }
  reader.fail();
  return 0;
}

// More than all makes the sum wrong.
std::uint16_t get_frequency(ByteReader& reader) {
  return static_cast<std::uint16_t>(std::min(get_varint(reader), 2 * kRansTotal));
}

// Fails the reader for a level beyond kMaxEscapedLevel.
std::int32_t get_escape(ByteReader& reader, std::uint32_t top) {
  const std::uint32_t code = get_varint(reader);
  const auto level = static_cast<std::int32_t>(code / 2 + top + 1);
  if (level > kMaxEscapedLevel) {
    reader.fail();
  }
  return code % 2 == 1 ? -level : level;
}

bool read_model(ByteReader& reader, std::size_t count, ReadBody& body) {
  LevelModel& model = body.model;
  model.step = reader.get<float>();
  model.top = reader.get<std::uint8_t>();
  const auto reserved = reader.get<std::uint8_t>();
  const std::size_t escapes = reader.get<std::uint32_t>();
  // The largest level times the largest step is finite.
  const bool is_step = model.step >= element::float_of_bf16(element::kMinScale) &&
                       model.step < element::float_of_bf16(element::kScaleLimit) * 0x1p-16F;
  if (!is_step || model.top > kMaxLevel || reserved != 0 || escapes > count) {
    return false;
  }
  for (std::size_t level = 0; level < model.top; ++level) {
    model.middles[level] = reader.get<std::uint8_t>();
  }
  for (std::size_t symbol = kMaxLevel - model.top; symbol <= kMaxLevel + model.top; ++symbol) {
    model.frequencies[symbol] = get_frequency(reader);
  }
  model.frequencies[kEscape] = get_frequency(reader);
  if (!reader.ok() || !are_rans_frequencies(model.frequencies)) {
    return false;
  }
  // An escape takes a byte at least.
  if (escapes > reader.left()) {
    return false;
  }
  body.escapes.reserve(escapes);
  while (body.escapes.size() < escapes && reader.ok()) {
    body.escapes.push_back(get_escape(reader, model.top));
  }
  return reader.ok();
}

Result<ReadBody> read_body(const varying::Frame& frame) {
  ReadBody body;
  ByteReader reader(frame.body);
  if (!read_model(reader, frame.count, body)) {
    return message::malformed("levels or frequencies out of range");
  }
  ByteSpan left = reader.rest();
  for (std::size_t start = 0; start < frame.count; start += kRansStreamSymbols) {
    const Result<std::size_t> length =
        check_rans_stream(left, std::min(kRansStreamSymbols, frame.count - start));
    if (!length.ok()) {
      return length.error();
    }
    body.streams.push_back(left.first(length.value()));
    left = left.subspan(length.value());
  }
  if (!left.empty()) {
    return message::malformed("bytes after the last stream");
  }
  return body;
}

// target (count,) += factor x the values of symbols and escapes.
template <typename T>
void add_levels(Frame& frame,
                const LevelModel& model,
                std::span<const std::int32_t> escapes,
                T factor,
                std::span<T> into) {
  if constexpr (std::is_same_v<T, float>) {
    add_dequantized(frame.symbols, model, escapes, factor, into);
  } else {
    frame.d.resize(into.size());
    dequantize(frame.symbols, model, escapes, frame.d);
    for (std::size_t k = 0; k < into.size(); ++k) {
      into[k] = element::add_scaled(into[k], factor, static_cast<T>(frame.d[k]));
    }
  }
}

// Appends the body of frame.d, or nothing when all are 0 or too small; its levels are then in
// frame.symbols and frame.escapes.
LevelModel encode_body(Frame& frame, const EntropyConfig& config, Bytes& body) {
  const LevelRule rule{static_cast<float>(config.step), static_cast<float>(config.rounding)};
  const LevelModel model = fit_levels(frame.d, frame.largest, rule);
  if (model.step == 0.0F) {
    return model;
  }
  frame.symbols.resize(frame.d.size());
  frame.escapes.clear();
  quantize(frame.d, model, rule.rounding, frame.symbols, frame.escapes);
  ByteWriter writer(body);
  write_model(model, frame.escapes.size(), writer);
  for (const std::int32_t level : frame.escapes) {
    put_escape(level, model.top, writer);
  }
  rans_encode(frame.symbols, model.frequencies, body);
  return model;
}

// Appends a message, and adds what it decodes to to `advance` (count,) if there is one.
std::size_t encode_all(const Delta& delta,
                       const EntropyConfig& config,
                       const Vec* advance,
                       Bytes& out) {
  message::VaryingWriter writer(CodecId::kEntropy, delta.count(), {}, out);
  Frame frame;
  Bytes body;
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < delta.count(); start += message::kFrameCount) {
    const std::size_t count = std::min(message::kFrameCount, delta.count() - start);
    const std::size_t bad = load(delta, start, count, frame);
    body.clear();
    const LevelModel model = encode_body(frame, config, body);
    writer.append_frame(body, bad > 0);
    poisoned += bad;
    if (advance == nullptr || body.empty()) {
      continue;
    }
    const Vec target = advance->slice(start, count);
    if (target.type() == DType::kFloat32) {
      add_levels(frame, model, frame.escapes, 1.0F, target.as<float>());
    } else {
      add_levels(frame, model, frame.escapes, 1.0, target.as<double>());
    }
  }
  writer.finish();
  return poisoned;
}

}  // namespace

CodecTraits EntropyCodec::traits() const {
  // Of a normal source: its differential entropy less the step's, and at least that of rare levels.
  const double bits = std::log2(4.133 / config_.step);
  return {.fixed_length = false, .nominal_bits = std::max(bits, 0.1)};
}

std::size_t EntropyCodec::encode_delta(const Delta& delta, RngKey /*key*/, Bytes& out) const {
  return encode_all(delta, config_, nullptr, out);
}

std::size_t EntropyCodec::encode_advance(ConstVec values,
                                         Vec hat,
                                         RngKey /*key*/,
                                         Bytes& out) const {
  return encode_all(Delta(values, hat), config_, &hat, out);
}

Result<void> EntropyCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  const std::size_t max_body = entropy::max_body_bytes(std::min(count, message::kFrameCount));
  return varying::check(bytes, {id(), count, max_body}, message::check_no_parameters,
                        [](const varying::Parameters& /*none*/, const varying::Frame& frame) {
                          const Result<ReadBody> body = read_body(frame);
                          return body.ok() ? Result<void>{} : body.error();
                        });
}

void EntropyCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  Frame scratch;
  varying::add(parts, into, [&](const auto& /*none*/, const auto& frame, auto factor, auto target) {
    const ReadBody body = read_body(frame).value();
    scratch.symbols.resize(frame.count);
    RansDecoder(body.model.frequencies).decode(body.streams, scratch.symbols);
    add_levels(scratch, body.model, body.escapes, factor, target);
  });
}

}  // namespace hobnob
