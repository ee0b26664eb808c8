// The bytes on the wire: golden messages, and what decoders refuse.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <string>
#include <vector>

#include "compress/codec_config.h"
#include "compress/element_rules.h"
#include "compress/frame_hash.h"
#include "runtime/base/hash.h"
#include "tests/support/codec_golden.h"

namespace hobnob {
namespace {

const std::vector<std::string>& kKinds = codec_kinds();
constexpr std::size_t kHeader = 64;
constexpr std::size_t kFrameHeader = 16;

std::unique_ptr<Codec> codec_of(const std::string& kind) {
  return make_codec(CodecConfig{.kind = kind});
}

Bytes encode(const std::string& kind, const std::vector<float>& values) {
  Bytes out;
  codec_of(kind)->encode(std::span<const float>(values), {}, out);
  return out;
}

bool is_refused(const Codec& codec, ByteSpan bytes, std::size_t count) {
  std::vector<float> into(count, 0.5F);
  const Result<void> result = codec.decode_add(bytes, 1.0, std::span<float>(into));
  return !result.ok() && result.error().code == ErrorCode::kMalformed &&
         std::ranges::all_of(into, [](float v) { return v == 0.5F; });
}

// Puts the right checksum on the only frame of a message, as a peer with bad intentions would.
void seal_frame(Bytes& bytes) {
  const auto flags = static_cast<std::uint64_t>(bytes[kHeader + 12]);
  const std::uint64_t checksum = frame_hash(ByteSpan(bytes).subspan(kHeader + kFrameHeader), flags);
  std::memcpy(bytes.data() + kHeader, &checksum, sizeof checksum);
}

std::string hex(ByteSpan bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(b) >> 4U];
    text += kDigits[static_cast<unsigned>(b) & 15U];
  }
  return text;
}

TEST(Format, HashesOfBytesAndStateAreGolden) {
  const auto values = golden_values(70000);
  for (const std::string& kind : kKinds) {
    Bytes bytes;
    std::vector<float> hat(values.size(), 0.25F);
    codec_of(kind)->encode_advance(std::span<const float>(values), std::span<float>(hat),
                                   {.seed = 1, .stream = 2}, bytes);
    const std::pair<std::uint64_t, std::uint64_t> found{
        hash_bytes(bytes), hash_bytes(std::as_bytes(std::span<const float>(hat)))};
    const auto golden = kGoldenHashes.find(kind);
    EXPECT_TRUE(golden != kGoldenHashes.end() && found == golden->second)
        << "{\"" << kind << "\", {0x" << std::hex << std::setw(16) << std::setfill('0')
        << found.first << "ULL, 0x" << std::setw(16) << found.second << "ULL}},";
  }
}

TEST(Format, BytesOfAShortInt8MessageAreGolden) {
  // 127 gives scale 1; halves go to even.
  const Bytes bytes = encode("int8", {127.0F, -127.0F, 0.5F, 1.5F, -2.5F, 3.0F});
  ASSERT_EQ(bytes.size(), 64U + 16U + 64U + 128U);
  EXPECT_EQ(hex(ByteSpan(bytes).first(64)),
            "48424344010300100800000000000000"  // magic, version, codec, type, logs
            "06000000000000001001000000000000"  // count, total bytes
            "00000000000000000000000000000000"  // reserved
            "000000000000000048237ba4a3bae1e6"  // reserved, checksum
  );
  EXPECT_EQ(hex(ByteSpan(bytes).subspan(64, 16)), "007cc4848f544e0b0600000000000000");
  EXPECT_EQ(hex(ByteSpan(bytes).subspan(80, 4)), "803f0000");
  EXPECT_EQ(hex(ByteSpan(bytes).subspan(144, 8)), "7f810002fe030000");
}

TEST(Format, MessageOfNothingIsAHeader) {
  for (const std::string& kind : kKinds) {
    const Bytes bytes = encode(kind, {});
    EXPECT_EQ(bytes.size(), kHeader);
    EXPECT_TRUE(is_refused(*codec_of(kind), bytes, 1));
  }
}

TEST(Format, EveryTruncationIsRefused) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    Bytes bytes = encode(kind, golden_values(33));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      // A copy of its own, so that the sanitizer sees reads past the end.
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_TRUE(is_refused(*codec, cut, 33)) << kind << " cut to " << length;
    }
    bytes.push_back(std::byte{0});
    EXPECT_TRUE(is_refused(*codec, bytes, 33)) << kind;
  }
}

TEST(Format, EveryBitFlipIsRefused) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    Bytes bytes = encode(kind, golden_values(33));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_TRUE(is_refused(*codec, bytes, 33)) << kind << " bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_FALSE(is_refused(*codec, bytes, 33));
  }
}

TEST(Format, AnotherCountOrCodecIsRefused) {
  for (const std::string& kind : kKinds) {
    const Bytes bytes = encode(kind, golden_values(33));
    for (const std::size_t count : {0U, 32U, 34U}) {
      EXPECT_TRUE(is_refused(*codec_of(kind), bytes, count)) << kind;
    }
    for (const std::string& other : kKinds) {
      EXPECT_EQ(is_refused(*codec_of(other), bytes, 33), other != kind) << kind << " as " << other;
    }
  }
}

TEST(Format, SwappedFramesAreRefused) {
  Bytes bytes = encode("bf16", golden_values(131072));
  const auto frame = static_cast<std::ptrdiff_t>((bytes.size() - kHeader) / 2);
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(kHeader);
  std::swap_ranges(first, first + frame, first + frame);
  EXPECT_TRUE(is_refused(*codec_of("bf16"), bytes, 131072));
}

TEST(Format, ScalesOutsideTheirRangeAreRefused) {
  const auto codec = codec_of("int8");
  // Infinity, NaN, negative, 2^120, below 2^-100.
  for (const unsigned scale : {0x7f80U, 0x7fc0U, 0xbf80U, 0x7b80U, 0x0d7fU, 0x8000U}) {
    Bytes bytes = encode("int8", golden_values(33));
    bytes[kHeader + kFrameHeader] = static_cast<std::byte>(scale & 0xffU);
    bytes[kHeader + kFrameHeader + 1] = static_cast<std::byte>(scale >> 8U);
    seal_frame(bytes);
    EXPECT_TRUE(is_refused(*codec, bytes, 33)) << scale;
  }
}

TEST(Format, ValuesThatAreNotFiniteAreRefused) {
  for (const std::string kind : {"raw", "fp32", "bf16"}) {
    Bytes bytes = encode(kind, golden_values(33));
    const std::size_t width = kind == "bf16" ? 2 : 4;
    bytes[kHeader + kFrameHeader + width - 1] = std::byte{0x7f};
    bytes[kHeader + kFrameHeader + width - 2] = std::byte{0x80};
    seal_frame(bytes);
    EXPECT_TRUE(is_refused(*codec_of(kind), bytes, 33)) << kind;
  }
}

// Found by the fuzzer: 2^119 x 65504 has no float32.
TEST(Format, AScaleOfFp16WhoseValuesOverflowIsRefused) {
  Bytes bytes = encode("fp16", golden_values(33));
  const auto set_scale = [&](unsigned scale) {
    bytes[kHeader + kFrameHeader] = static_cast<std::byte>(scale & 0xffU);
    bytes[kHeader + kFrameHeader + 1] = static_cast<std::byte>(scale >> 8U);
    seal_frame(bytes);
  };
  for (const unsigned scale : {0x7780U, 0x7b00U}) {
    set_scale(scale);
    EXPECT_TRUE(is_refused(*codec_of("fp16"), bytes, 33)) << scale;
  }
  set_scale(0x7700);
  std::vector<float> into(33);
  ASSERT_TRUE(codec_of("fp16")->decode_add(bytes, 1.0, std::span<float>(into)).ok());
  EXPECT_TRUE(std::ranges::all_of(into, [](float v) { return std::isfinite(v); }));
}

TEST(Format, PaddingAndFalseFlagsAreRefused) {
  for (const std::string& kind : kKinds) {
    const auto codec = codec_of(kind);
    if (!codec->traits().fixed_length) {
      continue;  // varying_frames_test
    }
    const Bytes good = encode(kind, golden_values(33));
    Bytes bytes = good;
    seal_frame(bytes);
    EXPECT_EQ(bytes, good);
    std::uint32_t payload_bytes;
    std::memcpy(&payload_bytes, bytes.data() + kHeader + 8, sizeof payload_bytes);
    if (payload_bytes % 128 != 0) {
      bytes.back() = std::byte{1};
      seal_frame(bytes);
      EXPECT_TRUE(is_refused(*codec, bytes, 33)) << kind << " padding";
    }
    for (const unsigned flags : {1U, 4U, 128U}) {
      bytes = good;
      bytes[kHeader + 12] = static_cast<std::byte>(flags);
      seal_frame(bytes);
      EXPECT_TRUE(is_refused(*codec, bytes, 33)) << kind << " flags " << flags;
    }
  }
  Bytes bytes = encode("int8", golden_values(33));
  bytes[kHeader + kFrameHeader + 2] = std::byte{1};  // beside the only scale
  seal_frame(bytes);
  EXPECT_TRUE(is_refused(*codec_of("int8"), bytes, 33));
}

TEST(ElementRules, RoundBf16AsDefined) {
  using namespace element;
  EXPECT_EQ(bf16_nearest(1.0F), 0x3f80);
  EXPECT_EQ(bf16_nearest(float_of(0x7fc12345U)), 0x7fff);
  EXPECT_EQ(bf16_nearest(float_of(0xff800001U)), 0x7fff);
  EXPECT_EQ(bf16_nearest(float_of(0xff800000U)), 0xff80);
  EXPECT_EQ(bf16_nearest(float_of(kBf16Poison - 1)), 0x7f7f);
  EXPECT_EQ(bf16_nearest(float_of(kBf16Poison)), 0x7f80);
  EXPECT_EQ(bf16_nearest(float_of(0x00018000U)), 0x0002);
  EXPECT_EQ(bf16_up(1.0F), 0x3f80);
  EXPECT_EQ(bf16_up(float_of(0x3f800001U)), 0x3f81);
  EXPECT_EQ(bf16_up(0.0F), 0);
}

TEST(ElementRules, NeverGiveAnInt8AboveItsRange) {
  using namespace element;
  // Largest magnitudes over all exponents, with mantissas near the edges of bf16's.
  for (std::uint32_t bits = 0; bits < kInt8Poison; bits += 0x7ff3U) {
    const float value = float_of(bits);
    const std::uint16_t scale = int8_scale(bits);
    ASSERT_TRUE(is_scale(scale)) << bits;
    const int q = int8_nearest(value, int8_inverse(scale));
    ASSERT_TRUE(scale == 0 ? q == 0 : q >= 126 && q <= 127) << bits << " " << q;
  }
  EXPECT_TRUE(is_scale(int8_scale(kInt8Poison - 1)));
}

}  // namespace
}  // namespace hobnob
