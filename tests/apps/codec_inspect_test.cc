#include "apps/hobnob/codec_inspect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "apps/hobnob/codec_spec.h"
#include "compress/message.h"
#include "runtime/base/rng.h"

namespace hobnob {
namespace {

template <typename T>
std::vector<T> some_values(std::size_t count) {
  Rng rng({.seed = 3});
  std::vector<T> values(count);
  std::ranges::generate(values, [&] { return static_cast<T>(rng.normal()); });
  return values;
}

template <typename T>
Bytes message_of(const std::string& spec, const std::vector<T>& values) {
  Bytes message;
  make_codec(parse_codec_spec(spec, "test").value())
      ->encode(std::span<const T>(values), {}, message);
  return message;
}

TEST(Inspect, FollowsTheFramesOfEveryCodec) {
  for (const std::string& kind : codec_kinds()) {
    for (const std::size_t count : {0U, 1U, 255U, 65536U, 65537U, 140000U}) {
      const Bytes message = message_of(kind, some_values<float>(count));
      const MessageReport report = inspect_message(message);
      EXPECT_TRUE(report.problems.empty()) << kind << " " << count;
      EXPECT_TRUE(report.header_checksum_holds);
      EXPECT_EQ(report.header.count, count);
      EXPECT_EQ(report.header.total_bytes, message.size());
      if (is_low_rank(report.codec->id())) {
        EXPECT_TRUE(report.frames.empty());
        ASSERT_TRUE(report.factors.has_value());
        EXPECT_GE(report.factors->rows * report.factors->columns, count);
        continue;
      }
      ASSERT_EQ(report.frames.size(), (count + 65535) / 65536) << kind << " " << count;
      std::size_t values = 0;
      for (const FrameReport& frame : report.frames) {
        EXPECT_TRUE(frame.checksum_holds) << kind << " " << count;
        values += frame.fields.count;
      }
      EXPECT_EQ(values, count);
    }
  }
}

TEST(Inspect, DecodesBothTypesOfRaw) {
  const auto values = some_values<double>(300);
  const Bytes message = message_of("raw", values);
  EXPECT_EQ(inspect_message(message).type, DType::kFloat64);
  EXPECT_EQ(decode_message(message, "m").value(), std::vector<float>(values.begin(), values.end()));
}

TEST(Inspect, CountsThePoisonedBlocks) {
  for (const std::string& kind : codec_kinds()) {
    if (kind == "random-k" || kind == "binomial") {
      continue;  // one looks at the values that it sends only, the other covers them with noise
    }
    auto values = some_values<float>(1500);
    values[300] = std::numeric_limits<float>::quiet_NaN();
    values[1499] = std::numeric_limits<float>::infinity();
    const MessageReport report = inspect_message(message_of(kind, values));
    ASSERT_TRUE(report.problems.empty());
    if (is_low_rank(report.codec->id())) {
      continue;  // its messages do not say
    }
    EXPECT_EQ(report.frames[0].fields.flags, message::kPoison) << kind;
    EXPECT_GE(report.zero_blocks, 2U) << kind;  // a sparse codec sends others as zeros too
  }
}

TEST(Inspect, SaysWhyOnlyTheCodecRefuses) {
  Bytes message = message_of("int8", some_values<float>(300));
  message[message::kHeaderBytes + message::kFrameHeaderBytes + 1] = std::byte{0xff};  // a scale
  const auto codec = make_codec(CodecId::kInt8);
  message::seal(*codec.value(), 300, DType::kFloat32, message);
  const MessageReport report = inspect_message(message);
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(report.problems[0].field, "body");
  const auto values = decode_message(message, "x.msg");
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.error().message.rfind("x.msg: body at byte 64: ", 0), 0U);
}

TEST(Inspect, SealingAGoodMessageChangesNothing) {
  for (const std::string& kind : codec_kinds()) {
    const Bytes good = message_of(kind, some_values<float>(70000));
    Bytes sealed = good;
    const auto codec = make_codec(parse_codec_spec(kind, "test").value());
    message::seal(*codec, 70000, DType::kFloat32, sealed);
    EXPECT_EQ(sealed, good) << kind;
  }
}

TEST(Inspect, HasAReportForAnyBytes) {
  for (const std::string& kind : codec_kinds()) {
    const Bytes good = message_of(kind, some_values<float>(300));
    for (std::size_t length = 0; length < good.size(); ++length) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_FALSE(inspect_message(cut).problems.empty()) << kind << " cut to " << length;
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
      Bytes bad = good;
      bad[at] ^= std::byte{0x10};
      const MessageReport report = inspect_message(bad);
      ASSERT_FALSE(report.problems.empty()) << kind << " byte " << at;
      EXPECT_LE(report.problems[0].offset, at < 64 ? 56U : 64U + 12U);
    }
  }
}

}  // namespace
}  // namespace hobnob
