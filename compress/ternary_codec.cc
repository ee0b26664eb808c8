#include "compress/ternary_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "compress/element_rules.h"
#include "compress/rice_code.h"
#include "compress/top_k_select.h"

namespace hobnob {

namespace {

constexpr std::size_t kBodyHeader = 8;
// With a parameter near log2(65536 / n), n values take at most 2 n unary zeros, and a one, a sign
// and the remainder each.
constexpr std::size_t kMaxBody = kBodyHeader + 4 * message::kFrameCount / 8;

// The magnitude as a multiple of 2^(largest_exponent - 174); bits below are cut off.
std::uint64_t fixed_point(std::uint32_t magnitude, std::uint32_t largest_exponent) {
  const std::uint32_t field = magnitude >> 23U;
  const std::uint32_t exponent = std::max(field, 1U);
  const std::uint64_t mantissa = (magnitude & 0x7fffffU) | (field > 0 ? 0x800000U : 0U);
  const std::uint32_t below = largest_exponent - exponent;
  return below >= 48 ? 0 : (mantissa << 24U) >> below;
}

// Of at most 65,536 magnitudes below 2^126, not all zero: their sum is below 2^16 x 2^48.
float mean_magnitude(std::span<const float> values) {
  const std::uint32_t exponent = std::max(largest_magnitude(values) >> 23U, 1U);
  std::uint64_t sum = 0;
  for (const float value : values) {
    sum += fixed_point(element::magnitude_bits(value), exponent);
  }
  const std::uint64_t mean = (sum + values.size() / 2) / values.size();
  // Exact in double (48 bits), so rounded once.
  return static_cast<float>(
      std::ldexp(static_cast<double>(mean), static_cast<int>(exponent) - 174));
}

void encode_body(const ChosenValues::Frame& chosen, Bytes& body) {
  body.clear();
  if (chosen.values.empty()) {
    return;
  }
  std::vector<std::uint16_t> gaps;
  gaps.reserve(chosen.offsets.size());
  std::uint32_t next = 0;
  for (const std::uint16_t offset : chosen.offsets) {
    gaps.push_back(static_cast<std::uint16_t>(offset - next));
    next = offset + 1U;
  }
  const unsigned parameter = best_rice_parameter(gaps);
  ByteWriter header(body);
  header.put(static_cast<std::uint32_t>(gaps.size() | parameter << 24U));
  header.put(mean_magnitude(chosen.values));
  BitWriter bits(body);
  for (std::size_t k = 0; k < gaps.size(); ++k) {
    bits.put_rice(gaps[k], parameter);
    bits.put(element::bits_of(chosen.values[k]) >> 31U, 1);
  }
  bits.flush();
}

struct TernaryFrame {
  std::size_t count = 0;  // values in the frame
  std::uint32_t entries = 0;
  unsigned parameter = 0;
  float mean = 0.0F;
  ByteSpan bits;

  // visit(index in the frame, value). False when the bits are no encoding.
  template <typename Visit>
  bool for_each(Visit visit) const {
    BitReader reader(bits);
    std::size_t next = 0;
    for (std::uint32_t k = 0; k < entries; ++k) {
      next += reader.get_rice(parameter, static_cast<std::uint32_t>(count - next));
      const bool is_negative = reader.get(1) != 0;
      if (!reader.ok()) {
        return false;
      }
      visit(next, is_negative ? -mean : mean);
      ++next;
    }
    return reader.done();
  }
};

// Fields of a body that is too short are 0.
TernaryFrame split_body(const varying::Frame& source) {
  ByteReader reader(source.body);
  const auto head = reader.get<std::uint32_t>();
  const auto mean = reader.get<float>();
  return {.count = source.count,
          .entries = head & 0xffffffU,
          .parameter = head >> 24U,
          .mean = mean,
          .bits = reader.rest()};
}

Result<void> check_body(const varying::Parameters& /*none*/, const varying::Frame& source) {
  const TernaryFrame frame = split_body(source);
  const std::uint32_t mean = element::bits_of(frame.mean);
  if (source.body.size() < kBodyHeader || frame.entries == 0 || frame.entries > frame.count ||
      frame.parameter > kMaxRiceParameter || mean == 0 || mean >= element::kInt8Poison) {
    return message::malformed("head of a ternary frame");
  }
  if (!frame.for_each([](std::size_t /*index*/, float /*value*/) {})) {
    return message::malformed("bits of a ternary frame");
  }
  return {};
}

}  // namespace

SparseTernaryCodec::SparseTernaryCodec(double density) : density_(density) {
  HOBNOB_CHECK(density > 0.0 && density <= 1.0, "density is not in (0, 1]");
}

CodecTraits SparseTernaryCodec::traits() const {
  // Gaps are geometric: their best Rice code is within 0.04 bits of their entropy (Golomb).
  const double p = density_;
  const double entropy = p < 1.0 ? -(p * std::log2(p) + (1.0 - p) * std::log2(1.0 - p)) : 0.0;
  return {.fixed_length = false, .nominal_bits = entropy + p, .carried = p};
}

std::size_t SparseTernaryCodec::max_bytes(std::size_t count, DType /*type*/) const {
  const std::size_t kept = kept_count(density_, count);
  const std::size_t frames = message::frames_of(count);
  // n values in a frame take at most n (log2(65536 / n) + 4) bits. That is concave in n: the most
  // are needed when all frames have as many.
  const std::size_t per_value =
      kept == 0
          ? 0
          : static_cast<std::size_t>(std::bit_width(frames * message::kFrameCount / kept)) + 4;
  return message::max_varying_bytes(count, frames * (kBodyHeader + 1) + kept * per_value / 8);
}

std::size_t SparseTernaryCodec::encode_delta(const Delta& delta, RngKey /*key*/, Bytes& out) const {
  const ChosenValues chosen = select_top_k(delta, kept_count(density_, delta.count()));
  message::VaryingWriter writer(id(), delta.count(), {}, out);
  Bytes body;
  std::size_t poisoned = 0;
  for (std::size_t frame = 0; frame < chosen.frame_ends.size(); ++frame) {
    encode_body(chosen.frame(frame), body);
    writer.append_frame(body, chosen.frame_poisoned[frame] > 0);
    poisoned += chosen.frame_poisoned[frame];
  }
  writer.finish();
  return poisoned;
}

Result<void> SparseTernaryCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  return varying::check(bytes, {id(), count, kMaxBody}, message::check_no_parameters, check_body);
}

void SparseTernaryCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  varying::add(parts, into, [](const auto& /*none*/, const auto& source, auto factor, auto target) {
    const bool is_whole = split_body(source).for_each([&](std::size_t index, float value) {
      target[index] =
          element::add_scaled(target[index], factor, static_cast<decltype(factor)>(value));
    });
    HOBNOB_CHECK(is_whole, "a checked frame changed");
  });
}

}  // namespace hobnob
