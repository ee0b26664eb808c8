// h4 and h2: a block is rotated by a Walsh-Hadamard transform with fixed signs, after which its
// values are near normal whatever they were, then coded with Lloyd and Max's levels times their
// root mean square (Hadamard rotation: Suresh et al. 1611.00429; DRIVE, Vargaftik et al.
// 2105.08339).

#include "compress/block_kernels.h"
#include "compress/fixed_rate_rules.h"
#include "compress/hadamard_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/hadamard_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"
#include "compress/codebook-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

// The butterflies of one stride below the number of lanes, within one vector.
HWY_INLINE Floats butterfly_within(Floats v, std::size_t stride) {
  const FloatTag tag;
  const WordTag words;
  const std::size_t lanes = hn::Lanes(tag);
  HWY_ALIGN std::int32_t partner[16] = {};
  HWY_ALIGN std::uint32_t sign[16] = {};
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    partner[lane] = static_cast<std::int32_t>(lane ^ stride);
    sign[lane] = (lane & stride) != 0 ? 0x80000000U : 0U;
  }
  const auto other = hn::TableLookupLanes(v, hn::SetTableIndices(tag, partner));
  const auto own = hn::BitCast(tag, hn::Xor(hn::BitCast(words, v), hn::Load(words, sign)));
  return hn::Add(other, own);
}

// x (256,) aligned: strides 1, 2, 4, ..., 128 in this order, then times 1/16.
HWY_INLINE void transform(float* HWY_RESTRICT x) {
  const FloatTag tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto sixteenth = hn::Set(tag, 0.0625F);
#if HWY_TARGET != HWY_SCALAR
  for (std::size_t k = 0; k < kBlock; k += lanes) {
    auto v = hn::Load(tag, x + k);
    v = butterfly_within(v, 1);
    if (lanes > 2) {
      v = butterfly_within(v, 2);
    }
    if (lanes > 4) {
      v = butterfly_within(v, 4);
    }
    if (lanes > 8) {
      v = butterfly_within(v, 8);
    }
    hn::Store(v, tag, x + k);
  }
#endif
  // Two strides in one pass.
  std::size_t stride = lanes;
  for (; 2 * stride < kBlock; stride *= 4) {
    for (std::size_t start = 0; start < kBlock; start += 4 * stride) {
      for (std::size_t k = start; k < start + stride; k += lanes) {
        const auto a = hn::Load(tag, x + k);
        const auto b = hn::Load(tag, x + k + stride);
        const auto c = hn::Load(tag, x + k + 2 * stride);
        const auto d = hn::Load(tag, x + k + 3 * stride);
        const auto ab = hn::Add(a, b);
        const auto a_b = hn::Sub(a, b);
        const auto cd = hn::Add(c, d);
        const auto c_d = hn::Sub(c, d);
        hn::Store(hn::Add(ab, cd), tag, x + k);
        hn::Store(hn::Add(a_b, c_d), tag, x + k + stride);
        hn::Store(hn::Sub(ab, cd), tag, x + k + 2 * stride);
        hn::Store(hn::Sub(a_b, c_d), tag, x + k + 3 * stride);
      }
    }
  }
  for (; stride < kBlock; stride *= 2) {
    for (std::size_t k = 0; k < stride; k += lanes) {
      const auto a = hn::Load(tag, x + k);
      const auto b = hn::Load(tag, x + k + stride);
      hn::Store(hn::Add(a, b), tag, x + k);
      hn::Store(hn::Sub(a, b), tag, x + k + stride);
    }
  }
  for (std::size_t k = 0; k < kBlock; k += lanes) {
    hn::Store(hn::Mul(hn::Load(tag, x + k), sixteenth), tag, x + k);
  }
}

HWY_INLINE void flip_signs(float* HWY_RESTRICT x) {
  const WordTag words;
  for (std::size_t k = 0; k < kBlock; k += hn::Lanes(words)) {
    const auto sign = sign_lanes(element::rotation_signs(k / 32), k % 32);
    const auto bits = hn::BitCast(words, hn::Load(FloatTag(), x + k));
    hn::Store(hn::BitCast(FloatTag(), hn::Xor(bits, sign)), FloatTag(), x + k);
  }
}

// Levels (codes less half of their number) to bytes and back.
struct FourBits {
  static constexpr std::size_t kPayloadBytes = 128;

  static HWY_INLINE Ints levels(Floats value) { return level_of(value, element::kLm4); }

  static HWY_INLINE Floats values(Ints levels) { return value_of(levels, element::kLm4); }

  static HWY_INLINE Ints joined(const std::int32_t* HWY_RESTRICT levels, std::size_t k) {
    return joined_nibbles(levels, k);
  }

  static HWY_INLINE Ints parted(Ints byte, std::size_t k) { return parted_nibbles(byte, k); }
};

struct TwoBits {
  static constexpr std::size_t kPayloadBytes = 64;

  static HWY_INLINE Ints levels(Floats value) {
    auto level = hn::Set(IntTag(), -2);
    for (const float threshold : element::kLm2Thresholds) {
      const auto above = hn::Gt(value, hn::Set(FloatTag(), threshold));
      level =
          hn::Add(level, hn::IfThenElseZero(hn::RebindMask(IntTag(), above), hn::Set(IntTag(), 1)));
    }
    return level;
  }

  static HWY_INLINE Floats values(Ints levels) {
    const auto is_negative = hn::Lt(levels, hn::Zero(IntTag()));
    // -2 and 1 are the outer ones.
    const auto folded = hn::Xor(levels, hn::BroadcastSignBit(levels));
    const auto is_outer = hn::Eq(folded, hn::Set(IntTag(), 1));
    const auto magnitude = hn::IfThenElse(hn::RebindMask(FloatTag(), is_outer),
                                          hn::Set(FloatTag(), element::kLm2Values[3]),
                                          hn::Set(FloatTag(), element::kLm2Values[2]));
    return hn::IfThenElse(hn::RebindMask(FloatTag(), is_negative), hn::Neg(magnitude), magnitude);
  }

  static HWY_INLINE Ints joined(const std::int32_t* HWY_RESTRICT levels, std::size_t k) {
    const auto three = hn::Set(IntTag(), 3);
    const auto a = hn::And(hn::Load(IntTag(), levels + k), three);
    const auto b = hn::And(hn::Load(IntTag(), levels + 64 + k), three);
    const auto c = hn::And(hn::Load(IntTag(), levels + 128 + k), three);
    const auto d = hn::Load(IntTag(), levels + 192 + k);
    return hn::Or(hn::Or(a, hn::ShiftLeft<2>(b)), hn::Or(hn::ShiftLeft<4>(c), hn::ShiftLeft<6>(d)));
  }

  static HWY_INLINE Ints parted(Ints byte, std::size_t k) {
    if (k < 64) {
      return hn::ShiftRight<30>(hn::ShiftLeft<30>(byte));
    }
    if (k < 128) {
      return hn::ShiftRight<30>(hn::ShiftLeft<28>(byte));
    }
    return k < 192 ? hn::ShiftRight<30>(hn::ShiftLeft<26>(byte)) : hn::ShiftRight<6>(byte);
  }
};

template <typename Bits>
struct RotatedRule {
  static constexpr std::size_t kPayloadBytes = Bits::kPayloadBytes;
  static constexpr std::size_t kScales = 1;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kRotationPoison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& info,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* scales) {
    if (info.largest < element::kTinyBlock) {
      return;
    }
    const FloatTag tag;
    flip_signs(d);
    transform(d);
    const float to_fixed =
        element::fixed_point(element::rotated_bound(info.largest), element::kRotatedBits);
    const std::uint16_t scale =
        element::rotated_scale(sum_of_squares<kBlock>(d, to_fixed), info.largest);
    store_scale(scale, scales, 0);
    if (scale == 0) {
      return;
    }
    const auto inverse = hn::Set(tag, element::inverse_of(scale));
    HWY_ALIGN std::int32_t levels[kBlock];
    for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
      hn::Store(Bits::levels(hn::Mul(hn::Load(tag, d + k), inverse)), IntTag(), levels + k);
    }
    store_joined<kPayloadBytes>([&](std::size_t k) HWY_ATTR { return Bits::joined(levels, k); },
                                payload);
    if constexpr (kAdvance) {
      const auto factor = hn::Set(tag, element::float_of_bf16(scale));
      for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
        hn::Store(hn::Mul(Bits::values(hn::Load(IntTag(), levels + k)), factor), tag, d + k);
      }
      transform(d);
      flip_signs(d);
    }
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* scales) {
      const FloatTag tag;
      const auto factor = hn::Set(tag, element::float_of_bf16(load_scale(scales, 0)));
      const auto* bytes = reinterpret_cast<const std::int8_t*>(payload);
      for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
        const auto narrow =
            hn::LoadU(hn::Rebind<std::int8_t, FloatTag>(), bytes + k % kPayloadBytes);
        const auto levels = Bits::parted(hn::PromoteTo(IntTag(), narrow), k);
        hn::Store(hn::Mul(Bits::values(levels), factor), tag, values_ + k);
      }
      transform(values_);
      flip_signs(values_);
    }

    HWY_INLINE Floats values(std::size_t k) const { return hn::Load(FloatTag(), values_ + k); }

   private:
    HWY_ALIGN float values_[kBlock];
  };

  static bool is_valid(const std::byte* /*payload*/, const std::byte* scales) {
    const std::uint16_t scale = load_scale(scales, 0);
    return element::is_scale(scale) && scale < element::kRotatedScaleLimit;
  }
};

HOBNOB_BLOCK_KERNELS(h4, RotatedRule<FourBits>)
HOBNOB_BLOCK_KERNELS(h2, RotatedRule<TwoBits>)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(h4)
HOBNOB_EXPORT_BLOCK_KERNELS(h2)

}  // namespace hobnob

#endif  // HWY_ONCE
