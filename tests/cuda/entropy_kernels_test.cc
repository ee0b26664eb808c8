// The CUDA kernels of eq, lane by lane on the CPU: the bytes and the state of EntropyCodec.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compress/entropy_codec.h"
#include "compress/varying_frames.h"
#include "runtime/base/rng.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/kernel_samples.h"
#include "tests/support/codec_golden.h"

namespace hobnob {
namespace {

struct Found {
  std::vector<std::byte> bytes;
  unsigned poisoned = 0;
};

Found encode(const EntropyConfig& config,
             const std::vector<float>& values,
             const float* base,
             float* advance,
             std::uint64_t seed) {
  const EntropyCodec codec(config);
  const std::size_t frames = message::frames_of(values.size());
  MessageBuffer message(codec.max_bytes(values.size(), DType::kFloat32));
  MessageBuffer scratch(2 * gpu::kFrameScratch);
  std::vector<std::uint64_t> offsets(frames + 1);
  unsigned ticket = 0;
  Found found;
  encode_emulated({.values = values.data(),
                   .base = base,
                   .advance = advance,
                   .count = values.size(),
                   .step = static_cast<float>(config.step),
                   .rounding = static_cast<float>(config.rounding),
                   .out = {.message = message.data(),
                           .offsets = offsets.data(),
                           .ticket = &ticket,
                           .poisoned = &found.poisoned},
                   .scratch = scratch.data()},
                  seed);
  const std::size_t total = frames == 0 ? message::kHeaderBytes : offsets[frames];
  message::write_varying_header(CodecId::kEntropy, values.size(), {}, total, message.data());
  found.bytes.assign(message.data(), message.data() + total);
  return found;
}

std::vector<float> bell(std::size_t count, float tail) {
  Rng rng({.seed = 4, .stream = count});
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(rng.normal());
    value *= rng.uniform() < 0.01 ? tail : 1.0F;
  }
  return values;
}

std::vector<std::vector<float>> samples() {
  std::vector<std::vector<float>> samples = kernel_samples();
  samples.push_back(bell(65536 + 4095, 1.0F));  // the last stream has few lanes
  samples.push_back(bell(40000, 500.0F));       // many escapes
  samples.push_back(bell(4096, 1e6F));
  return samples;
}

TEST(EntropyKernels, EncodeTheBytesOfTheCpu) {
  for (const EntropyConfig& config :
       {EntropyConfig{.step = 0.5}, EntropyConfig{.step = 2.0, .rounding = 0.4}}) {
    for (const std::vector<float>& values : samples()) {
      Bytes expected;
      const std::size_t poisoned =
          EntropyCodec(config).encode(std::span<const float>(values), {}, expected);
      const Found found = encode(config, values, nullptr, nullptr, values.size() % 3);
      EXPECT_TRUE(std::ranges::equal(found.bytes, expected)) << values.size();
      EXPECT_EQ(found.poisoned, poisoned) << values.size();
    }
  }
}

TEST(EntropyKernels, AdvanceTheBaseLikeTheCpu) {
  for (const std::vector<float>& values : samples()) {
    std::vector<float> hat(values.size());
    for (std::size_t k = 0; k < hat.size(); ++k) {
      hat[k] = k % 5 == 0 ? -0.0F : 0.01F * static_cast<float>(k % 7);
    }
    std::vector<float> expected_hat = hat;
    Bytes expected;
    EntropyCodec({}).encode_advance(std::span<const float>(values), std::span<float>(expected_hat),
                                    {}, expected);
    const Found found = encode({}, values, hat.data(), hat.data(), 3);
    EXPECT_TRUE(std::ranges::equal(found.bytes, expected)) << values.size();
    EXPECT_TRUE(same_bits(hat, expected_hat)) << values.size();
  }
}

TEST(EntropyKernels, DecodeLikeTheCpu) {
  for (const std::vector<float>& values : samples()) {
    Bytes bytes;
    EntropyCodec({}).encode(std::span<const float>(values), {}, bytes);
    MessageBuffer message(bytes.size());
    std::ranges::copy(bytes, message.data());
    std::vector<std::uint64_t> offsets;
    std::uint64_t at = message::kHeaderBytes;
    for (const auto& frame : message::split_frames(bytes, values.size()).frames) {
      offsets.push_back(at);
      at += message::kFrameHeaderBytes + message::round_up(frame.body.size(), 16);
    }
    std::vector<float> expected(values.size(), -0.0F);
    std::vector<float> found = expected;
    ASSERT_TRUE(EntropyCodec({}).decode_add(bytes, 0.3, std::span<float>(expected)).ok());
    MessageBuffer scratch(2 * gpu::kFrameScratch);
    decode_add_emulated(gpu::EntropyDecodeJob{.message = message.data(),
                                              .offsets = offsets.data(),
                                              .count = values.size(),
                                              .factor = 0.3F,
                                              .into = found.data(),
                                              .scratch = scratch.data()},
                        values.size() % 4);
    EXPECT_TRUE(same_bits(found, expected)) << values.size();
  }
}

TEST(EntropyKernels, HaveTheGoldenHashes) {
  const std::vector<float> values = golden_values();
  std::vector<float> hat(values.size(), 0.25F);
  const Found found = encode({}, values, hat.data(), hat.data(), 1);
  const auto golden = kGoldenHashes.at("eq");
  EXPECT_EQ(hash_bytes(found.bytes), golden.first);
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(hat))), golden.second);
}

}  // namespace
}  // namespace hobnob
