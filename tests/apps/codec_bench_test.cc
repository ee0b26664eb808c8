#include "apps/hobnob/codec_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/hobnob/codec_values.h"
#include "compress/codec_config.h"

namespace hobnob {
namespace {

// int8 that notes what it is asked to do.
class WatchedCodec final : public Codec {
 public:
  CodecId id() const override { return inner_->id(); }

  CodecTraits traits() const override { return inner_->traits(); }

  std::size_t max_bytes(std::size_t count, DType type) const override {
    return inner_->max_bytes(count, type);
  }

  std::size_t encode(ConstVec values, RngKey key, Bytes& out) const override {
    ++encoded;
    return inner_->encode(values, key, out);
  }

  std::size_t encode_difference(ConstVec values,
                                ConstVec base,
                                RngKey key,
                                Bytes& out) const override {
    return inner_->encode_difference(values, base, key, out);
  }

  std::size_t encode_advance(ConstVec values, Vec hat, RngKey key, Bytes& out) const override {
    const auto x = values.as<float>();
    const auto y = hat.as<float>();
    std::size_t differing = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      differing += std::abs(x[k] - y[k]) > 0.1F ? 1U : 0U;
    }
    least_differing = std::min(least_differing, differing);
    ++advanced;
    return inner_->encode_advance(values, hat, key, out);
  }

  Result<void> check(ByteSpan bytes, std::size_t count, DType type) const override {
    return inner_->check(bytes, count, type);
  }

  mutable std::size_t encoded = 0;
  mutable std::size_t advanced = 0;
  mutable std::size_t added = 0;  // messages
  mutable std::size_t least_differing = std::numeric_limits<std::size_t>::max();

 protected:
  void add_checked(std::span<const CodecPart> parts, Vec into) const override {
    added += parts.size();
    EXPECT_TRUE(inner_->decode_add(parts, into).ok());
    EXPECT_TRUE(std::ranges::all_of(into.as<float>(), [](float v) { return std::abs(v) < 100; }));
  }

 private:
  std::unique_ptr<Codec> inner_ = make_codec(CodecConfig{.kind = "int8"});
};

TEST(CodecScore, OfAnExactCodecHasNoError) {
  const auto values = draw_values("gauss", 5000, 1);
  const CodecScore score = score_codec(*make_codec(CodecConfig{.kind = "raw"}), "x", values, 1);
  EXPECT_EQ(score.nmse, 0.0);
  EXPECT_EQ(score.snr_db(), std::numeric_limits<double>::infinity());
  EXPECT_GT(score.bits, 32.0) << "headers count";
  EXPECT_LT(score.bits, 33.0);
}

TEST(CodecScore, CountsAPoisonedBlockAsLost) {
  std::vector<float> values(512, 1.0F);
  values[0] = std::numeric_limits<float>::max();  // too large for int8
  const CodecScore score = score_codec(*make_codec(CodecConfig{.kind = "int8"}), "x", values, 1);
  EXPECT_EQ(score.poisoned_blocks, 1U);
  EXPECT_NEAR(score.nmse, 1.0, 1e-12);
}

TEST(CodecStopwatch, EveryFusedPassHasADifferenceToSend) {
  const auto sample = draw_values("gauss", 30000, 1);
  for (const std::size_t values : {std::size_t{300000}, std::size_t{1} << 20U}) {
    for (std::size_t repeat = 1; repeat <= 4; ++repeat) {
      WatchedCodec codec;
      CodecStopwatch stopwatch(sample, {.values = values, .repeat = repeat, .seed = 1});
      stopwatch.time(codec, "fused");
      stopwatch.time(codec, "fused");
      EXPECT_GE(codec.advanced, 2 * repeat);
      EXPECT_GT(codec.least_differing, values / 2) << values << " values, best of " << repeat;
    }
  }
}

TEST(CodecStopwatch, DecodesAsManyMessagesAsItSays) {
  const auto sample = draw_values("gauss", 1000, 1);
  constexpr std::size_t kValues = 1 << 20;  // one pass is timed at once
  for (const auto& [work, messages] : {std::pair{"decode", 1U}, std::pair{"decode4", 4U}}) {
    WatchedCodec codec;
    CodecStopwatch stopwatch(sample, {.values = kValues, .repeat = 2, .seed = 1});
    const CodecSpeed speed = stopwatch.time(codec, work);
    EXPECT_EQ(codec.encoded, messages);
    EXPECT_EQ(codec.added, 2 * messages);
    // int8 of 8.06 bits, and the target loaded and stored.
    EXPECT_NEAR(speed.bytes_per_s / speed.values_per_s, 8 + 1.0081 * messages, 0.01);
    EXPECT_GT(speed.over_twin, 0.0);
    EXPECT_GT(speed.memcpy_bytes_per_s, 0.0);
  }
}

TEST(TrafficTwin, CountsLoadsAndStores) {
  std::vector<float> values(5000, 1.0F);
  std::vector<float> state(5000, 3.0F);
  Bytes message(777);
  EXPECT_EQ((Traffic{.values = values}.bytes()), 20000.0);
  EXPECT_EQ(
      (Traffic{.values = values, .state = state, .in = {message, message}, .out = message}.bytes()),
      20000.0 + 40000.0 + 3 * 777.0);
}

TEST(TrafficTwin, GoesOverEveryArrayToItsEnd) {
  for (const std::size_t count : {1U, 4095U, 4096U, 4097U, 12289U}) {
    const std::vector<float> values(count, 1.0F);
    std::vector<float> state(count, 3.0F);
    Bytes out(count / 3 + 1, std::byte{0xee});
    run_twin({.values = values, .state = state, .out = out});
    EXPECT_TRUE(std::ranges::all_of(state, [](float v) { return v == -1.0F; })) << count;
    EXPECT_TRUE(std::ranges::none_of(out, [](std::byte b) { return b == std::byte{0xee}; }));
    Bytes in(count / 3 + 1);
    const auto fold_of_all = [&] {
      std::vector<float> fresh(count, 3.0F);
      return run_twin({.state = fresh, .in = {in}});
    };
    const std::uint64_t before = fold_of_all();
    in.back() = std::byte{2};
    EXPECT_NE(fold_of_all(), before) << count;
  }
}

}  // namespace
}  // namespace hobnob
