#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "compress/codec.h"
#include "compress/frame_hash.h"
#include "runtime/base/hash.h"
#include "runtime/base/rng.h"

// What the tests of codecs with frames of varying length share.

namespace hobnob {

inline const std::vector<std::size_t> kSparseSizes{0,   1,   31,    32,    33,   255,
                                                   256, 257, 65535, 65536, 65537};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Bell-shaped, one block in three a thousand times smaller. From integers, so alike on every
// machine.
inline std::vector<float> bell_values(std::size_t count, std::uint64_t seed = 0) {
  std::vector<float> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t bits = mix64(k + 1 + (seed << 40U));
    const auto sum = static_cast<std::int64_t>((bits & 0xffffU) + (bits >> 16U & 0xffffU) +
                                               (bits >> 32U & 0xffffU) + (bits >> 48U));
    const float size = k / 256 % 3 == 2 ? 0x1.0p-26F : 0x1.0p-16F;
    values[k] = static_cast<float>(sum - 131070) * size;
  }
  return values;
}

enum class Source { kGauss, kLaplace, kStudent3 };

inline std::vector<float> random_values(Source source, std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = static_cast<std::uint64_t>(source)});
  std::vector<float> values(count);
  for (float& value : values) {
    double drawn = rng.normal();
    if (source == Source::kLaplace) {
      const double u = rng.uniform() - 0.5;
      drawn = std::copysign(-std::log(1.0 - 2.0 * std::abs(u)), u);
    } else if (source == Source::kStudent3) {
      double squares = 0.0;
      for (int k = 0; k < 3; ++k) {
        const double normal = rng.normal();
        squares += normal * normal;
      }
      drawn /= std::sqrt(squares / 3.0);
    }
    value = static_cast<float>(drawn);
  }
  return values;
}

inline Bytes encode(const Codec& codec,
                    const std::vector<float>& values,
                    std::size_t expected_poison = 0,
                    RngKey key = {}) {
  Bytes out;
  EXPECT_EQ(codec.encode(std::span<const float>(values), key, out), expected_poison);
  return out;
}

// decode(bytes) into zeros.
template <typename T = float>
std::vector<T> decode(const Codec& codec, ByteSpan bytes, std::size_t count) {
  std::vector<T> into(count);
  EXPECT_TRUE(codec.decode_add(bytes, 1.0, std::span<T>(into)).ok());
  return into;
}

template <typename T>
double squared_norm(const std::vector<T>& values) {
  double sum = 0.0;
  for (const T value : values) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return sum;
}

// |a - b|^2
inline double squared_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sum += difference * difference;
  }
  return sum;
}

inline std::size_t nonzeros(const std::vector<float>& values) {
  return values.size() - static_cast<std::size_t>(std::ranges::count(values, 0.0F));
}

// Decodes hostile bytes: true when refused, and then the target is as it was. What is accepted
// gives finite values.
inline bool is_refused(const Codec& codec, ByteSpan bytes, std::size_t count) {
  std::vector<float> into(count, 0.5F);
  const Result<void> result = codec.decode_add(bytes, 1.0, std::span<float>(into));
  if (result.ok()) {
    EXPECT_TRUE(std::ranges::all_of(into, [](float v) { return std::isfinite(v); }));
    return false;
  }
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_TRUE(std::ranges::all_of(into, [](float v) { return v == 0.5F; })) << "target touched";
  return true;
}

constexpr std::size_t kHeader = 64;
constexpr std::size_t kFrameHeader = 16;

// Puts the right checksums on header and only frame, as a peer with bad intentions would.
inline void seal(Bytes& bytes) {
  const std::uint64_t header = hash_bytes(ByteSpan(bytes).first(56));
  std::memcpy(bytes.data() + 56, &header, sizeof header);
  std::uint32_t payload = 0;
  std::uint32_t flags = 0;
  std::memcpy(&payload, bytes.data() + kHeader + 8, sizeof payload);
  std::memcpy(&flags, bytes.data() + kHeader + 12, sizeof flags);
  const ByteSpan rest = ByteSpan(bytes).subspan(kHeader + kFrameHeader);
  const std::uint64_t frame =
      frame_hash(rest.first(std::min<std::size_t>(payload, rest.size())), flags);
  std::memcpy(bytes.data() + kHeader, &frame, sizeof frame);
}

// Of a message with one frame: cuts, flips, and flips that a peer sealed again.
inline void expect_hostile_bytes_are_harmless(const Codec& codec,
                                              const Bytes& good,
                                              std::size_t count) {
  ASSERT_FALSE(is_refused(codec, good, count));
  for (std::size_t length = 0; length < good.size(); ++length) {
    // A copy of its own, so that the sanitizer sees reads past the end.
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_TRUE(is_refused(codec, cut, count)) << "cut to " << length;
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  ASSERT_TRUE(is_refused(codec, longer, count));
  ASSERT_TRUE(is_refused(codec, good, count + 1));
  ASSERT_TRUE(is_refused(codec, good, count - 1));
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_TRUE(is_refused(codec, bytes, count)) << "bit " << bit;
    seal(bytes);
    accepted += is_refused(codec, bytes, count) ? 0U : 1U;
  }
  // The checksums that were put right, and values, scales and the like.
  EXPECT_GT(accepted, 128U);
}

// The same bytes and the same decoded values for every instruction set that this machine has.
inline void expect_targets_agree(const Codec& codec, std::size_t count) {
  const std::vector<float> values = bell_values(count);
  const Bytes expected = encode(codec, values);
  const std::vector<float> decoded = decode(codec, expected, count);
  std::size_t targets = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_EQ(encode(codec, values), expected);
    EXPECT_EQ(decode(codec, expected, count), decoded);
    ++targets;
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GE(targets, 1U);
}

// Error feedback over some rounds: what was lost returns, so that sum of inputs = sum of what was
// sent + what is left.
template <typename T>
void expect_conservation(const Codec& codec, double tolerance) {
  constexpr std::size_t kCount = 3000;
  std::vector<T> left(kCount);
  std::vector<T> sent(kCount);
  std::vector<double> sum(kCount);
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::vector<float> input = bell_values(kCount, round + 1);
    for (std::size_t k = 0; k < kCount; ++k) {
      left[k] += static_cast<T>(input[k]);
      sum[k] += static_cast<double>(input[k]);
    }
    Bytes bytes;
    ASSERT_EQ(codec.encode(std::span<const T>(left), {.seed = 1, .stream = round}, bytes), 0U);
    ASSERT_TRUE(codec.decode_add(bytes, 1.0, std::span<T>(sent)).ok());
    ASSERT_TRUE(codec.decode_add(bytes, -1.0, std::span<T>(left)).ok());
  }
  double error = 0.0;
  for (std::size_t k = 0; k < kCount; ++k) {
    const double total = static_cast<double>(sent[k]) + static_cast<double>(left[k]);
    error += (total - sum[k]) * (total - sum[k]);
  }
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(squared_norm(sum)));
}

// Sizes, header, zeros, appending, float64, and the longest length.
inline void expect_codec_manners(const Codec& codec) {
  for (const std::size_t count : kSparseSizes) {
    SCOPED_TRACE(count);
    const std::vector<float> values = bell_values(count);
    Bytes out(3, std::byte{9});  // and so the message is not aligned
    codec.encode(std::span<const float>(values), {}, out);
    const Bytes alone = encode(codec, values);
    EXPECT_LE(alone.size(), codec.max_bytes(count, DType::kFloat32));
    ASSERT_TRUE(std::equal(alone.begin(), alone.end(), out.begin() + 3, out.end()));
    const std::vector<float> decoded = decode(codec, ByteSpan(out).subspan(3), count);
    // Two roundings, in the target's type.
    std::vector<double> into(count, 1.0);
    ASSERT_TRUE(codec.decode_add(alone, 0.1, std::span<double>(into)).ok());
    for (std::size_t k = 0; k < count; ++k) {
      const volatile double product = 0.1 * static_cast<double>(decoded[k]);
      ASSERT_EQ(into[k], 1.0 + product);
    }
    const std::vector<double> doubles(values.begin(), values.end());
    Bytes from_doubles;
    codec.encode(std::span<const double>(doubles), {}, from_doubles);
    EXPECT_EQ(from_doubles, alone);
    const Bytes zeros = encode(codec, std::vector<float>(count, 0.0F));
    EXPECT_EQ(zeros.size(), kHeader + (count + 65535) / 65536 * kFrameHeader);
    EXPECT_EQ(nonzeros(decode(codec, zeros, count)), 0U);
  }
}

// encode_difference(x, hat) is encode of the rounded differences.
template <typename C>
void expect_differences_are_fused(const C& codec) {
  for (const std::size_t count : {257U, 70000U}) {
    const std::vector<float> x = bell_values(count, 1);
    const std::vector<float> hat = bell_values(count, 2);
    std::vector<float> difference(count);
    for (std::size_t k = 0; k < count; ++k) {
      difference[k] = x[k] - hat[k];
    }
    Bytes fused;
    codec.encode_difference(std::span<const float>(x), std::span<const float>(hat), {}, fused);
    EXPECT_EQ(fused, encode(codec, difference));
    const std::vector<double> wide_x(x.begin(), x.end());
    const std::vector<double> wide_hat(hat.begin(), hat.end());
    Bytes wide;
    codec.encode_difference(std::span<const double>(wide_x), std::span<const double>(wide_hat), {},
                            wide);
    EXPECT_EQ(wide, fused);  // both differences are exact or rounded once
  }
}

}  // namespace hobnob
