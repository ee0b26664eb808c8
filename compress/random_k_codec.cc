#include "compress/random_k_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "compress/element_rules.h"
#include "compress/varying_frames.h"

namespace hobnob {

namespace {

constexpr std::size_t kGroup = 64;
constexpr std::uint32_t kMaxOneIn = 65536;
constexpr std::size_t kMaxBody = 2 * message::kFrameCount;

// What the header says.
struct Draw {
  std::uint64_t key = 0;
  std::uint32_t one_in = 1;

  message::Parameters parameters() const {
    message::Parameters bytes{};
    std::memcpy(bytes.data(), &key, sizeof key);
    std::memcpy(bytes.data() + sizeof key, &one_in, sizeof one_in);
    return bytes;
  }

  static Draw of(const message::Parameters& bytes) {
    Draw draw;
    std::memcpy(&draw.key, bytes.data(), sizeof draw.key);
    std::memcpy(&draw.one_in, bytes.data() + sizeof draw.key, sizeof draw.one_in);
    return draw;
  }

  // Philox words for one purpose: 0 places, 1 rounding.
  std::array<std::uint32_t, 4> words(std::size_t at,
                                     std::size_t frame,
                                     std::uint32_t purpose) const {
    return Rng::philox({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(frame),
                        static_cast<std::uint32_t>(std::uint64_t{frame} >> 32U), purpose},
                       {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)});
  }

  // Calls visit(first value, values) for the groups that are sent of a frame of `count` values.
  template <typename Visit>
  void for_each_group(std::size_t frame, std::size_t count, Visit visit) const {
    __extension__ using Wide = unsigned __int128;
    for (std::size_t stratum = 0; stratum * one_in * kGroup < count; ++stratum) {
      const std::array<std::uint32_t, 4> drawn = words(stratum, frame, 0);
      const std::uint64_t word = std::uint64_t{drawn[0]} << 32U | drawn[1];
      const auto chosen = static_cast<std::size_t>(static_cast<Wide>(word) * one_in >> 64U);
      const std::size_t first = (stratum * one_in + chosen) * kGroup;
      if (first < count) {
        visit(first, std::min(kGroup, count - first));
      }
    }
  }

  std::size_t body_bytes(std::size_t frame, std::size_t count) const {
    std::size_t bytes = 0;
    for_each_group(frame, count, [&](std::size_t /*first*/, std::size_t n) { bytes += 2 * n; });
    return bytes;
  }
};

using Group = std::array<std::uint16_t, kGroup>;

// False: cannot be sent.
bool round_to_nearest(std::span<const float> values, Group& rounded) {
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    largest = std::max(largest, element::magnitude_bits(values[k]));
    rounded[k] = element::bf16_nearest(values[k]);
  }
  return largest < element::kBf16Poison;
}

// factor x values, up with the probability that keeps the mean: 16 random bits are added below the
// ones that stay.
bool round_at_random(std::span<const float> values,
                     float factor,
                     std::span<const std::uint32_t> random,
                     Group& rounded) {
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const float value = element::mul(values[k], factor);
    largest = std::max(largest, element::magnitude_bits(value));
    const std::uint32_t low = random[k / 2] >> 16U * (k % 2) & 0xffffU;
    rounded[k] = static_cast<std::uint16_t>((element::bits_of(value) + low) >> 16U);
  }
  return largest <= 0x7f7f0000U;  // the largest bf16
}

struct RandomKFrame {
  std::size_t start = 0;
  std::size_t count = 0;
  std::size_t index = 0;
  ByteSpan body;

  // visit(index in the vector, value).
  template <typename Visit>
  void for_each(const Draw& draw, Visit visit) const {
    if (body.empty()) {
      return;
    }
    const std::byte* at = body.data();
    draw.for_each_group(index, count, [&](std::size_t first, std::size_t n) {
      for (std::size_t k = 0; k < n; ++k, at += 2) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, at, sizeof bits);
        visit(start + first + k, element::float_of_bf16(bits));
      }
    });
  }
};

struct RandomKMessage {
  Draw draw;
  std::vector<RandomKFrame> frames;
};

Error malformed(const char* why) {
  return make_error(ErrorCode::kMalformed, "decode failed: %s", why);
}

Result<void> check_body(const RandomKFrame& frame, const Draw& draw) {
  if (frame.body.empty()) {
    return {};
  }
  if (frame.body.size() != draw.body_bytes(frame.index, frame.count)) {
    return malformed("random-k frame of another length");
  }
  std::uint16_t largest = 0;
  bool is_zero = true;
  for (std::size_t at = 0; at < frame.body.size(); at += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, frame.body.data() + at, sizeof bits);
    largest = std::max(largest, static_cast<std::uint16_t>(bits & 0x7fffU));
    is_zero = is_zero && bits == 0;
  }
  if (largest >= 0x7f80U || is_zero) {  // infinity
    return malformed(is_zero ? "a frame of zeros has a body" : "a value is not finite");
  }
  return {};
}

Result<RandomKMessage> read_message(ByteSpan bytes, std::size_t count) {
  const auto checked = message::check_frames(bytes, CodecId::kRandomK, count, kMaxBody);
  if (!checked.ok()) {
    return checked.error();
  }
  const message::Parameters& parameters = checked.value().parameters;
  RandomKMessage result{.draw = Draw::of(parameters)};
  if (result.draw.one_in == 0 || result.draw.one_in > kMaxOneIn ||
      result.draw.parameters() != parameters) {
    return malformed("random-k parameters");
  }
  result.frames.reserve(checked.value().frames.size());
  for (const message::VaryingMessage::Frame& source : checked.value().frames) {
    const RandomKFrame frame{.start = source.start,
                             .count = source.count,
                             .index = source.start / message::kFrameCount,
                             .body = source.body};
    const Result<void> body = check_body(frame, result.draw);
    if (!body.ok()) {
      return body.error();
    }
    result.frames.push_back(frame);
  }
  return result;
}

template <typename T>
void add_message(const RandomKMessage& message, T factor, std::span<T> into) {
  for (const RandomKFrame& frame : message.frames) {
    frame.for_each(message.draw, [&](std::size_t index, float value) {
      into[index] = element::add_scaled(into[index], factor, static_cast<T>(value));
    });
  }
}

// Appends the groups of one frame; returns how many were poisoned.
std::size_t encode_frame(
    const Delta& delta, std::size_t frame, const Draw& draw, bool is_unbiased, Bytes& body) {
  const std::size_t start = frame * message::kFrameCount;
  const std::size_t count = std::min(message::kFrameCount, delta.count() - start);
  std::size_t poisoned = 0;
  draw.for_each_group(frame, count, [&](std::size_t first, std::size_t n) {
    std::array<float, kGroup> values{};
    delta.load(start + first, std::span(values).first(n));
    Group rounded;
    bool is_sendable = false;
    if (is_unbiased) {
      std::array<std::uint32_t, kGroup / 2> random;
      for (std::size_t k = 0; k < random.size(); k += 4) {
        std::ranges::copy(draw.words(first / kGroup * (kGroup / 8) + k / 4, frame, 1),
                          random.begin() + static_cast<std::ptrdiff_t>(k));
      }
      is_sendable =
          round_at_random(std::span(values), static_cast<float>(draw.one_in), random, rounded);
    } else {
      is_sendable = round_to_nearest(values, rounded);
    }
    if (!is_sendable) {
      rounded.fill(0);
      ++poisoned;
    }
    const ByteSpan bytes = std::as_bytes(std::span(rounded).first(n));
    body.insert(body.end(), bytes.begin(), bytes.end());
  });
  return poisoned;
}

}  // namespace

RandomKCodec::RandomKCodec(const RandomKConfig& config) : config_(config) {
  HOBNOB_CHECK(config.one_in >= 1 && config.one_in <= kMaxOneIn, "one_in is not in 1 to 65,536");
}

CodecTraits RandomKCodec::traits() const {
  return {.unbiased = config_.is_unbiased,
          .fixed_length = false,
          .nominal_bits = 16.0 / config_.one_in};
}

std::size_t RandomKCodec::max_bytes(std::size_t count, DType /*type*/) const {
  const std::size_t frames = (count + message::kFrameCount - 1) / message::kFrameCount;
  const std::size_t stratum = config_.one_in * kGroup;
  const std::size_t groups = frames * ((message::kFrameCount + stratum - 1) / stratum);
  return message::max_varying_bytes(count, std::min(groups * kGroup, count) * 2);
}

std::size_t RandomKCodec::encode(ConstVec values, RngKey key, Bytes& out) const {
  return encode_delta(Delta(values), key, out);
}

std::size_t RandomKCodec::encode_difference(ConstVec values,
                                            ConstVec base,
                                            RngKey key,
                                            Bytes& out) const {
  return encode_delta(Delta(values, base), key, out);
}

std::size_t RandomKCodec::encode_delta(const Delta& delta, RngKey key, Bytes& out) const {
  constexpr std::uint64_t kPurpose = 0x72616e646f6d206bULL;  // "random k"
  const Draw draw{.key = hash3(key.seed, key.stream, kPurpose), .one_in = config_.one_in};
  message::VaryingWriter writer(id(), delta.count(), draw.parameters(), out);
  std::size_t poisoned = 0;
  Bytes body;
  for (std::size_t frame = 0; frame * message::kFrameCount < delta.count(); ++frame) {
    body.clear();
    const std::size_t bad = encode_frame(delta, frame, draw, config_.is_unbiased, body);
    if (std::ranges::all_of(body, [](std::byte b) { return b == std::byte{0}; })) {
      body.clear();
    }
    writer.append_frame(body, bad > 0);
    poisoned += bad;
  }
  writer.finish();
  return poisoned;
}

Result<void> RandomKCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  const auto read = read_message(bytes, count);
  return read.ok() ? Result<void>{} : read.error();
}

void RandomKCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  for (const CodecPart& part : parts) {
    const auto read = read_message(part.bytes, into.count());
    HOBNOB_CHECK(read.ok(), "message was not checked");
    if (into.type() == DType::kFloat32) {
      add_message(read.value(), static_cast<float>(part.scale), into.as<float>());
    } else {
      add_message(read.value(), part.scale, into.as<double>());
    }
  }
}

}  // namespace hobnob
