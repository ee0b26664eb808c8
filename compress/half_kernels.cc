// fp16 with a power of two per block of 256.

#include "compress/block_kernels.h"
#include "compress/half_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/half_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

// element::half_nearest() and float_of_half(), in integers: the instructions for it are not on
// every machine.
HWY_INLINE Words halves_of(Floats value) {
  const WordTag words;
  const auto bits = hn::BitCast(words, value);
  const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffffffU));
  const auto subnormal = hn::Sub(
      hn::BitCast(words, hn::Add(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), 0.5F))),
      hn::Set(words, 0x3f000000U));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1));
  const auto rounded = hn::Add(hn::Add(magnitude, hn::Set(words, 0xc8000fffU)), odd);
  const auto normal = hn::And(hn::ShiftRight<13>(rounded), hn::Set(words, 0x7fffU));
  const auto is_subnormal = hn::Lt(hn::BitCast(IntTag(), magnitude), hn::Set(IntTag(), 0x38800000));
  const auto half = hn::IfThenElse(hn::RebindMask(words, is_subnormal), subnormal, normal);
  return hn::Or(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 0x8000U)));
}

HWY_INLINE Floats floats_of(Words half) {
  const WordTag words;
  const auto shifted = hn::ShiftLeft<13>(hn::And(half, hn::Set(words, 0x7fffU)));
  const auto value = hn::Mul(hn::BitCast(FloatTag(), shifted), hn::Set(FloatTag(), 0x1p112F));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(words, 0x8000U)));
  return hn::BitCast(FloatTag(), hn::Or(hn::BitCast(words, value), sign));
}

struct HalfRule {
  static constexpr std::size_t kPayloadBytes = 512;
  static constexpr std::size_t kScales = 1;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kInt8Poison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& info,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* scales) {
    const FloatTag tag;
    const std::uint16_t scale = element::half_scale(info.largest);
    store_scale(scale, scales, 0);
    const auto inverse = hn::Set(tag, element::half_inverse(scale));
    const auto factor = hn::Set(tag, element::float_of_bf16(scale));
    if (scale == 0) {
      return;
    }
    for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
      const auto half = halves_of(hn::Mul(hn::Load(tag, d + k), inverse));
      store_low_halves(half, payload + 2 * k);
      if constexpr (kAdvance) {
        hn::Store(hn::Mul(floats_of(half), factor), tag, d + k);
      }
    }
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* scales)
        : payload_(payload),
          scale_(hn::Set(FloatTag(), element::float_of_bf16(load_scale(scales, 0)))) {}

    HWY_INLINE Floats values(std::size_t k) const {
      return hn::Mul(floats_of(load_halves(payload_ + 2 * k)), scale_);
    }

   private:
    const std::byte* payload_;
    Floats scale_;
  };

  static bool is_valid(const std::byte* payload, const std::byte* scales) {
    return largest_half(payload) < 0x7c00U &&  // infinity
           element::is_half_scale(load_scale(scales, 0));
  }
};

HOBNOB_BLOCK_KERNELS(fp16, HalfRule)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(fp16)

}  // namespace hobnob

#endif  // HWY_ONCE
