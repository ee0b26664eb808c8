#include "tests/fuzz/fuzz_input.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "compress/codec_config.h"
#include "compress/message.h"
#include "compress/message_parts.h"
#include "runtime/base/check.h"

namespace hobnob::fuzz {

namespace {

std::unique_ptr<Codec> codec_of(const Input& input) {
  Result<std::unique_ptr<Codec>> codec = make_codec(input.codec);
  return codec.ok() ? std::move(codec.value()) : nullptr;
}

template <typename T>
bool is_same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
bool run_as(const Codec& codec, const Input& input) {
  const std::vector<T> before(input.count, T(0.5));
  std::vector<T> into = before;
  const Result<void> checked = codec.check(input.message, input.count, input.type);
  const Result<void> added = codec.decode_add(input.message, 1.0, std::span<T>(into));
  HOBNOB_CHECK(checked.ok() == added.ok(), "check() and decode_add() disagree");
  if (!added.ok()) {
    HOBNOB_CHECK(added.error().code == ErrorCode::kMalformed, "refused with another error");
    HOBNOB_CHECK(is_same(into, before), "the target of a refused message was touched");
    return false;
  }
  HOBNOB_CHECK(std::ranges::all_of(into, [](T v) { return std::isfinite(v); }),
               "a message gave a number that is not finite");
  const std::array<double, Codec::kMaxFused + 1> scales{1.0, -0.25, 0.5, 0.125, -1.0};
  std::array<CodecPart, scales.size()> parts;
  into = before;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parts[k] = {.bytes = input.message, .scale = scales[k]};
    HOBNOB_CHECK(codec.decode_add(input.message, scales[k], std::span<T>(into)).ok(),
                 "decoded once and not again");
  }
  std::vector<T> fused = before;
  HOBNOB_CHECK(codec.decode_add(parts, std::span<T>(fused)).ok(), "decoded alone, not together");
  HOBNOB_CHECK(is_same(into, fused), "several messages in one pass gave other bits");
  return true;
}

template <typename T>
std::vector<T> draw(std::uint32_t count, Values kind, Rng& rng) {
  std::vector<T> values(count);
  for (T& value : values) {
    if (kind == Values::kAnyBits) {
      value = static_cast<T>(std::bit_cast<float>(rng.next_u32()));
    } else if (kind != Values::kZero) {
      value = static_cast<T>(rng.normal());
    }
  }
  if (kind == Values::kPoison && count > 0) {
    values[count / 2] = std::numeric_limits<T>::quiet_NaN();
  }
  return values;
}

// Numbers at the edges of some field: bf16 scales, flags, lengths.
std::uint16_t edge(Rng& rng) {
  constexpr std::uint16_t kEdges[] = {0,      1,      2,      3,      0x7f,   0x80,   0xff,
                                      0x100,  0x0d7f, 0x0d80, 0x7b7f, 0x7b80, 0x7f7f, 0x7f80,
                                      0x7fc0, 0x8000, 0xbf80, 0xff80, 0xfffe, 0xffff};
  return kEdges[rng.below(std::size(kEdges))];
}

void change_bytes(Bytes& message, Rng& rng) {
  if (message.empty()) {
    return;
  }
  const std::size_t at = rng.below(message.size());
  switch (rng.below(3)) {
    case 0:
      message[at] ^= std::byte{1} << rng.below(8);
      break;
    case 1:
      message[at] = static_cast<std::byte>(rng.next_u32());
      break;
    default:
      const std::uint16_t value = edge(rng);
      const std::size_t even = at & ~std::size_t{1};
      std::memcpy(message.data() + even, &value, std::min<std::size_t>(2, message.size() - even));
  }
}

void change_length(Bytes& message, std::size_t limit, Rng& rng) {
  constexpr std::size_t kUnits[] = {1, 16, 64, 128};
  const std::size_t step = kUnits[rng.below(std::size(kUnits))] * (1 + rng.below(4));
  const bool grows = rng.below(2) == 0;
  const std::size_t size =
      grows ? message.size() + step : message.size() - std::min(step, message.size());
  message.resize(std::min(size, limit));
}

std::uint32_t near_count(std::uint32_t count, Rng& rng) {
  constexpr std::uint32_t kCounts[] = {0,   1,   2,   31,    32,    33,   255,
                                       256, 257, 512, 65535, 65536, 65537};
  if (rng.below(2) == 0) {
    return kCounts[rng.below(std::size(kCounts))];
  }
  return (count + static_cast<std::uint32_t>(rng.below(5)) + kMaxCount - 1) % (kMaxCount + 1);
}

// Replaces the message by a good one of few values.
void encode_anew(Input& input, std::size_t limit, Rng& rng) {
  const auto codec = codec_of(input);
  if (codec == nullptr) {
    return;
  }
  const auto count = static_cast<std::uint32_t>(rng.below(1 + rng.below(2000)));
  const auto kind = static_cast<Values>(rng.below(4));
  Bytes message = encode(*codec, input.type, count, kind, rng);
  if (message.size() <= limit) {
    input.count = count;
    input.message = std::move(message);
  }
}

}  // namespace

std::optional<Input> parse(ByteSpan bytes) {
  if (bytes.size() < kPrefixBytes) {
    return std::nullopt;
  }
  ByteReader reader(bytes);
  Input input;
  input.codec = static_cast<CodecId>(reader.get<std::uint8_t>());
  input.type = reader.get<std::uint8_t>() % 2 == 0 ? DType::kFloat32 : DType::kFloat64;
  reader.get<std::uint16_t>();
  input.count = reader.get<std::uint32_t>() % (kMaxCount + 1);
  const ByteSpan message = reader.rest();
  // A copy that ends where the message does, for the address sanitizer.
  input.message.assign(message.begin(), message.end());
  return input;
}

Bytes to_bytes(const Input& input) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(static_cast<std::uint8_t>(input.codec));
  writer.put(static_cast<std::uint8_t>(input.type));
  writer.put(std::uint16_t{0});
  writer.put(input.count);
  writer.put_bytes(input.message);
  return bytes;
}

bool run(const Input& input) {
  const auto codec = codec_of(input);
  if (codec == nullptr) {
    return false;
  }
  return input.type == DType::kFloat32 ? run_as<float>(*codec, input)
                                       : run_as<double>(*codec, input);
}

void repair(Input& input) {
  const auto codec = codec_of(input);
  if (codec == nullptr || input.message.size() < message::kHeaderBytes) {
    return;
  }
  Bytes empty;
  codec->encode(ConstVec(nullptr, 0, input.type), {}, empty);
  std::copy_n(empty.begin(), message::kBlockLog2At + 1, input.message.begin());
  const std::uint64_t count = input.count;
  std::memcpy(input.message.data() + message::kCountAt, &count, sizeof count);
  message::seal(*codec, input.count, input.type, input.message);
}

void mutate(Input& input, std::size_t limit, Rng& rng) {
  if (rng.below(8) == 0) {
    encode_anew(input, limit, rng);
  }
  switch (rng.below(8)) {
    case 0:
      change_length(input.message, limit, rng);
      break;
    case 1:
      input.count = near_count(input.count, rng);
      break;
    default:
      for (std::uint64_t changes = 1 + rng.below(4); changes > 0; --changes) {
        change_bytes(input.message, rng);
      }
  }
  if (rng.below(8) != 0) {
    repair(input);
  }
}

Bytes encode(const Codec& codec, DType type, std::uint32_t count, Values values, Rng& rng) {
  Bytes message;
  const RngKey key{.seed = rng.next_u64()};
  if (type == DType::kFloat32) {
    codec.encode(std::span<const float>(draw<float>(count, values, rng)), key, message);
  } else {
    codec.encode(std::span<const double>(draw<double>(count, values, rng)), key, message);
  }
  return message;
}

}  // namespace hobnob::fuzz
