#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "compress/codec_config.h"
#include "runtime/base/hash.h"

namespace hobnob {
namespace {

const std::vector<std::string>& kKinds = codec_kinds();
const std::vector<std::size_t> kSizes{0,   1,   31,   32,    33,    127,   128,   255,
                                      256, 257, 4097, 65535, 65536, 65537, 131073};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::unique_ptr<Codec> codec_of(const std::string& kind) {
  return make_codec(CodecConfig{.kind = kind});
}

// Bell-shaped, one block in three a thousand times smaller. From integers, so alike on every
// machine.
template <typename T>
std::vector<T> test_values(std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t bits = mix64(k + 1);
    const auto sum = static_cast<std::int64_t>((bits & 0xffffU) + (bits >> 16U & 0xffffU) +
                                               (bits >> 32U & 0xffffU) + (bits >> 48U));
    const T size = k / 256 % 3 == 2 ? T(0x1.0p-26) : T(0x1.0p-16);
    values[k] = static_cast<T>(sum - 131070) * size;
  }
  return values;
}

template <typename T>
Bytes encode(const Codec& codec, const std::vector<T>& values, std::size_t expected_poison = 0) {
  Bytes out;
  EXPECT_EQ(codec.encode(std::span<const T>(values), {}, out), expected_poison);
  return out;
}

// decode(bytes) into zeros.
template <typename T>
std::vector<T> decode(const Codec& codec, const Bytes& bytes, std::size_t count) {
  std::vector<T> into(count);
  const Result<void> result = codec.decode_add(bytes, 1.0, std::span<T>(into));
  EXPECT_TRUE(result.ok());
  return into;
}

template <typename T>
std::vector<T> round_trip(const Codec& codec,
                          const std::vector<T>& values,
                          std::size_t expected_poison = 0) {
  return decode<T>(codec, encode(codec, values, expected_poison), values.size());
}

template <typename T>
ErrorCode decode_error(const Codec& codec, ByteSpan bytes, std::size_t count) {
  std::vector<T> into(count, T(0.5));
  const Result<void> result = codec.decode_add(bytes, 1.0, std::span<T>(into));
  EXPECT_TRUE(std::ranges::all_of(into, [](T v) { return v == T(0.5); })) << "target was touched";
  return result.ok() ? ErrorCode::kIo : result.error().code;
}

TEST(Codec, LengthIsMaxBytesUnlessItFollowsTheValues) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    for (const std::size_t count : kSizes) {
      SCOPED_TRACE(testing::Message() << kind << ", " << count << " values");
      const std::size_t single = encode(*codec, test_values<float>(count)).size();
      const std::size_t twice = encode(*codec, test_values<double>(count)).size();
      if (codec->traits().fixed_length) {
        EXPECT_EQ(single, codec->max_bytes(count, DType::kFloat32));
        EXPECT_EQ(twice, codec->max_bytes(count, DType::kFloat64));
      } else {
        EXPECT_LE(single, codec->max_bytes(count, DType::kFloat32));
        EXPECT_LE(twice, codec->max_bytes(count, DType::kFloat64));
      }
    }
  }
}

TEST(Codec, AppendsToWhatIsThere) {
  const auto values = test_values<float>(300);
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    Bytes out(3, std::byte{9});  // and so the message is not aligned
    codec->encode(std::span<const float>(values), {}, out);
    const Bytes alone = encode(*codec, values);
    ASSERT_EQ(out.size(), alone.size() + 3);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), out.begin() + 3));
    std::vector<float> into(300);
    EXPECT_TRUE(codec->decode_add(ByteSpan(out).subspan(3), 1.0, std::span<float>(into)).ok());
  }
}

TEST(Codec, AddsTheScaledValuesWithTwoRoundings) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    const Bytes bytes = encode(*codec, test_values<float>(1000));
    const auto values = decode<float>(*codec, bytes, 1000);
    std::vector<float> into = test_values<float>(1000);
    std::vector<float> expected = into;
    for (std::size_t k = 0; k < into.size(); ++k) {
      const volatile float product = -0.3F * values[k];
      expected[k] += product;
    }
    ASSERT_TRUE(codec->decode_add(bytes, -0.3, std::span<float>(into)).ok());
    EXPECT_EQ(into, expected) << kind;
  }
}

TEST(Codec, DecodesFloat32MessagesIntoFloat64) {
  for (const std::string kind : {"fp32", "bf16", "int8"}) {
    const auto codec = codec_of(kind);
    const Bytes bytes = encode(*codec, test_values<double>(600));
    EXPECT_EQ(bytes, encode(*codec, test_values<float>(600))) << "float64 is rounded to float32";
    const auto values = decode<float>(*codec, bytes, 600);
    std::vector<double> into(600, 1.0);
    ASSERT_TRUE(codec->decode_add(bytes, 0.1, std::span<double>(into)).ok());
    for (std::size_t k = 0; k < into.size(); ++k) {
      const volatile double product = 0.1 * static_cast<double>(values[k]);
      EXPECT_EQ(into[k], 1.0 + product);
    }
  }
}

TEST(Codec, SendsAPoisonedBlockAsZerosAndHarmsNoOther) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    if (!codec->traits().fixed_length && kind != "eq") {
      continue;  // those that send a selection have tests of their own
    }
    for (const float poison : {kNan, -kNan, kInfinity, -kInfinity}) {
      std::vector<float> values = test_values<float>(1100);
      const std::vector<float> clean = round_trip(*codec, values);
      values[300] = poison;
      values[301] = poison;
      values[1099] = poison;
      const std::vector<float> decoded = round_trip(*codec, values, 2);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const bool is_poisoned = k / 256 == 1 || k / 256 == 4;
        if (is_poisoned || codec->traits().fixed_length) {
          EXPECT_EQ(decoded[k], is_poisoned ? 0.0F : clean[k]) << kind << " " << k;
        } else {
          // Its model is of all values of the frame, and so of those that are zeros now.
          EXPECT_NEAR(decoded[k], clean[k], 0.3F) << kind << " " << k;
        }
      }
    }
  }
}

TEST(Codec, PoisonsNumbersItsFormatCannotHold) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(round_trip(*codec_of("fp32"), std::vector<float>{largest})[0], largest);
  round_trip(*codec_of("bf16"), std::vector<float>{largest}, 1);
  round_trip(*codec_of("int8"), std::vector<float>{0x1.0p126F}, 1);
  EXPECT_TRUE(
      std::isfinite(round_trip(*codec_of("int8"), std::vector<float>{-0x1.fffffep125F})[0]));
  round_trip(*codec_of("fp32"), std::vector<double>{1e300}, 1);
  EXPECT_EQ(round_trip(*codec_of("raw"), std::vector<double>{1e300})[0], 1e300);
}

TEST(Codec, FlagsAllZeroFramesAndSkipsThem) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    if (kind == "binomial") {
      continue;  // its noise covers zeros
    }
    const Bytes bytes = encode(*codec, std::vector<float>(500, 0.0F));
    if (is_low_rank(codec->id())) {
      EXPECT_EQ(bytes.size(), 64U) << "no factors";
    } else {
      EXPECT_EQ(bytes[64 + 12], std::byte{1});
    }
    std::vector<float> into(500, -0.0F);
    ASSERT_TRUE(codec->decode_add(bytes, 1.0, std::span<float>(into)).ok());
    EXPECT_TRUE(std::ranges::all_of(into, [](float v) { return std::signbit(v); }));
  }
}

TEST(Raw, IsExactInBothTypes) {
  const auto codec = codec_of("raw");
  EXPECT_TRUE(codec->traits().exact);
  for (const std::size_t count : kSizes) {
    EXPECT_EQ(round_trip(*codec, test_values<float>(count)), test_values<float>(count));
    EXPECT_EQ(round_trip(*codec, test_values<double>(count)), test_values<double>(count));
  }
  const std::vector<double> fine{1.0 / 3, -5e-324, 1e308};
  EXPECT_EQ(round_trip(*codec, fine), fine);
}

TEST(Raw, DoesNotDecodeIntoTheOtherType) {
  const auto codec = codec_of("raw");
  // 32 float64 or 64 float32 have the same payload length.
  EXPECT_EQ(decode_error<float>(*codec, encode(*codec, test_values<double>(32)), 32),
            ErrorCode::kMalformed);
  EXPECT_EQ(decode_error<float>(*codec, encode(*codec, test_values<double>(32)), 64),
            ErrorCode::kMalformed);
  EXPECT_EQ(decode_error<double>(*codec, encode(*codec, test_values<float>(64)), 32),
            ErrorCode::kMalformed);
}

TEST(Fp32, IsExactInFloat32) {
  const auto codec = codec_of("fp32");
  for (const std::size_t count : kSizes) {
    EXPECT_EQ(round_trip(*codec, test_values<float>(count)), test_values<float>(count));
  }
  const std::vector<float> fine{1.0F / 3, -0x1.0p-149F, 3e38F};
  EXPECT_EQ(round_trip(*codec, fine), fine);
}

TEST(Bf16, ErrorIsAtMostHalfAUnitInTheLastPlace) {
  const auto codec = codec_of("bf16");
  for (const std::size_t count : kSizes) {
    const auto values = test_values<float>(count);
    const auto decoded = round_trip(*codec, values);
    for (std::size_t k = 0; k < count; ++k) {
      ASSERT_LE(std::abs(decoded[k] - values[k]), std::abs(values[k]) * 0x1.0p-8F);
    }
  }
}

TEST(Bf16, RoundsTiesToEvenAndKeepsDenormals) {
  const std::vector<float> values{1.0F + 0x1.0p-8F, 1.0F + 0x1.8p-7F, 0x1.0p-133F, -0x1.8p-132F};
  const std::vector<float> expected{1.0F, 1.0F + 0x1.0p-6F, 0x1.0p-133F, -0x1.8p-132F};
  EXPECT_EQ(round_trip(*codec_of("bf16"), values), expected);
}

TEST(Int8, ErrorIsAtMostHalfAScale) {
  const auto codec = codec_of("int8");
  for (const std::size_t count : kSizes) {
    const auto values = test_values<float>(count);
    const auto decoded = round_trip(*codec, values);
    for (std::size_t start = 0; start < count; start += 256) {
      const std::size_t end = std::min(count, start + 256);
      double largest = 0;
      for (std::size_t k = start; k < end; ++k) {
        largest = std::max(largest, std::abs(static_cast<double>(values[k])));
      }
      // The scale is rounded up by at most 2^-7; the product with 1 / scale by 2^-16 of a step.
      const double bound = largest / 127 * (1 + 0x1.0p-7) * (0.5 + 0x1.0p-16);
      for (std::size_t k = start; k < end; ++k) {
        ASSERT_LE(std::abs(static_cast<double>(decoded[k]) - static_cast<double>(values[k])),
                  bound);
      }
    }
  }
}

TEST(Int8, TakesAtMostAQuarterAndALittleOfFp32) {
  constexpr std::size_t kCount = 203530;
  const auto small = codec_of("int8")->max_bytes(kCount, DType::kFloat32);
  const auto large = codec_of("fp32")->max_bytes(kCount, DType::kFloat32);
  EXPECT_LE(static_cast<double>(small), 0.27 * static_cast<double>(large));
}

TEST(Int8, SendsTinyBlocksAsZeros) {
  const auto codec = codec_of("int8");
  EXPECT_EQ(round_trip(*codec, std::vector<float>{0x1.0p-94F})[0], 0.0F);
  EXPECT_NE(round_trip(*codec, std::vector<float>{0x1.0p-92F})[0], 0.0F);
  EXPECT_EQ(round_trip(*codec, std::vector<float>{0x1.0p-149F, -0.0F})[0], 0.0F);
}

TEST(Factory, RefusesUnknownKindsIdsAndBlocks) {
  const Result<void> kind = validate(CodecConfig{.kind = "int9"});
  ASSERT_FALSE(kind.ok());
  EXPECT_EQ(kind.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(kind.error().message.find("did you mean int8?"), std::string::npos);
  EXPECT_NE(kind.error().message.find("raw, fp32, bf16, int8"), std::string::npos);
  EXPECT_FALSE(validate(CodecConfig{.block = 128}).ok());
  for (const unsigned id : {60U, 255U}) {
    const auto codec = make_codec(static_cast<CodecId>(id));
    ASSERT_FALSE(codec.ok());
    EXPECT_EQ(codec.error().code, ErrorCode::kMalformed);
  }
}

TEST(Factory, MakesTheCodecThatIsNamed) {
  std::set<CodecId> ids;
  for (const std::string& kind : kKinds) {
    EXPECT_TRUE(validate(CodecConfig{.kind = kind}).ok());
    const CodecId id = codec_of(kind)->id();
    EXPECT_TRUE(ids.insert(id).second) << kind;
    EXPECT_EQ(make_codec(id).value()->id(), id);
  }
  EXPECT_EQ(codec_of("int8")->traits().nominal_bits, 8.0625);
}

}  // namespace
}  // namespace hobnob
