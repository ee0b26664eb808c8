// int8 and qsgd8 (the same, rounded at random): one bf16 scale for 256 values, each a signed byte.

#include "compress/block_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/int8_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"
#include "compress/philox-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

template <bool kDithers>
struct Int8Rule {
  static constexpr std::size_t kPayloadBytes = 256;
  static constexpr std::size_t kScales = 1;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kInt8Poison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& info,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* scales) {
    const FloatTag tag;
    const std::uint16_t scale = element::int8_scale(info.largest);
    store_scale(scale, scales, 0);
    const auto inverse = hn::Set(tag, element::int8_inverse(scale));
    const auto factor = hn::Set(tag, element::float_of_bf16(scale));
    HWY_ALIGN std::uint32_t noise[128];
    if constexpr (kDithers) {
      draw_noise(info.key, info.index, noise);
    }
    const auto level = [&](std::size_t k) HWY_ATTR {
      const auto scaled = hn::Mul(hn::Load(tag, d + k), inverse);
      Ints levels;
      if constexpr (kDithers) {
        levels = dithered(scaled, noise_at(noise, k), 127);
      } else {
        const auto magic = hn::Set(tag, element::kRoundingMagic);
        levels =
            hn::Sub(hn::BitCast(IntTag(), hn::Add(scaled, magic)), hn::BitCast(IntTag(), magic));
      }
      if constexpr (kAdvance) {
        hn::Store(hn::Mul(hn::ConvertTo(tag, levels), factor), tag, d + k);
      }
      return levels;
    };
    store_joined<kPayloadBytes>(level, payload);
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* scales)
        : payload_(reinterpret_cast<const std::int8_t*>(payload)),
          scale_(hn::Set(FloatTag(), element::float_of_bf16(load_scale(scales, 0)))) {}

    HWY_INLINE Floats values(std::size_t k) const {
      const auto bytes = hn::LoadU(hn::Rebind<std::int8_t, FloatTag>(), payload_ + k);
      return hn::Mul(hn::ConvertTo(FloatTag(), hn::PromoteTo(IntTag(), bytes)), scale_);
    }

   private:
    const std::int8_t* payload_;
    Floats scale_;
  };

  static bool is_valid(const std::byte* /*payload*/, const std::byte* scales) {
    return element::is_scale(load_scale(scales, 0));
  }
};

HOBNOB_BLOCK_KERNELS(int8, Int8Rule<false>)
HOBNOB_BLOCK_KERNELS(qsgd8, Int8Rule<true>)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(int8)
HOBNOB_EXPORT_BLOCK_KERNELS(qsgd8)

}  // namespace hobnob

#endif  // HWY_ONCE
