// sign: one bit for each of 256 values in natural order (1 is negative), and their mean magnitude.

#include "compress/block_kernels.h"
#include "compress/fixed_rate_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/sign_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

struct SignRule {
  static constexpr std::size_t kPayloadBytes = 32;
  static constexpr std::size_t kScales = 1;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kScalePoison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& info,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* scales) {
    if (info.largest < element::kTinyBlock) {
      return;
    }
    const FloatTag tag;
    const IntTag ints;
    const auto to_fixed = hn::Set(tag, element::fixed_point(info.largest, element::kMeanBits));
    auto sum = hn::Zero(ints);
    for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
      sum = hn::Add(sum, hn::NearestInt(hn::Mul(hn::Abs(hn::Load(tag, d + k)), to_fixed)));
    }
    const std::uint16_t scale =
        element::mean_scale(hn::GetLane(hn::SumOfLanes(ints, sum)),
                            static_cast<std::int32_t>(info.count), info.largest);
    store_scale(scale, scales, 0);
    if (scale == 0) {
      return;
    }
    for (std::size_t start = 0; start < kBlock; start += 32) {
      const std::uint32_t bits = sign_bits(d + start);
      std::memcpy(payload + start / 8, &bits, sizeof bits);
    }
    if constexpr (kAdvance) {
      const auto magnitude = hn::Set(tag, element::float_of_bf16(scale));
      for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
        hn::Store(hn::CopySignToAbs(magnitude, hn::Load(tag, d + k)), tag, d + k);
      }
    }
  }

  // Of 32 values.
  static HWY_INLINE std::uint32_t sign_bits(const float* HWY_RESTRICT d) {
    const FloatTag tag;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 32; k += hn::Lanes(tag)) {
      std::uint8_t part[8] = {};
      const auto value = hn::BitCast(IntTag(), hn::Load(tag, d + k));
      hn::StoreMaskBits(IntTag(), hn::Lt(value, hn::Zero(IntTag())), part);
      std::uint32_t word;
      std::memcpy(&word, part, sizeof word);
      bits |= word << k;
    }
    return bits;
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* scales)
        : payload_(payload),
          scale_(hn::Set(WordTag(), std::uint32_t{load_scale(scales, 0)} << 16U)) {}

    HWY_INLINE Floats values(std::size_t k) const {
      std::uint32_t bits;
      std::memcpy(&bits, payload_ + k / 32 * 4, sizeof bits);
      const auto sign = sign_lanes(bits, k % 32);
      return hn::BitCast(FloatTag(), hn::Xor(scale_, sign));
    }

   private:
    const std::byte* payload_;
    Words scale_;
  };

  static bool is_valid(const std::byte* /*payload*/, const std::byte* scales) {
    return element::is_scale(load_scale(scales, 0));
  }
};

HOBNOB_BLOCK_KERNELS(sign, SignRule)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(sign)

}  // namespace hobnob

#endif  // HWY_ONCE
