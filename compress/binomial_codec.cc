#include "compress/binomial_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "compress/element_rules.h"
#include "compress/fixed_rate_rules.h"
#include "runtime/base/rng.h"

namespace hobnob {

namespace {

bool is_valid(const BinomialConfig& config) {
  return config.clip >= BinomialCodec::kLeastClip && config.clip <= BinomialCodec::kLargestClip &&
         config.levels >= 1 && config.levels <= BinomialCodec::kMaxLevels &&
         config.trials % 2 == 0 && config.trials <= BinomialCodec::kMaxTrials;
}

message::Parameters parameters_of(const BinomialConfig& config) {
  message::Parameters bytes{};
  store_value(bytes.data(), config.clip);
  store_value(bytes.data() + 4, config.levels);
  store_value(bytes.data() + 8, config.trials);
  return bytes;
}

BinomialConfig config_of(const message::Parameters& bytes) {
  return {.clip = load_value<float>(bytes.data()),
          .levels = load_value<std::uint32_t>(bytes.data() + 4),
          .trials = load_value<std::uint32_t>(bytes.data() + 8)};
}

std::int32_t largest_level(const BinomialConfig& config) {
  return static_cast<std::int32_t>(config.levels + config.trials / 2);
}

// Bytes of a level.
std::size_t width_of(const BinomialConfig& config) {
  return largest_level(config) <= 127 ? 1 : 2;
}

std::int32_t load_level(const std::byte* body, std::size_t index, std::size_t width) {
  return width == 1 ? load_value<std::int8_t>(body + index)
                    : load_value<std::int16_t>(body + 2 * index);
}

void append_level(std::int32_t level, std::size_t width, ByteWriter& writer) {
  if (width == 1) {
    writer.put(static_cast<std::int8_t>(level));
  } else {
    writer.put(static_cast<std::int16_t>(level));
  }
}

// The random bits of one value.
class Bits {
 public:
  Bits(std::uint64_t key, std::size_t frame, std::size_t index)
      : key_{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)},
        counter_{static_cast<std::uint32_t>(index), 0, static_cast<std::uint32_t>(frame),
                 static_cast<std::uint32_t>(std::uint64_t{frame} >> 32U)} {}

  std::uint32_t next() {
    if (used_ == 4) {
      words_ = Rng::philox(counter_, key_);
      ++counter_[1];
      used_ = 0;
    }
    return words_[used_++];
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> words_{};
  std::size_t used_ = 4;
};

// Binomial(trials, 1/2) - trials / 2.
std::int32_t binomial(std::uint32_t trials, Bits& bits) {
  std::int32_t sum = -static_cast<std::int32_t>(trials / 2);
  for (std::uint32_t left = trials; left > 0; left -= std::min(left, 32U)) {
    const std::uint32_t word = bits.next();
    sum += std::popcount(left >= 32 ? word : word & ((1U << left) - 1));
  }
  return sum;
}

Result<void> check_parameters(const message::Parameters& parameters) {
  message::Parameters expected = parameters_of(config_of(parameters));
  if (expected != parameters || !is_valid(config_of(parameters))) {
    return message::malformed("clip, levels or trials out of range");
  }
  return {};
}

Result<void> check_body(const message::Parameters& parameters, const varying::Frame& frame) {
  const BinomialConfig config = config_of(parameters);
  const std::size_t width = width_of(config);
  if (frame.body.size() != frame.count * width) {
    return message::malformed("binomial frame of another length");
  }
  for (std::size_t k = 0; k < frame.count; ++k) {
    if (std::abs(load_level(frame.body.data(), k, width)) > largest_level(config)) {
      return message::malformed("a level is out of range");
    }
  }
  return {};
}

}  // namespace

BinomialCodec::BinomialCodec(const BinomialConfig& config) : config_(config) {
  HOBNOB_CHECK(is_valid(config), "clip, levels or trials out of range");
}

CodecTraits BinomialCodec::traits() const {
  return {.unbiased = true,
          .fixed_length = false,
          .nominal_bits = 8.0 * static_cast<double>(width_of(config_))};
}

std::size_t BinomialCodec::max_bytes(std::size_t count, DType /*type*/) const {
  return message::max_varying_bytes(count, width_of(config_) * count);
}

std::size_t BinomialCodec::encode_delta(const Delta& delta, RngKey key, Bytes& out) const {
  constexpr std::uint64_t kPurpose = 0x62696e6f6d69616cULL;  // "binomial"
  const std::uint64_t secret = hash3(key.seed, key.stream, kPurpose);
  const auto levels = static_cast<std::int32_t>(config_.levels);
  const float inverse = element::divide(static_cast<float>(levels), config_.clip);
  message::VaryingWriter writer(id(), delta.count(), parameters_of(config_), out);
  std::vector<float> values;
  Bytes body;
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < delta.count(); start += message::kFrameCount) {
    values.resize(std::min(message::kFrameCount, delta.count() - start));
    delta.load(start, values);
    body.clear();
    ByteWriter levels_out(body);
    std::size_t bad = 0;
    for (std::size_t at = 0; at < values.size(); at += message::kBlockCount) {
      const auto block =
          std::span(values).subspan(at, std::min(message::kBlockCount, values.size() - at));
      const bool is_poison = largest_magnitude(block) >= element::kFloatPoison;
      bad += is_poison ? 1U : 0U;
      for (std::size_t k = 0; k < block.size(); ++k) {
        Bits bits(secret, start / message::kFrameCount, at + k);
        const float value = is_poison ? 0.0F : std::clamp(block[k], -config_.clip, config_.clip);
        const std::int32_t level = element::dithered(value, inverse, bits.next() & 0xffffU, levels);
        append_level(level + binomial(config_.trials, bits), width_of(config_), levels_out);
      }
    }
    writer.append_frame(body, bad > 0);
    poisoned += bad;
  }
  writer.finish();
  return poisoned;
}

Result<void> BinomialCodec::check(ByteSpan bytes, std::size_t count, DType /*type*/) const {
  const std::size_t max_body = 2 * std::min(count, message::kFrameCount);
  return varying::check(bytes, {id(), count, max_body}, check_parameters, check_body);
}

void BinomialCodec::add_checked(std::span<const CodecPart> parts, Vec into) const {
  varying::add(
      parts, into, [](const auto& parameters, const auto& frame, auto factor, auto target) {
        const BinomialConfig config = config_of(parameters);
        const std::size_t width = width_of(config);
        const float step = element::divide(config.clip, static_cast<float>(config.levels));
        for (std::size_t k = 0; k < target.size(); ++k) {
          const std::int32_t level = load_level(frame.body.data(), k, width);
          const float value = element::mul(element::float_of_int(level), step);
          target[k] = element::add_scaled(target[k], factor, static_cast<decltype(factor)>(value));
        }
      });
}

}  // namespace hobnob
