#include "compress/dct_top_k_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "compress/dct64.h"
#include "compress/element_rules.h"

namespace hobnob {

namespace {

constexpr std::size_t kBlock = message::kBlockCount;
constexpr std::size_t kMaxListed = 8;           // more places are a bitmap
constexpr std::uint32_t kPoison = 0x79800000U;  // 2^116
constexpr std::uint16_t kScaleLimit = 0x7880;   // 2^114

using Block = std::array<float, kBlock>;

// Where the parts of a body lie.
struct BodyShape {
  std::size_t chunks = 0;
  std::size_t kept = 0;
  std::size_t place_bytes = 0;  // of a chunk
  std::size_t places_at = 0;
  std::size_t values_at = 0;
  std::size_t bytes = 0;

  BodyShape(std::size_t count, std::size_t kept_of_64)
      : chunks((count + kDctCount - 1) / kDctCount),
        kept(kept_of_64),
        place_bytes(std::min(kept, kMaxListed)),
        places_at(2 * message::blocks_of(count)),
        values_at(places_at + chunks * place_bytes),
        bytes(values_at + chunks * kept) {}
};

// Bit k: coefficient k is one of the `kept` largest; of equal ones the first.
std::uint64_t largest_of_chunk(const float* coefficients, std::size_t kept) {
  std::array<std::int32_t, kDctCount> magnitudes;
  for (std::size_t k = 0; k < kDctCount; ++k) {
    magnitudes[k] = static_cast<std::int32_t>(element::magnitude_bits(coefficients[k]));
  }
  const auto reaching = [&](std::int32_t threshold) {
    std::int32_t count = 0;
    for (const std::int32_t magnitude : magnitudes) {
      count += magnitude >= threshold ? 1 : 0;
    }
    return static_cast<std::size_t>(count);
  };
  // The kept-th magnitude, bit by bit from the top.
  std::int32_t least = 0;
  std::size_t found = kDctCount;
  for (std::int32_t bit = 1 << 30; bit > 0 && found != kept; bit >>= 1) {
    const std::size_t count = reaching(least | bit);
    if (count >= kept) {
      least |= bit;
      found = count;
    }
  }
  std::uint64_t places = 0;
  for (std::size_t k = 0; k < kDctCount; ++k) {
    places |= std::uint64_t{magnitudes[k] >= least} << k;
  }
  // Too many only if the last of them are equal.
  for (std::size_t k = kDctCount; found > kept; --k) {
    if (magnitudes[k - 1] == least) {
      places &= ~(std::uint64_t{1} << (k - 1));
      --found;
    }
  }
  return places;
}

void write_places(std::uint64_t places, std::size_t kept, std::byte* out) {
  if (kept > kMaxListed) {
    store_value(out, places);
    return;
  }
  for (; places != 0; places &= places - 1) {
    *out++ = static_cast<std::byte>(std::countr_zero(places));
  }
}

// 0 when they are not `kept` increasing places.
std::uint64_t read_places(const std::byte* in, std::size_t kept) {
  if (kept > kMaxListed) {
    const auto places = load_value<std::uint64_t>(in);
    return static_cast<std::size_t>(std::popcount(places)) == kept ? places : 0;
  }
  std::uint64_t places = 0;
  for (std::size_t k = 0; k < kept; ++k) {
    const auto place = static_cast<unsigned>(in[k]);
    if (place >= kDctCount || places >> place != 0) {
      return 0;
    }
    places |= std::uint64_t{1} << place;
  }
  return places;
}

// The values of a block, zeros after the last; false when they cannot be sent.
bool load_block(const Delta& delta, std::size_t start, Block& block) {
  block.fill(0.0F);
  const std::size_t count = std::min(kBlock, delta.count() - start);
  if (delta.load(start, std::span(block).first(count)) >= kPoison) {
    block.fill(0.0F);
    return false;
  }
  return true;
}

// Places and int8 values of one chunk.
void encode_chunk(const float* coefficients,
                  float inverse,
                  std::size_t kept,
                  std::byte* places_out,
                  std::byte* values_out) {
  std::array<std::int8_t, kDctCount> q;
  for (std::size_t k = 0; k < kDctCount; ++k) {
    q[k] = element::int8_nearest(coefficients[k], inverse);
  }
  const std::uint64_t places = largest_of_chunk(coefficients, kept);
  write_places(places, kept, places_out);
  for (std::uint64_t left = places; left != 0; left &= left - 1) {
    *values_out++ = static_cast<std::byte>(q[static_cast<std::size_t>(std::countr_zero(left))]);
  }
}

// Returns the number of poisoned blocks; an empty body when nothing is to be sent.
std::size_t encode_frame(const Delta& delta, std::size_t start, std::size_t kept, Bytes& body) {
  constexpr std::size_t kChunks = kBlock / kDctCount;
  const std::size_t count = std::min(message::kFrameCount, delta.count() - start);
  const BodyShape shape(count, kept);
  body.assign(shape.bytes, std::byte{0});
  std::size_t poisoned = 0;
  for (std::size_t block = 0; block < message::blocks_of(count); ++block) {
    Block values;
    Block coefficients;
    poisoned += load_block(delta, start + block * kBlock, values) ? 0U : 1U;
    dct64_forward(values.data(), coefficients.data(), kChunks);
    const std::uint16_t scale = element::int8_scale(largest_magnitude(coefficients));
    store_value(body.data() + 2 * block, scale);
    const float inverse = element::int8_inverse(scale);
    const std::size_t first = block * kChunks;
    for (std::size_t chunk = first; chunk < std::min(first + kChunks, shape.chunks); ++chunk) {
      encode_chunk(coefficients.data() + (chunk - first) * kDctCount, inverse, kept,
                   body.data() + shape.places_at + chunk * shape.place_bytes,
                   body.data() + shape.values_at + chunk * kept);
    }
  }
  if (message::is_zero(ByteSpan(body).subspan(shape.values_at))) {
    body.clear();
  }
  return poisoned;
}

message::Parameters parameters_of(std::size_t kept) {
  message::Parameters parameters{};
  parameters[0] = static_cast<std::byte>(kept);
  return parameters;
}

std::size_t kept_of(const message::Parameters& parameters) {
  return static_cast<std::size_t>(parameters[0]);
}

Result<void> check_parameters(const message::Parameters& parameters) {
  const std::size_t kept = kept_of(parameters);
  if (kept == 0 || kept > kDctCount || parameters_of(kept) != parameters) {
    return message::malformed("dct parameters");
  }
  return {};
}

Result<void> check_body(const varying::Parameters& parameters, const varying::Frame& frame) {
  const ByteSpan body = frame.body;
  const std::size_t kept = kept_of(parameters);
  const BodyShape shape(frame.count, kept);
  if (body.size() != shape.bytes) {
    return message::malformed("dct frame of another length");
  }
  for (std::size_t at = 0; at < shape.places_at; at += 2) {
    const auto scale = load_value<std::uint16_t>(body.data() + at);
    if (!element::is_scale(scale) || scale >= kScaleLimit) {
      return message::malformed("a scale is out of range");
    }
  }
  for (std::size_t chunk = 0; chunk < shape.chunks; ++chunk) {
    if (read_places(body.data() + shape.places_at + chunk * shape.place_bytes, kept) == 0) {
      return message::malformed("places of a dct chunk");
    }
  }
  const ByteSpan values = body.subspan(shape.values_at);
  if (std::ranges::find(values, std::byte{0x80}) != values.end() || message::is_zero(values)) {
    return message::malformed("values of a dct frame");
  }
  return {};
}

template <typename T>
void add_frame(const varying::Frame& frame, std::size_t kept, T factor, std::span<T> into) {
  const BodyShape shape(frame.count, kept);
  const std::byte* value = frame.body.data() + shape.values_at;
  for (std::size_t chunk = 0; chunk < shape.chunks; ++chunk) {
    const float scale = element::float_of_bf16(
        load_value<std::uint16_t>(frame.body.data() + 2 * (chunk * kDctCount / kBlock)));
    std::array<float, kDctCount> coefficients{};
    std::array<float, kDctCount> values;
    std::uint64_t places =
        read_places(frame.body.data() + shape.places_at + chunk * shape.place_bytes, kept);
    for (; places != 0; places &= places - 1) {
      coefficients[static_cast<std::size_t>(std::countr_zero(places))] =
          element::int8_value(static_cast<std::int8_t>(*value++), scale);
    }
    if (scale == 0.0F) {
      continue;
    }
    dct64_inverse(coefficients.data(), values.data(), 1);
    const std::size_t start = chunk * kDctCount;
    for (std::size_t k = 0; k < std::min(kDctCount, frame.count - start); ++k) {
      into[start + k] = element::add_scaled(into[start + k], factor, static_cast<T>(values[k]));
    }
  }
}

}  // namespace

DctTopKCodec::DctTopKCodec(std::size_t kept) : kept_(kept) {
  HOBNOB_CHECK(kept >= 1 && kept <= kDctCount, "kept is not in 1 to 64");
}

CodecTraits DctTopKCodec::traits() const {
  const BodyShape shape(kBlock, kept_);
  return {.fixed_length = false,
          .nominal_bits = 8.0 * static_cast<double>(shape.bytes) / kBlock,
          .carried = static_cast<double>(kept_) / 64.0};
}

std::size_t DctTopKCodec::max_bytes(std::size_t count, DType /*type*/) const {
  const std::size_t full = count / message::kFrameCount;
  const std::size_t rest = count % message::kFrameCount;
  return message::max_varying_bytes(
      count, full * BodyShape(message::kFrameCount, kept_).bytes + BodyShape(rest, kept_).bytes);
}

std::size_t DctTopKCodec::encode_delta(const Delta& delta, RngKey /*key*/, Bytes& out) const {
  message::VaryingWriter writer(id(), delta.count(), parameters_of(kept_), out);
  Bytes body;
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < delta.count(); start += message::kFrameCount) {
    const std::size_t bad = encode_frame(delta, start, kept_, body);
    writer.append_frame(body, bad > 0);
    poisoned += bad;
  }
  writer.finish();
  return poisoned;
}

Result<void> DctTopKCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  const std::size_t max_body = BodyShape(message::kFrameCount, kDctCount).bytes;
  return varying::check(bytes, {id(), count, max_body}, check_parameters, check_body);
}

void DctTopKCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  varying::add(parts, into,
               [](const auto& parameters, const auto& frame, auto factor, auto target) {
                 add_frame(frame, kept_of(parameters), factor, target);
               });
}

}  // namespace hobnob
