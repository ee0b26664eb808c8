// TernGrad (Wen et al. 1705.07878): -1, 0 or 1 times the block's largest magnitude, at random
// without bias. Byte j of 52 holds the values j, j + 52, ..., j + 208 in base 3, the first least.

#include "compress/block_kernels.h"
#include "compress/fixed_rate_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/terngrad_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"
#include "compress/philox-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

constexpr std::size_t kTritBytes = 52;
constexpr std::size_t kTritsPerByte = 5;
constexpr std::size_t kTrits = kTritBytes * kTritsPerByte;  // the last four stand for no value

struct TerngradRule {
  static constexpr std::size_t kPayloadBytes = kTritBytes;
  static constexpr std::size_t kScales = 1;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kScalePoison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& info,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* scales) {
    const FloatTag tag;
    const std::uint16_t scale = element::absmax_scale(info.largest);
    store_scale(scale, scales, 0);
    if (scale == 0) {
      return;
    }
    const auto inverse = hn::Set(tag, element::inverse_of(scale));
    const auto factor = hn::Set(tag, element::float_of_bf16(scale));
    HWY_ALIGN std::uint32_t noise[128];
    draw_noise(info.key, info.index, noise);
    HWY_ALIGN std::int32_t trits[kTrits + 16] = {};
    const auto one = hn::Set(IntTag(), 1);
    for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
      const auto levels = dithered(hn::Mul(hn::Load(tag, d + k), inverse), noise_at(noise, k), 1);
      hn::Store(hn::Add(levels, one), IntTag(), trits + k);
      if constexpr (kAdvance) {
        hn::Store(hn::Mul(hn::ConvertTo(tag, levels), factor), tag, d + k);
      }
    }
    for (std::size_t j = 0; j < kTritBytes; ++j) {
      const std::int32_t* t = trits + j;
      const std::int32_t code = t[0] + 3 * t[kTritBytes] + 9 * t[2 * kTritBytes] +
                                27 * t[3 * kTritBytes] + 81 * t[4 * kTritBytes];
      payload[j] = static_cast<std::byte>(code);
    }
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* scales) {
      const float scale = element::float_of_bf16(load_scale(scales, 0));
      for (std::size_t j = 0; j < kTritBytes; ++j) {
        auto code = static_cast<std::int32_t>(payload[j]);
        for (std::size_t t = 0; t < kTritsPerByte; ++t) {
          values_[t * kTritBytes + j] = static_cast<float>(code % 3 - 1) * scale;
          code /= 3;
        }
      }
    }

    HWY_INLINE Floats values(std::size_t k) const { return hn::Load(FloatTag(), values_ + k); }

   private:
    HWY_ALIGN float values_[kTrits];
  };

  static bool is_valid(const std::byte* payload, const std::byte* scales) {
    bool is_valid = element::is_scale(load_scale(scales, 0));
    for (std::size_t j = 0; j < kTritBytes; ++j) {
      is_valid = is_valid && std::to_integer<std::uint32_t>(payload[j]) < 243U;
    }
    return is_valid;
  }
};

HOBNOB_BLOCK_KERNELS(terngrad, TerngradRule)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(terngrad)

}  // namespace hobnob

#endif  // HWY_ONCE
