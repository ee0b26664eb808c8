// fp32 and bf16: no scales.

#include "compress/block_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/plain_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "compress/block_loops-inl.h"
#include "compress/bytes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

struct Float32Rule {
  static constexpr std::size_t kPayloadBytes = 1024;
  static constexpr std::size_t kScales = 0;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kFloatPoison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& /*info*/,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* /*scales*/) {
    std::memcpy(payload, d, kPayloadBytes);
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* /*scales*/) : payload_(payload) {}

    HWY_INLINE Floats values(std::size_t k) const {
      return hn::BitCast(FloatTag(), load_words(payload_ + 4 * k));
    }

   private:
    const std::byte* payload_;
  };

  static bool is_valid(const std::byte* payload, const std::byte* /*scales*/) {
    return largest_word<kBlock>([&](std::size_t k) HWY_ATTR {
             return hn::And(load_words(payload + 4 * k), hn::Set(WordTag(), 0x7fffffffU));
           }) < kPoison;
  }
};

struct Bf16Rule {
  static constexpr std::size_t kPayloadBytes = 512;
  static constexpr std::size_t kScales = 0;
  static constexpr std::size_t kScaleRun = 256;
  static constexpr std::uint32_t kPoison = element::kBf16Poison;

  template <bool kAdvance>
  static HWY_INLINE void encode(float* HWY_RESTRICT d,
                                const BlockInfo& /*info*/,
                                std::byte* HWY_RESTRICT payload,
                                std::byte* /*scales*/) {
    const WordTag words;
    const auto half = hn::Set(words, 0x7fffU);
    const auto one = hn::Set(words, 1);
    // element::bf16_nearest() without its case for NaN: a block with one is poison.
    const auto rounded = [&](std::size_t k) HWY_ATTR {
      const auto bits = hn::BitCast(words, hn::Load(FloatTag(), d + k));
      const auto odd = hn::And(hn::ShiftRight<16>(bits), one);
      return hn::ShiftRight<16>(hn::Add(hn::Add(bits, half), odd));
    };
    for (std::size_t k = 0; k < kBlock; k += hn::Lanes(words)) {
      store_low_halves(rounded(k), payload + 2 * k);
    }
  }

  class Decoder {
   public:
    HWY_INLINE Decoder(const std::byte* payload, const std::byte* /*scales*/) : payload_(payload) {}

    HWY_INLINE Floats values(std::size_t k) const {
      return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(load_halves(payload_ + 2 * k)));
    }

   private:
    const std::byte* payload_;
  };

  static bool is_valid(const std::byte* payload, const std::byte* /*scales*/) {
    return largest_half(payload) < 0x7f80U;  // infinity
  }
};

HOBNOB_BLOCK_KERNELS(fp32, Float32Rule)
HOBNOB_BLOCK_KERNELS(bf16, Bf16Rule)

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HOBNOB_EXPORT_BLOCK_KERNELS(fp32)
HOBNOB_EXPORT_BLOCK_KERNELS(bf16)

}  // namespace hobnob

#endif  // HWY_ONCE
