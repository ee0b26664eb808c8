#include "compress/sparse_codec.h"

#include "compress/dgc_rules.h"
#include "tests/compress/sparse_samples.h"

namespace hobnob {
namespace {

const std::vector<TopKConfig> kConfigs{{.density = 0.01},
                                       {.density = 0.1},
                                       {.density = 1.0},
                                       {.density = 0.1, .selection = TopKConfig::Selection::kDgc}};

std::size_t kept_bytes(const Bytes& bytes, std::size_t blocks) {
  std::size_t sum = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    sum += static_cast<std::size_t>(bytes[kHeader + kFrameHeader + block]);
  }
  return sum;
}

TEST(TopK, HasTheMannersOfACodec) {
  for (const TopKConfig& config : kConfigs) {
    SCOPED_TRACE(config.density);
    expect_codec_manners(TopKCodec(config));
    expect_differences_are_fused(TopKCodec(config));
  }
}

TEST(TopK, SendsTheLargestValuesWithinHalfAScale) {
  const std::vector<float> values = bell_values(1000);
  const TopKCodec codec({.density = 0.05});
  const Bytes bytes = encode(codec, values);
  EXPECT_EQ(kept_bytes(bytes, 4), 50U);
  const std::vector<float> decoded = decode(codec, bytes, 1000);
  std::vector<float> sorted = values;
  std::ranges::sort(sorted, std::greater{}, [](float v) { return std::abs(v); });
  const float least = std::abs(sorted[49]);
  const float half_scale = std::abs(sorted[0]) / 127 * (0.5F + 0x1.0p-7F);
  for (std::size_t k = 0; k < 1000; ++k) {
    const float expected = std::abs(values[k]) >= least ? values[k] : 0.0F;
    EXPECT_NEAR(decoded[k], expected, half_scale);
  }
}

TEST(TopK, IsAContraction) {
  // |v - Q(v)|^2 <= (1 - k / d) |v|^2, and the int8 rounding of k values besides.
  constexpr std::size_t kCount = 100;
  const TopKCodec codec({.density = 0.1});
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<float> values = random_values(static_cast<Source>(seed % 3), kCount, seed);
    const double lost = squared_error(values, decode(codec, encode(codec, values), kCount));
    const auto largest = static_cast<double>(
        std::abs(*std::ranges::max_element(values, {}, [](float v) { return std::abs(v); })));
    const double half_scale = largest / 127 * (0.5 + 0x1.0p-7);
    ASSERT_LE(lost, 0.9 * squared_norm(values) + 10 * half_scale * half_scale);
  }
}

struct Row {
  Source source;
  double snr;  // dB
};

void expect_rate_and_distortion(double density, double bits, const std::vector<Row>& rows) {
  constexpr std::size_t kCount = 1U << 19U;
  const TopKCodec codec({.density = density});
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.source));
    const std::vector<float> values = random_values(row.source, kCount, 3);
    const Bytes bytes = encode(codec, values);
    EXPECT_NEAR(8.0 * static_cast<double>(bytes.size()) / kCount, bits, 0.02 * bits);
    EXPECT_NEAR(codec.traits().nominal_bits, bits, 0.02 * bits);
    const double lost = squared_error(values, decode(codec, bytes, kCount));
    EXPECT_NEAR(-10.0 * std::log10(lost / squared_norm(values)), row.snr, 0.3);
  }
}

TEST(TopK, TakesTheBitsAndGivesTheErrorOfTheTable) {
  expect_rate_and_distortion(
      0.1, 1.64, {{Source::kGauss, 2.5}, {Source::kLaplace, 3.9}, {Source::kStudent3, 5.3}});
  expect_rate_and_distortion(
      0.01, 0.193, {{Source::kGauss, 0.38}, {Source::kLaplace, 0.76}, {Source::kStudent3, 1.9}});
}

TEST(TopK, LeavesOneOfAFullBlockOut) {
  std::vector<float> values = bell_values(768);
  for (std::size_t k = 256; k < 512; ++k) {
    values[k] += 1000.0F;
  }
  values[300] = 900.0F;  // the smallest of the full block
  const TopKCodec codec({.density = 0.5});
  const Bytes bytes = encode(codec, values);
  EXPECT_EQ(bytes[kHeader + kFrameHeader + 1], std::byte{255});
  const std::vector<float> decoded = decode(codec, bytes, 768);
  EXPECT_EQ(decoded[300], 0.0F);
  EXPECT_NEAR(decoded[299], values[299], 8.0F);
  EXPECT_NEAR(decoded[511], values[511], 8.0F);
}

TEST(TopK, SendsAPoisonedBlockAsZerosAndHarmsNoOther) {
  for (const TopKConfig& config : kConfigs) {
    std::vector<float> values = bell_values(70000);
    values[300] = kNan;
    values[69999] = kInfinity;
    const TopKCodec codec(config);
    const Bytes bytes = encode(codec, values, 2);
    EXPECT_EQ(bytes[kHeader + 12], std::byte{2});  // poison flag of the first frame
    const std::vector<float> decoded = decode(codec, bytes, 70000);
    EXPECT_GT(nonzeros(decoded), 200U);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_poisoned = k / 256 == 1 || k / 256 == 69999 / 256;
      ASSERT_TRUE(std::isfinite(decoded[k]) && (!is_poisoned || decoded[k] == 0.0F));
    }
  }
}

TEST(TopK, ReturnsWhatItLost) {
  for (const TopKConfig& config : kConfigs) {
    expect_conservation<float>(TopKCodec(config), 1e-6);
    expect_conservation<double>(TopKCodec(config), 1e-12);
  }
}

TEST(TopK, DgcSendsWithinItsBounds) {
  const TopKCodec codec({.density = 0.01, .selection = TopKConfig::Selection::kDgc});
  const std::vector<float> values = bell_values(60000);
  for (std::uint64_t stream = 0; stream < 20; ++stream) {
    const std::size_t kept =
        kept_bytes(encode(codec, values, 0, {.seed = 1, .stream = stream}), 235);
    EXPECT_GE(kept, 480U);
    EXPECT_LE(kept, 780U);
  }
}

TEST(TopK, MarksWhatWasSentForMomentumMasking) {
  const std::vector<float> values = bell_values(70000);
  const TopKCodec codec({.density = 0.02});
  const Bytes bytes = encode(codec, values);
  const std::vector<float> decoded = decode(codec, bytes, 70000);
  std::vector<std::uint64_t> mask((70000 + 63) / 64, 7);
  ASSERT_TRUE(codec.mark_sent(bytes, 70000, mask).ok());
  std::vector<float> momentum(70000, 1.0F);
  clear_marked(mask, std::span<float>(momentum));
  for (std::size_t k = 0; k < 70000; ++k) {
    ASSERT_EQ(momentum[k], decoded[k] != 0.0F ? 0.0F : 1.0F);
  }
  const std::vector<std::uint64_t> before = mask;
  EXPECT_FALSE(codec.mark_sent(ByteSpan(bytes).first(100), 70000, mask).ok());
  EXPECT_EQ(mask, before);
}

TEST(TopK, HostileBytesAreHarmless) {
  expect_hostile_bytes_are_harmless(TopKCodec(),
                                    encode(TopKCodec({.density = 0.1}), bell_values(300)), 300);
}

TEST(TopK, RefusesWhatNoEncoderSends) {
  const TopKCodec codec({.density = 0.09});
  const Bytes good = encode(codec, bell_values(300));  // 2 counts, 1 scale, 27 indices, 27 values
  const std::size_t body = kHeader + kFrameHeader;
  const auto expect_refused = [&](std::size_t at, unsigned value, const char* what) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    seal(bytes);
    EXPECT_TRUE(is_refused(codec, bytes, 300)) << what;
  };
  expect_refused(32, 1, "a parameter");
  expect_refused(body, 255, "counts that do not add up");
  expect_refused(body + 3, 0x7f, "a scale that is no number");
  expect_refused(body + 4 + 1, static_cast<unsigned>(good[body + 4]), "an index twice");
  expect_refused(body + 4 + 26, 44, "an index past the end");
  expect_refused(body + 4 + 27, 0x80, "-128");
  expect_refused(good.size() - 1, 1, "padding");
}

TEST(TopK, BytesAreAlikeForAllTargets) {
  expect_targets_agree(TopKCodec({.density = 0.03}), 70001);
}

TEST(TopK, HashesAreGolden) {
  const std::vector<float> values = bell_values(70000);
  EXPECT_EQ(hash_bytes(encode(TopKCodec({.density = 0.01}), values)), 0x5b7c0f938d446832ULL);
  EXPECT_EQ(hash_bytes(encode(TopKCodec(kConfigs[3]), values, 0, {.seed = 1, .stream = 2})),
            0xbfb520e5d55b72b2ULL);
}

}  // namespace
}  // namespace hobnob
