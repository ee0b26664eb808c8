#include "compress/varying_frames.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compress/frame_hash.h"
#include "runtime/base/hash.h"

namespace hobnob::message {
namespace {

constexpr CodecId kCodec = CodecId::kTopK;

Bytes body_of(std::size_t size) {
  Bytes body(size);
  for (std::size_t k = 0; k < size; ++k) {
    body[k] = static_cast<std::byte>(k + 1);
  }
  return body;
}

Parameters some_parameters() {
  Parameters parameters{};
  parameters[0] = std::byte{1};
  parameters[23] = std::byte{2};
  return parameters;
}

Bytes write(std::size_t count, const std::vector<std::size_t>& sizes) {
  Bytes out;
  VaryingWriter writer(kCodec, count, some_parameters(), out);
  for (const std::size_t size : sizes) {
    writer.append_frame(body_of(size), size % 2 == 1);
  }
  writer.finish();
  return out;
}

TEST(VaryingFrames, GivesBackWhatWasWritten) {
  const Bytes bytes = write(140000, {17, 0, 16});
  EXPECT_EQ(bytes.size(), 64U + 3 * 16 + 32 + 0 + 16);
  EXPECT_LE(bytes.size(), max_varying_bytes(140000, 33));
  const auto read = check_frames(bytes, kCodec, 140000, 17);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().parameters, some_parameters());
  ASSERT_EQ(read.value().frames.size(), 3U);
  EXPECT_TRUE(std::ranges::equal(read.value().frames[0].body, body_of(17)));
  EXPECT_TRUE(read.value().frames[1].body.empty());
  EXPECT_EQ(read.value().frames[2].start, 131072U);
  EXPECT_EQ(read.value().frames[2].count, 8928U);
}

TEST(VaryingFrames, FlagsTellZerosAndPoison) {
  const Bytes bytes = write(140000, {17, 0, 16});
  EXPECT_EQ(bytes[64 + 12], std::byte{2});
  EXPECT_EQ(bytes[64 + 48 + 12], std::byte{1});
  EXPECT_EQ(bytes[64 + 64 + 12], std::byte{0});
}

TEST(VaryingFrames, RefusesLongerBodiesThanAllowed) {
  EXPECT_FALSE(check_frames(write(10, {17}), kCodec, 10, 16).ok());
}

TEST(VaryingFrames, RefusesEveryCutFlipAndMistake) {
  const Bytes good = write(70000, {17, 5});
  const auto is_refused = [](const Bytes& bytes, std::size_t count) {
    const auto read = check_frames(bytes, kCodec, count, 1000);
    return !read.ok() && read.error().code == ErrorCode::kMalformed;
  };
  ASSERT_FALSE(is_refused(good, 70000));
  for (std::size_t length = 0; length < good.size(); ++length) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_TRUE(is_refused(cut, 70000));
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_TRUE(is_refused(bytes, 70000)) << bit;
  }
  EXPECT_TRUE(is_refused(good, 70001));
  EXPECT_TRUE(is_refused(good, 10));
  EXPECT_FALSE(check_frames(good, CodecId::kRandomK, 70000, 1000).ok());
  Bytes longer = good;
  longer.resize(longer.size() + 16);
  EXPECT_TRUE(is_refused(longer, 70000));
}

TEST(VaryingFrames, ReservesNothingForAMessageTooShort) {
  const Bytes header = write(0, {});
  EXPECT_EQ(header.size(), kHeaderBytes);
  EXPECT_TRUE(check_frames(header, kCodec, 0, 0).ok());
  EXPECT_FALSE(check_frames(header, kCodec, std::size_t{1} << 60U, 1000).ok());
}

TEST(VaryingFrames, RefusesSealedFramesWithFalseFlagsOrPadding) {
  const auto sealed = [](Bytes bytes) {
    std::uint32_t flags = 0;
    std::memcpy(&flags, bytes.data() + 64 + 12, sizeof flags);
    const std::uint64_t frame = frame_hash(ByteSpan(bytes).subspan(80, 15), flags);
    std::memcpy(bytes.data() + 64, &frame, sizeof frame);
    return bytes;
  };
  const Bytes good = write(10, {15});
  ASSERT_TRUE(check_frames(sealed(good), kCodec, 10, 100).ok());
  for (const unsigned flags : {1U, 4U, 8U}) {
    Bytes bytes = good;
    bytes[64 + 12] = static_cast<std::byte>(flags);
    EXPECT_FALSE(check_frames(sealed(bytes), kCodec, 10, 100).ok());
  }
  Bytes padded = good;
  padded[64 + 16 + 15] = std::byte{1};
  EXPECT_FALSE(check_frames(sealed(padded), kCodec, 10, 100).ok());
}

}  // namespace
}  // namespace hobnob::message
