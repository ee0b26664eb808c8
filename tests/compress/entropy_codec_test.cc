#include "compress/entropy_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compress/codec_config.h"
#include "compress/frame_hash.h"
#include "compress/quantizer.h"
#include "runtime/base/hash.h"
#include "tests/support/codec_sources.h"

namespace hobnob {
namespace {

struct Loss {
  double bits = 0.0;
  double snr = 0.0;
};

Loss loss_of(const Codec& codec, const std::vector<float>& values) {
  Bytes bytes;
  codec.encode(std::span<const float>(values), {}, bytes);
  std::vector<float> decoded(values.size());
  EXPECT_TRUE(codec.decode_add(bytes, 1.0, std::span<float>(decoded)).ok());
  double signal = 0.0;
  double noise = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double error = static_cast<double>(decoded[k]) - static_cast<double>(values[k]);
    signal += static_cast<double>(values[k]) * static_cast<double>(values[k]);
    noise += error * error;
  }
  return {8.0 * static_cast<double>(bytes.size()) / static_cast<double>(values.size()),
          10.0 * std::log10(signal / noise)};
}

struct Row {
  double step;
  double rounding;
  const char* source;
  double bits;
  double snr;
};

// Measured by an independent implementation with its own random numbers.
constexpr Row kTable[] = {
    {0.34, 0.5, "gauss", 3.62, 20.3},  {0.34, 0.5, "laplace", 3.52, 20.3},
    {0.34, 0.5, "t3", 3.35, 20.3},     {0.5, 0.5, "gauss", 3.06, 16.9},
    {0.5, 0.5, "laplace", 2.97, 17.0}, {0.5, 0.5, "t3", 2.80, 17.0},
    {1.0, 0.5, "gauss", 2.11, 11.1},   {1.0, 0.5, "laplace", 2.02, 11.4},
    {1.0, 0.5, "t3", 1.87, 11.4},      {2.0, 0.4, "gauss", 1.02, 4.7},
    {2.0, 0.4, "laplace", 0.93, 5.5},  {2.0, 0.4, "t3", 0.76, 5.6},
    {3.0, 0.5, "gauss", 0.70, 3.0},    {3.0, 0.5, "laplace", 0.66, 4.0},
    {3.0, 0.5, "t3", 0.51, 4.4},
};

TEST(EntropyCodec, LosesWhatTheTableSays) {
  for (const Row& row : kTable) {
    SCOPED_TRACE(testing::Message() << row.source << ", step " << row.step);
    const Loss loss =
        loss_of(EntropyCodec({row.step, row.rounding}), codec_source(row.source, 1U << 19U, 1));
    EXPECT_NEAR(loss.bits, row.bits, std::max(0.02 * row.bits, 0.05));
    EXPECT_NEAR(loss.snr, row.snr, 0.3);
  }
}

// Order-0 entropy of the levels themselves. 0.031 bits are states, 0.006 the model and headers, the
// rest what a sample misses and, of t3 with a fine step, escapes.
TEST(EntropyCodec, StaysNearTheEntropy) {
  for (const char* source : {"gauss", "laplace", "t3"}) {
    for (const double step : {0.34, 0.5, 1.0, 2.0}) {
      SCOPED_TRACE(testing::Message() << source << ", step " << step);
      const std::vector<float> values = codec_source(source, 1U << 18U, 2);
      std::vector<double> counts(4001);
      for (std::size_t start = 0; start < values.size(); start += 65536) {
        const std::span<const float> frame(values.data() + start, 65536);
        const LevelModel model =
            fit_levels(frame, largest_magnitude(frame), {static_cast<float>(step), 0.5F});
        for (const float value : frame) {
          const double level = std::clamp(std::round(value / model.step), -2000.0F, 2000.0F);
          counts[static_cast<std::size_t>(level + 2000.0)] += 1.0;
        }
      }
      double entropy = 0.0;
      for (const double count : counts) {
        const double p = count / static_cast<double>(values.size());
        entropy -= p > 0.0 ? p * std::log2(p) : 0.0;
      }
      EXPECT_LE(loss_of(EntropyCodec({step, 0.5}), values).bits,
                entropy + (step < 0.5 ? 0.047 : 0.041));
    }
  }
}

TEST(EntropyCodec, SendsOutliersAsEscapes) {
  std::vector<float> values = codec_source("gauss", 20000, 3);
  values[777] = 5000.0F;
  values[19999] = -1e9F;
  const EntropyCodec codec({0.5, 0.5});
  Bytes bytes;
  EXPECT_EQ(codec.encode(std::span<const float>(values), {}, bytes), 0U);
  std::vector<float> decoded(values.size());
  ASSERT_TRUE(codec.decode_add(bytes, 1.0, std::span<float>(decoded)).ok());
  // The sample may or may not see the outlier, which decides the step.
  EXPECT_NEAR(decoded[19999], -1e9F, 1e7F);
  EXPECT_LE(bytes.size(), codec.max_bytes(values.size(), DType::kFloat32));
}

TEST(EntropyCodec, DecodesConstantsZerosAndDenormals) {
  for (const float value : {0.0F, -0.0F, 3.0F, -0x1.0p-140F, 0x1.0p90F}) {
    for (const std::size_t count : {1U, 31U, 256U, 4096U, 65537U}) {
      SCOPED_TRACE(testing::Message() << count << " times " << value);
      const std::vector<float> values(count, value);
      const EntropyCodec codec({0.5, 0.5});
      Bytes bytes;
      codec.encode(std::span<const float>(values), {}, bytes);
      std::vector<float> decoded(count);
      ASSERT_TRUE(codec.decode_add(bytes, 1.0, std::span<float>(decoded)).ok());
      for (const float each : decoded) {
        ASSERT_NEAR(each, std::abs(value) < 0x1p-90F ? 0.0F : value, std::abs(value) * 0.26F);
      }
    }
  }
}

TEST(EntropyCodec, RefusesOrDecodesEveryTruncationBitFlipAndForgedBody) {
  const EntropyCodec codec({0.5, 0.5});
  for (const std::size_t count : {33U, 5000U}) {
    const std::vector<float> values = codec_source("t3", count, 4);
    Bytes bytes;
    codec.encode(std::span<const float>(values), {}, bytes);
    std::vector<float> into(count, 0.5F);
    for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 300) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_FALSE(codec.decode_add(cut, 1.0, std::span<float>(into)).ok()) << length;
    }
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 1 + bit / 900) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_FALSE(codec.decode_add(bytes, 1.0, std::span<float>(into)).ok()) << bit;
      // As a peer with bad intentions would: with the right checksum.
      Bytes forged = bytes;
      std::uint32_t payload;
      std::memcpy(&payload, forged.data() + 64 + 8, sizeof payload);
      if (bit / 8 >= 80 && bit / 8 < 80 + payload) {
        const std::uint64_t checksum = frame_hash(ByteSpan(forged).subspan(80, payload), 0);
        std::memcpy(forged.data() + 64, &checksum, sizeof checksum);
        std::vector<float> sum(count, 0.5F);
        if (codec.decode_add(forged, 1.0, std::span<float>(sum)).ok()) {
          ASSERT_TRUE(std::ranges::all_of(sum, [](float v) { return std::isfinite(v); })) << bit;
        }
      }
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(into, std::vector<float>(count, 0.5F));
  }
}

TEST(EntropyCodec, SmallVectorsCostLittleMoreThanLargeOnes) {
  const EntropyCodec codec({1.0, 0.5});
  const Loss small = loss_of(codec, codec_source("gauss", 1024, 5));
  const Loss large = loss_of(codec, codec_source("gauss", 1U << 18U, 5));
  // Header, frame header, 4 states and the model.
  EXPECT_LE(small.bits, large.bits + 8.0 * (64 + 16 + 20 + 60) / 1024);
}

}  // namespace
}  // namespace hobnob
