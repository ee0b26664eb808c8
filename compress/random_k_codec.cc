#include "compress/random_k_codec.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compress/element_rules.h"

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
    store_value(bytes.data(), key);
    store_value(bytes.data() + sizeof key, one_in);
    return bytes;
  }

  static Draw of(const message::Parameters& bytes) {
    return {.key = load_value<std::uint64_t>(bytes.data()),
            .one_in = load_value<std::uint32_t>(bytes.data() + sizeof key)};
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
  std::ranges::transform(values, rounded.begin(), element::bf16_nearest);
  return largest_magnitude(values) < element::kBf16Poison;
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

Result<void> check_parameters(const varying::Parameters& parameters) {
  const Draw draw = Draw::of(parameters);
  if (draw.one_in == 0 || draw.one_in > kMaxOneIn || draw.parameters() != parameters) {
    return message::malformed("random-k parameters");
  }
  return {};
}

Result<void> check_body(const varying::Parameters& parameters, const varying::Frame& frame) {
  if (frame.body.size() != Draw::of(parameters).body_bytes(frame.index(), frame.count)) {
    return message::malformed("random-k frame of another length");
  }
  std::uint16_t largest = 0;
  for (std::size_t at = 0; at < frame.body.size(); at += 2) {
    const auto bits = load_value<std::uint16_t>(frame.body.data() + at);
    largest = std::max(largest, static_cast<std::uint16_t>(bits & 0x7fffU));
  }
  if (largest >= 0x7f80U) {  // infinity
    return message::malformed("a value is not finite");
  }
  if (message::is_zero(frame.body)) {
    return message::malformed("a frame of zeros has a body");
  }
  return {};
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
          .nominal_bits = 16.0 / config_.one_in,
          .carried = 1.0 / config_.one_in};
}

std::size_t RandomKCodec::max_bytes(std::size_t count, DType /*type*/) const {
  const std::size_t frames = message::frames_of(count);
  const std::size_t stratum = config_.one_in * kGroup;
  const std::size_t groups = frames * ((message::kFrameCount + stratum - 1) / stratum);
  return message::max_varying_bytes(count, std::min(groups * kGroup, count) * 2);
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
    if (message::is_zero(body)) {
      body.clear();
    }
    writer.append_frame(body, bad > 0);
    poisoned += bad;
  }
  writer.finish();
  return poisoned;
}

Result<void> RandomKCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  return varying::check(bytes, {id(), count, kMaxBody}, check_parameters, check_body);
}

void RandomKCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  varying::add(
      parts, into, [](const auto& parameters, const auto& frame, auto factor, auto target) {
        const std::byte* at = frame.body.data();
        const auto add_group = [&](std::size_t first, std::size_t n) {
          for (std::size_t k = first; k < first + n; ++k, at += 2) {
            const float value = element::float_of_bf16(load_value<std::uint16_t>(at));
            target[k] =
                element::add_scaled(target[k], factor, static_cast<decltype(factor)>(value));
          }
        };
        Draw::of(parameters).for_each_group(frame.index(), frame.count, add_group);
      });
}

}  // namespace hobnob
