// The fused, vectorised paths against the plain ones, on every instruction set of this machine.

#include "compress/block_kernels.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compress/codec_config.h"
#include "runtime/base/hash.h"

namespace hobnob {
namespace {

const std::vector<std::size_t> kSizes{0, 1, 31, 32, 33, 255, 256, 257, 2100, 65537};

// Runs `test` once for each instruction set that is built and here.
template <typename Test>
void on_every_target(Test test) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Sums of random integers in blocks of very different sizes, with zeros of both signs, ties,
// denormals, one block of zeros and one that is poison.
template <typename T>
std::vector<T> test_values(std::size_t count, std::uint64_t seed) {
  std::vector<T> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t bits = hash3(seed, k, 1);
    const auto sum = static_cast<double>((bits & 0xffffU) + (bits >> 16U & 0xffffU)) - 65535.0;
    const double size = std::ldexp(1.0, static_cast<int>(hash3(seed, k / 256, 2) % 40) - 50);
    values[k] = static_cast<T>(sum * size);
    if (bits % 23 == 0) {
      values[k] = bits % 2 == 0 ? T(0) : -T(0);
    }
    if (k / 256 == 2) {
      values[k] = T(0);
    }
    if (k / 256 == 6) {
      values[k] = static_cast<T>(std::ldexp(sum, -160));
    }
  }
  if (count > 1000) {
    values[1000] = std::numeric_limits<T>::infinity();
  }
  return values;
}

template <typename T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint64_t> bits;
  for (const T value : values) {
    bits.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  }
  return bits;
}

template <typename T>
void expect_fused_paths_equal_plain_ones(const std::string& kind) {
  const auto codec = make_codec(CodecConfig{.kind = kind});
  for (const std::size_t count : kSizes) {
    SCOPED_TRACE(testing::Message() << kind << ", " << count << " values");
    const auto values = test_values<T>(count, 1);
    std::vector<T> base = test_values<T>(count, 2);
    std::ranges::replace_if(
        base, [](T v) { return !std::isfinite(v); }, T(1));
    const RngKey key{.seed = 3, .stream = count};

    std::vector<float> difference(count);
    for (std::size_t k = 0; k < count; ++k) {
      difference[k] = static_cast<float>(values[k] - base[k]);
    }
    Bytes plain;
    const std::size_t poisoned = codec->encode(std::span<const float>(difference), key, plain);
    Bytes fused;
    EXPECT_EQ(
        codec->encode_difference(std::span<const T>(values), std::span<const T>(base), key, fused),
        poisoned);
    ASSERT_EQ(fused, plain);

    std::vector<T> expected = base;
    ASSERT_TRUE(codec->decode_add(plain, 1.0, std::span<T>(expected)).ok());
    Bytes advanced;
    EXPECT_EQ(codec->encode_advance(std::span<const T>(values), std::span<T>(base), key, advanced),
              poisoned);
    ASSERT_EQ(advanced, plain);
    ASSERT_EQ(bits_of(base), bits_of(expected));
  }
}

TEST(BlockKernels, EncodeADifferenceAndAdvanceTheBaseLikeTheLongWay) {
  on_every_target([] {
    for (const std::string& kind : codec_kinds()) {
      if (kind != "raw") {
        expect_fused_paths_equal_plain_ones<float>(kind);
        expect_fused_paths_equal_plain_ones<double>(kind);
      }
    }
  });
}

template <typename T>
void expect_sum_in_one_pass_equals_one_after_the_other(const Codec& codec, std::size_t parts) {
  for (const std::size_t count : kSizes) {
    SCOPED_TRACE(testing::Message() << parts << " parts of " << count << " values");
    std::vector<Bytes> messages(parts);
    std::vector<CodecPart> all;
    std::vector<T> expected = test_values<T>(count, 9);
    std::ranges::replace_if(
        expected, [](T v) { return !std::isfinite(v); }, T(1));
    std::vector<T> sum = expected;
    for (std::size_t p = 0; p < parts; ++p) {
      // The third sends nothing at all.
      const auto values = p == 2 ? std::vector<float>(count) : test_values<float>(count, p);
      codec.encode(std::span<const float>(values), {.seed = p}, messages[p]);
      const double scale = p % 2 == 0 ? 0.3 : -0.21;
      all.push_back({.bytes = messages[p], .scale = scale});
      ASSERT_TRUE(codec.decode_add(messages[p], scale, std::span<T>(expected)).ok());
    }
    ASSERT_TRUE(codec.decode_add(all, std::span<T>(sum)).ok());
    ASSERT_EQ(bits_of(sum), bits_of(expected));
  }
}

TEST(BlockKernels, AddSeveralMessagesInOnePassAsOneAfterTheOther) {
  on_every_target([] {
    for (const std::string& kind : codec_kinds()) {
      if (kind == "raw") {
        continue;
      }
      SCOPED_TRACE(kind);
      const auto codec = make_codec(CodecConfig{.kind = kind});
      for (const std::size_t parts : {1U, 2U, 3U, 5U}) {
        expect_sum_in_one_pass_equals_one_after_the_other<float>(*codec, parts);
      }
      expect_sum_in_one_pass_equals_one_after_the_other<double>(*codec, 4);
    }
  });
}

TEST(BlockKernels, TouchNothingWhenOneOfSeveralMessagesIsMalformed) {
  const auto codec = make_codec(CodecConfig{.kind = "int8"});
  const auto values = test_values<float>(700, 1);
  Bytes good;
  codec->encode(std::span<const float>(values), {}, good);
  Bytes bad = good;
  bad.back() ^= std::byte{1};
  std::vector<float> into(700, 0.5F);
  const std::vector<CodecPart> parts{{good, 1.0}, {bad, 1.0}};
  EXPECT_FALSE(codec->decode_add(parts, std::span<float>(into)).ok());
  EXPECT_EQ(into, std::vector<float>(700, 0.5F));
}

TEST(BlockKernels, GiveTheSameBytesOnEveryInstructionSet) {
  for (const std::string& kind : codec_kinds()) {
    const auto codec = make_codec(CodecConfig{.kind = kind});
    for (const std::size_t count : kSizes) {
      SCOPED_TRACE(testing::Message() << kind << ", " << count << " values");
      const auto values = test_values<float>(count, 4);
      Bytes first;
      on_every_target([&] {
        Bytes bytes;
        codec->encode(std::span<const float>(values), {.seed = 5}, bytes);
        if (first.empty()) {
          first = bytes;
        }
        EXPECT_EQ(bytes == first, true);
      });
    }
  }
}

// What an encoder sends its own decoder takes, and both ends keep the same copy, however large the
// values are: they are poison, or they have a scale that check() knows.
TEST(BlockKernels, SendNothingThatTheirOwnCheckRefuses) {
  for (const std::string& kind : codec_kinds()) {
    const auto codec = make_codec(kind == "eq" ? CodecConfig{.kind = kind, .step = 16.0}
                                               : CodecConfig{.kind = kind});
    for (int exponent = 90; exponent <= 127; ++exponent) {
      for (const bool is_alone : {true, false}) {
        SCOPED_TRACE(testing::Message() << kind << ", just below and at 2^" << exponent
                                        << (is_alone ? ", one value" : ", all values"));
        for (const float value :
             {std::nextafter(std::ldexp(1.0F, exponent), 0.0F), -std::ldexp(1.0F, exponent)}) {
          std::vector<float> values(600, is_alone ? 0.0F : value);
          values[300] = value;
          std::vector<float> hat(600);
          Bytes bytes;
          codec->encode_advance(std::span<const float>(values), std::span<float>(hat), {.seed = 1},
                                bytes);
          std::vector<float> copy(600);
          ASSERT_TRUE(codec->decode_add(bytes, 1.0, std::span<float>(copy)).ok());
          ASSERT_EQ(bits_of(copy), bits_of(hat));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hobnob
