// The CUDA kernels of the codecs of fixed length, lane by lane on the CPU: the bytes and the state
// of the CPU's kernels, whatever the order of the lanes.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compress/codec_config.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/kernel_samples.h"
#include "tests/support/codec_golden.h"

namespace hobnob {
namespace {

class BlockKernels : public testing::TestWithParam<CodecId> {
 protected:
  std::unique_ptr<Codec> codec_ = make_codec(GetParam()).value();
  const RngKey key_{.seed = 3, .stream = 9};

  MessageBuffer encode(const std::vector<float>& values,
                       const float* base,
                       float* advance,
                       std::uint64_t seed) {
    MessageBuffer out(codec_->max_bytes(values.size(), DType::kFloat32));
    poisoned_ = 0;
    EXPECT_TRUE(encode_emulated({.codec = GetParam(),
                                 .values = values.data(),
                                 .base = base,
                                 .advance = advance,
                                 .count = values.size(),
                                 .key = philox_key(key_),
                                 .message = out.data(),
                                 .poisoned = &poisoned_},
                                seed));
    return out;
  }

  unsigned poisoned_ = 0;
};

bool same_bytes(const MessageBuffer& found, const Bytes& expected) {
  return std::ranges::equal(found.span(), expected);
}

TEST_P(BlockKernels, EncodeTheBytesOfTheCpu) {
  for (const std::vector<float>& values : kernel_samples()) {
    Bytes expected;
    const std::size_t poisoned = codec_->encode(std::span<const float>(values), key_, expected);
    const MessageBuffer found = encode(values, nullptr, nullptr, values.size() % 3);
    EXPECT_TRUE(same_bytes(found, expected)) << values.size();
    EXPECT_EQ(poisoned_, poisoned) << values.size();
  }
}

TEST_P(BlockKernels, AdvanceTheBaseLikeTheCpu) {
  for (const std::vector<float>& values : kernel_samples()) {
    std::vector<float> expected_hat(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      expected_hat[k] = k % 5 == 0 ? -0.0F : 0.01F * static_cast<float>(k % 7);
    }
    std::vector<float> hat = expected_hat;
    Bytes expected;
    codec_->encode_advance(std::span<const float>(values), std::span<float>(expected_hat), key_,
                           expected);
    const MessageBuffer found = encode(values, hat.data(), hat.data(), values.size());
    EXPECT_TRUE(same_bytes(found, expected)) << values.size();
    EXPECT_TRUE(same_bits(hat, expected_hat)) << values.size();
  }
}

TEST_P(BlockKernels, EncodeADifferenceLikeTheCpu) {
  const std::vector<float> values = kernel_samples().back();
  const std::vector<float> base(values.size(), 0.75F);
  Bytes expected;
  codec_->encode_difference(std::span<const float>(values), std::span<const float>(base), key_,
                            expected);
  const MessageBuffer found = encode(values, base.data(), nullptr, 5);
  EXPECT_TRUE(same_bytes(found, expected));
}

TEST_P(BlockKernels, AddSeveralMessagesLikeTheCpu) {
  for (const std::vector<float>& values : kernel_samples()) {
    const std::size_t fewest = values.size() > 10000 ? gpu::kMaxFused : 1;  // they take long
    for (std::size_t parts = fewest; parts <= gpu::kMaxFused; ++parts) {
      std::vector<MessageBuffer> messages;
      std::vector<CodecPart> expected_parts;
      std::vector<gpu::DecodePart> found_parts;
      std::vector<float> scaled = values;
      for (std::size_t p = 0; p < parts; ++p) {
        for (float& value : scaled) {
          value *= p == 2 ? 0.0F : 0.5F;  // the third is of zeros, if all are finite
        }
        messages.push_back(encode(scaled, nullptr, nullptr, 0));
        const float factor = 0.3F * static_cast<float>(p + 1);
        expected_parts.push_back({messages[p].span(), factor});
        found_parts.push_back({messages[p].data(), factor});
      }
      std::vector<float> expected(values.size(), -0.0F);
      std::vector<float> found = expected;
      ASSERT_TRUE(codec_->decode_add(expected_parts, std::span<float>(expected)).ok());
      decode_add_emulated(GetParam(), found_parts, found.data(), found.size(), parts - 1);
      EXPECT_TRUE(same_bits(found, expected)) << values.size() << " values, " << parts;
    }
  }
}

TEST_P(BlockKernels, HaveTheGoldenHashes) {
  const std::vector<float> values = golden_values();
  std::vector<float> hat(values.size(), 0.25F);
  MessageBuffer bytes(kernel_message_bytes(GetParam(), values.size()));
  encode_emulated({.codec = GetParam(),
                   .values = values.data(),
                   .base = hat.data(),
                   .advance = hat.data(),
                   .count = values.size(),
                   .key = philox_key({.seed = 1, .stream = 2}),
                   .message = bytes.data(),
                   .poisoned = &poisoned_},
                  1);
  const auto golden = kGoldenHashes.at(codec_kind(GetParam()));
  EXPECT_EQ(hash_bytes(bytes.span()), golden.first);
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(hat))), golden.second);
}

INSTANTIATE_TEST_SUITE_P(Codecs,
                         BlockKernels,
                         testing::ValuesIn([] {
                           std::vector<CodecId> ids;
                           for (unsigned id = 0; make_codec(static_cast<CodecId>(id)).ok(); ++id) {
                             if (kernel_message_bytes(static_cast<CodecId>(id), 1) > 0) {
                               ids.push_back(static_cast<CodecId>(id));
                             }
                           }
                           return ids;
                         }()),
                         [](const auto& parameter) { return codec_kind(parameter.param); });

TEST(BlockKernelsTable, HasEveryCodecOfFixedLengthButRaw) {
  for (const std::string& kind : codec_kinds()) {
    const auto codec = make_codec(CodecConfig{.kind = kind});
    EXPECT_EQ(kernel_message_bytes(codec->id(), 1) > 0,
              codec->traits().fixed_length && kind != "raw")
        << kind;
  }
}

}  // namespace
}  // namespace hobnob
