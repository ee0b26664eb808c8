// The codecs of four bits: 256 values in four runs of 64, each with a bf16 scale. Values i and i +
// 128 share a byte, i in its lower half.

#include "compress/block_kernels.h"
#include "compress/fixed_rate_rules.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/four_bit_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"
#include "compress/codebook-inl.h"
#include "compress/philox-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

constexpr std::size_t kRun = 64;

HWY_INLINE Words bits_at(const float* HWY_RESTRICT d, std::size_t k) {
  return hn::BitCast(WordTag(), hn::Load(FloatTag(), d + k));
}

HWY_INLINE std::uint32_t run_magnitude(const float* HWY_RESTRICT d) {
  return largest_word<kRun>([&](std::size_t k) HWY_ATTR {
    return hn::And(bits_at(d, k), hn::Set(WordTag(), 0x7fffffffU));
  });
}

// A Code has, for one run: scale(d, count); levels<kAdvance>(d + k, noise, scale, inverse): the
// nibbles of one vector, as signed or unsigned integers; values(nibbles, scale), of nibbles as they
// come out of a byte with the sign extended; is_valid(scale).

struct Int4Code {
  static constexpr bool kDithers = false;

  static HWY_INLINE std::uint16_t scale(const float* HWY_RESTRICT d, std::size_t /*count*/) {
    return element::int4_scale(largest_word<kRun>([&](std::size_t k) HWY_ATTR {
      const auto bits = bits_at(d, k);
      return hn::Or(hn::ShiftLeft<1>(bits), hn::ShiftRight<31>(bits));
    }));
  }

  static HWY_INLINE Ints levels(Floats value, Ints /*noise*/, Floats inverse) {
    return hn::Min(hn::NearestInt(hn::Mul(value, inverse)), hn::Set(IntTag(), 7));
  }

  static HWY_INLINE Floats values(Ints nibbles, Floats scale) {
    return hn::Mul(hn::ConvertTo(FloatTag(), nibbles), scale);
  }

  static bool is_valid(std::uint16_t scale) { return element::is_signed_scale(scale); }
};

struct Qsgd4Code {
  static constexpr bool kDithers = true;

  static HWY_INLINE std::uint16_t scale(const float* HWY_RESTRICT d, std::size_t /*count*/) {
    return element::qsgd4_scale(run_magnitude(d));
  }

  static HWY_INLINE Ints levels(Floats value, Ints noise, Floats inverse) {
    return dithered(hn::Mul(value, inverse), noise, 7);
  }

  static HWY_INLINE Floats values(Ints nibbles, Floats scale) {
    return Int4Code::values(nibbles, scale);
  }

  static bool is_valid(std::uint16_t scale) { return element::is_scale(scale); }
};

template <const element::Codebook& kBook>
struct CodebookCode {
  static constexpr bool kDithers = false;

  static HWY_INLINE std::uint16_t scale(const float* HWY_RESTRICT d, std::size_t /*count*/) {
    return element::absmax_scale(run_magnitude(d));
  }

  static HWY_INLINE Ints levels(Floats value, Ints /*noise*/, Floats inverse) {
    return level_of(hn::Mul(value, inverse), kBook);
  }

  static HWY_INLINE Floats values(Ints nibbles, Floats scale) {
    return hn::Mul(value_of(nibbles, kBook), scale);
  }

  static bool is_valid(std::uint16_t scale) { return element::is_scale(scale); }
};

struct Lm4Code : CodebookCode<element::kLm4> {
  static HWY_INLINE std::uint16_t scale(const float* HWY_RESTRICT d, std::size_t count) {
    const std::uint32_t largest = run_magnitude(d);
    return largest < element::kTinyBlock
               ? std::uint16_t{0}
               : element::rms_scale(
                     sum_of_squares<kRun>(d, element::fixed_point(largest, element::kRmsBits)),
                     static_cast<std::int32_t>(count), largest);
  }
};

template <typename Code>
struct FourBitRule {
  static constexpr std::size_t kPayloadBytes = 128;
  static constexpr std::size_t kScales = 4;
  static constexpr std::size_t kScaleRun = kRun;
  static constexpr std::uint32_t kPoison = element::kScalePoison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& info,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* scales) {
    const FloatTag tag;
    HWY_ALIGN std::uint32_t noise[128] = {};
    if constexpr (Code::kDithers) {
      draw_noise(info.key, info.index, noise);
    }
    HWY_ALIGN std::int32_t nibbles[kBlock];
    for (std::size_t run = 0; run < kScales; ++run) {
      const std::size_t start = run * kRun;
      const std::size_t count = info.count <= start ? 0 : HWY_MIN(info.count - start, kRun);
      const std::uint16_t scale = count == 0 ? std::uint16_t{0} : Code::scale(d + start, count);
      store_scale(scale, scales, run);
      const auto inverse = hn::Set(tag, element::inverse_of(scale));
      const auto factor = hn::Set(tag, element::float_of_bf16(scale));
      for (std::size_t k = start; k < start + kRun; k += hn::Lanes(tag)) {
        Ints levels = hn::Zero(IntTag());
        if (scale != 0) {
          levels = Code::levels(hn::Load(tag, d + k), noise_at(noise, k), inverse);
        }
        hn::Store(levels, IntTag(), nibbles + k);
        if constexpr (kAdvance) {
          hn::Store(Code::values(levels, factor), tag, d + k);
        }
      }
    }
    store_joined<128>([&](std::size_t k) HWY_ATTR { return joined_nibbles(nibbles, k); }, payload);
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* scales)
        : payload_(reinterpret_cast<const std::int8_t*>(payload)) {
      for (std::size_t run = 0; run < kScales; ++run) {
        scales_[run] = element::float_of_bf16(load_scale(scales, run));
      }
    }

    HWY_INLINE Floats values(std::size_t k) const {
      const auto bytes = hn::LoadU(hn::Rebind<std::int8_t, FloatTag>(), payload_ + k % 128);
      const auto nibbles = parted_nibbles(hn::PromoteTo(IntTag(), bytes), k);
      return Code::values(nibbles, hn::Set(FloatTag(), scales_[k / kRun]));
    }

   private:
    const std::int8_t* payload_;
    float scales_[kScales];
  };

  static bool is_valid(const std::byte* /*payload*/, const std::byte* scales) {
    bool is_valid = true;
    for (std::size_t run = 0; run < kScales; ++run) {
      is_valid = is_valid && Code::is_valid(load_scale(scales, run));
    }
    return is_valid;
  }
};

HOBNOB_BLOCK_KERNELS(int4, FourBitRule<Int4Code>)
HOBNOB_BLOCK_KERNELS(qsgd4, FourBitRule<Qsgd4Code>)
HOBNOB_BLOCK_KERNELS(nf4, FourBitRule<CodebookCode<element::kNf4>>)
HOBNOB_BLOCK_KERNELS(lm4, FourBitRule<Lm4Code>)
HOBNOB_BLOCK_KERNELS(log, FourBitRule<CodebookCode<element::kLog4>>)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(int4)
HOBNOB_EXPORT_BLOCK_KERNELS(qsgd4)
HOBNOB_EXPORT_BLOCK_KERNELS(nf4)
HOBNOB_EXPORT_BLOCK_KERNELS(lm4)
HOBNOB_EXPORT_BLOCK_KERNELS(log)

}  // namespace hobnob

#endif  // HWY_ONCE
