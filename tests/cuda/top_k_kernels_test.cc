// The CUDA kernels of top-k, lane by lane on the CPU: the bytes and the state of TopKCodec.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "compress/sparse_codec.h"
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

Found encode(double density,
             const std::vector<float>& values,
             const float* base,
             float* advance,
             std::uint64_t seed) {
  const std::size_t frames = message::frames_of(values.size());
  MessageBuffer message(TopKCodec({.density = density}).max_bytes(values.size(), DType::kFloat32));
  MessageBuffer scratch(2 * gpu::kFrameScratch);
  std::vector<std::uint64_t> offsets(frames + 1);
  std::vector<std::uint64_t> ties_before(frames + 1);
  const auto cut = std::make_unique<gpu::TopKCut>();
  unsigned ticket = 0;
  Found found;
  encode_emulated({.values = values.data(),
                   .base = base,
                   .advance = advance,
                   .count = values.size(),
                   .kept = kept_count(density, values.size()),
                   .cut = cut.get(),
                   .ties_before = ties_before.data(),
                   .out = {.message = message.data(),
                           .offsets = offsets.data(),
                           .ticket = &ticket,
                           .poisoned = &found.poisoned},
                   .scratch = scratch.data()},
                  seed);
  const std::size_t total = frames == 0 ? message::kHeaderBytes : offsets[frames];
  message::write_varying_header(CodecId::kTopK, values.size(), {}, total, message.data());
  found.bytes.assign(message.data(), message.data() + total);
  return found;
}

// With many values equal to the k-th, over frames and within blocks that are sent whole.
std::vector<std::vector<float>> samples() {
  std::vector<std::vector<float>> samples = kernel_samples();
  std::vector<float> ties(2 * 65536 + 700);
  for (std::size_t k = 0; k < ties.size(); ++k) {
    ties[k] = (mix64(k) % 2 == 0 ? 1.0F : -1.0F) * (mix64(k) % 50 == 1 ? 2.0F : 1.0F);
  }
  samples.push_back(ties);
  samples.emplace_back(3000, 0.5F);
  Rng rng({.seed = 8, .stream = 1});
  std::vector<float> bell(9000);
  std::ranges::generate(bell, [&] { return static_cast<float>(rng.normal()); });
  std::ranges::fill(std::span(bell).subspan(512, 256), 9.0F);
  bell[600] = -8.0F;  // the one of its block that is left out
  samples.push_back(bell);
  return samples;
}

TEST(TopKKernels, EncodeTheBytesOfTheCpu) {
  for (const double density : {0.01, 0.1, 1.0}) {
    for (const std::vector<float>& values : samples()) {
      SCOPED_TRACE(testing::Message() << values.size() << " values, density " << density);
      Bytes expected;
      const std::size_t poisoned =
          TopKCodec({.density = density}).encode(std::span<const float>(values), {}, expected);
      const Found found = encode(density, values, nullptr, nullptr, values.size() % 3);
      EXPECT_TRUE(std::ranges::equal(found.bytes, expected));
      EXPECT_EQ(found.poisoned, poisoned);
    }
  }
}

TEST(TopKKernels, AdvanceTheBaseLikeTheCpu) {
  for (const std::vector<float>& values : samples()) {
    SCOPED_TRACE(values.size());
    std::vector<float> hat(values.size());
    for (std::size_t k = 0; k < hat.size(); ++k) {
      hat[k] = k % 5 == 0 ? -0.0F : 0.01F * static_cast<float>(k % 7);
    }
    std::vector<float> expected_hat = hat;
    Bytes expected;
    TopKCodec({.density = 0.1})
        .encode_advance(std::span<const float>(values), std::span<float>(expected_hat), {},
                        expected);
    const Found found = encode(0.1, values, hat.data(), hat.data(), 3);
    EXPECT_TRUE(std::ranges::equal(found.bytes, expected));
    EXPECT_TRUE(same_bits(hat, expected_hat));
  }
}

TEST(TopKKernels, DecodeLikeTheCpu) {
  for (const std::vector<float>& values : samples()) {
    SCOPED_TRACE(values.size());
    const TopKCodec codec({.density = 0.3});
    Bytes bytes;
    codec.encode(std::span<const float>(values), {}, bytes);
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
    ASSERT_TRUE(codec.decode_add(bytes, 0.3, std::span<float>(expected)).ok());
    decode_add_emulated(gpu::TopKDecodeJob{.message = message.data(),
                                           .offsets = offsets.data(),
                                           .count = values.size(),
                                           .factor = 0.3F,
                                           .into = found.data()},
                        values.size() % 4);
    EXPECT_TRUE(same_bits(found, expected));
  }
}

TEST(TopKKernels, HaveTheGoldenHashes) {
  const std::vector<float> values = golden_values();
  std::vector<float> hat(values.size(), 0.25F);
  const Found found = encode(TopKConfig{}.density, values, hat.data(), hat.data(), 1);
  const auto golden = kGoldenHashes.at("top-k");
  EXPECT_EQ(hash_bytes(found.bytes), golden.first);
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(hat))), golden.second);
}

}  // namespace
}  // namespace hobnob
