// The loops that all block kernels share; included once for each instruction set (Highway's
// convention, so the guard is not #pragma once).
//
// A Rule has:
//   kPayloadBytes, kScales, kPoison    per block of 256; kPoison of element_rules.h
//   kScaleRun                          values that share a scale
//   static void encode<kAdvance>(float* d, const BlockInfo&, std::byte* payload, std::byte* scales)
//       d (256,) aligned, without poison; if kAdvance, d becomes the decoded values, but where a
//       scale is 0
//   class Decoder(const std::byte* payload, const std::byte* scales), with scale(run) and
//       values(D, k): the decoded values from k on, one vector of them
//   static bool is_valid(const std::byte* payload, const std::byte* scales)

#if defined(HOBNOB_COMPRESS_BLOCK_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOBNOB_COMPRESS_BLOCK_LOOPS_INL_H_
#undef HOBNOB_COMPRESS_BLOCK_LOOPS_INL_H_
#else
#define HOBNOB_COMPRESS_BLOCK_LOOPS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "compress/block_kernels.h"
#include "compress/bytes-inl.h"
#include "compress/element_rules.h"

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

constexpr std::size_t kBlock = 256;

// Largest of word(k), word(k + lanes), ... over the first kCount k: a vector of words each.
template <std::size_t kCount, typename Word>
HWY_INLINE std::uint32_t largest_word(Word word) {
  const WordTag words;
  auto largest = hn::Zero(words);
  for (std::size_t k = 0; k < kCount; k += hn::Lanes(words)) {
    largest = hn::Max(largest, word(k));
  }
  return hn::GetLane(hn::MaxOfLanes(words, largest));
}

// Of a block of 16-bit floats, without their signs.
HWY_INLINE std::uint32_t largest_half(const std::byte* payload) {
  return largest_word<kBlock>([&](std::size_t k) HWY_ATTR {
    return hn::And(load_halves(payload + 2 * k), hn::Set(WordTag(), 0x7fffU));
  });
}

struct BlockInfo {
  std::uint32_t largest = 0;  // magnitude_bits() of its values
  std::size_t count = 0;      // of its values; zeros follow
  std::uint64_t key = 0;      // of its random bits
  std::uint64_t index = 0;    // in its message
};

HWY_INLINE std::uint16_t load_scale(const std::byte* scales, std::size_t at) {
  std::uint16_t scale;
  std::memcpy(&scale, scales + 2 * at, sizeof scale);
  return scale;
}

HWY_INLINE void store_scale(std::uint16_t scale, std::byte* scales, std::size_t at) {
  std::memcpy(scales + 2 * at, &scale, sizeof scale);
}

// Loads the block into d and returns its largest magnitude_bits().
template <bool kHasBase>
HWY_INLINE std::uint32_t load_block(const float* HWY_RESTRICT values,
                                    const float* base,
                                    float* HWY_RESTRICT d) {
  const FloatTag tag;
  const WordTag words;
  const auto magnitude = hn::Set(words, 0x7fffffffU);
  auto largest = hn::Zero(words);
  // A line of 64 bytes at a time, asked for a quarter of a page ahead.
  constexpr std::size_t kLine = 16;
  constexpr std::size_t kAhead = 256;
  for (std::size_t line = 0; line < kBlock; line += kLine) {
    hwy::Prefetch(values + line + kAhead);
    if constexpr (kHasBase) {
      hwy::Prefetch(base + line + kAhead);
    }
    for (std::size_t k = line; k < line + kLine; k += hn::Lanes(tag)) {
      Floats value = hn::LoadU(tag, values + k);
      if constexpr (kHasBase) {
        value = hn::Sub(value, hn::LoadU(tag, base + k));
      }
      hn::Store(value, tag, d + k);
      largest = hn::Max(largest, hn::And(hn::BitCast(words, value), magnitude));
    }
  }
  return hn::GetLane(hn::MaxOfLanes(words, largest));
}

template <typename Rule, bool kHasBase, bool kAdvance>
std::size_t encode_run(const EncodeRun& run) {
  const FloatTag tag;
  std::size_t poisoned = 0;
  HWY_ALIGN float d[kBlock];
  for (std::size_t b = 0; b < run.blocks; ++b) {
    const std::size_t start = b * kBlock;
    const float* base = kHasBase ? run.base + start : nullptr;
    const std::uint32_t largest = load_block<kHasBase>(run.values + start, base, d);
    if (largest >= Rule::kPoison) {
      ++poisoned;
      continue;
    }
    std::byte* scales = run.scales + 2 * Rule::kScales * b;
    Rule::template encode<kAdvance>(
        d, BlockInfo{largest, run.block_count, run.key, run.first_block + b},
        run.payload + Rule::kPayloadBytes * b, scales);
    if constexpr (kAdvance && Rule::kScales > 0) {
      float* hat = run.advance + start;
      for (std::size_t at = 0; at < kBlock; at += Rule::kScaleRun) {
        if (load_scale(scales, at / Rule::kScaleRun) == 0) {
          continue;
        }
        for (std::size_t k = at; k < at + Rule::kScaleRun; k += hn::Lanes(tag)) {
          hn::StoreU(hn::Add(hn::LoadU(tag, hat + k), hn::Load(tag, d + k)), tag, hat + k);
        }
      }
    }
  }
  return poisoned;
}

template <typename Rule>
std::size_t encode_blocks(const EncodeRun& run) {
  if (run.base == nullptr) {
    return encode_run<Rule, false, false>(run);
  }
  if (run.advance == nullptr) {
    return encode_run<Rule, true, false>(run);
  }
  if constexpr (Rule::kScales == 0) {
    HWY_ABORT("a rule without scales cannot advance");
  } else {
    return encode_run<Rule, true, true>(run);
  }
}

// One block, part after part, where a scale may be 0.
template <typename Rule>
void add_block_with_zeros(const DecodeRun& run, std::size_t b, float* into) {
  const FloatTag tag;
  for (std::size_t p = 0; p < run.part_count; ++p) {
    const auto& part = run.parts[p];
    const typename Rule::Decoder decoder(part.payload + Rule::kPayloadBytes * b,
                                         part.scales + 2 * Rule::kScales * b);
    const auto factor = hn::Set(tag, part.factor);
    for (std::size_t at = 0; at < kBlock; at += Rule::kScaleRun) {
      if (load_scale(part.scales, Rule::kScales * b + at / Rule::kScaleRun) == 0) {
        continue;
      }
      for (std::size_t k = at; k < at + Rule::kScaleRun; k += hn::Lanes(tag)) {
        const auto product = hn::Mul(factor, decoder.values(k));
        hn::StoreU(hn::Add(hn::LoadU(tag, into + k), product), tag, into + k);
      }
    }
  }
}

template <typename Rule>
HWY_INLINE bool has_zero_scale(const DecodeRun& run, std::size_t b) {
  for (std::size_t p = 0; p < run.part_count; ++p) {
    for (std::size_t s = 0; s < Rule::kScales; ++s) {
      if (load_scale(run.parts[p].scales, Rule::kScales * b + s) == 0) {
        return true;
      }
    }
  }
  return false;
}

template <typename Rule>
HWY_INLINE typename Rule::Decoder decoder_of(const DecodeRun::Part& part, std::size_t b) {
  return typename Rule::Decoder(part.payload + Rule::kPayloadBytes * b,
                                part.scales + 2 * Rule::kScales * b);
}

// Asks for what block b reads.
template <typename Rule>
HWY_INLINE void prefetch_block(const DecodeRun& run, std::size_t b) {
  constexpr std::size_t kLineBytes = 64;
  const auto* into = reinterpret_cast<const std::byte*>(run.into + b * kBlock);
  for (std::size_t at = 0; at < kBlock * sizeof(float); at += kLineBytes) {
    hwy::Prefetch(into + at);
  }
  for (std::size_t p = 0; p < run.part_count; ++p) {
    const std::byte* payload = run.parts[p].payload + Rule::kPayloadBytes * b;
    for (std::size_t at = 0; at < Rule::kPayloadBytes; at += kLineBytes) {
      hwy::Prefetch(payload + at);
    }
  }
}

template <typename Rule>
void decode_add_blocks(const DecodeRun& run) {
  constexpr std::size_t kBlocksAhead = 2;
  const FloatTag tag;
  for (std::size_t b = 0; b < run.blocks; ++b) {
    prefetch_block<Rule>(run, b + kBlocksAhead);
    float* into = run.into + b * kBlock;
    if constexpr (Rule::kScales > 0) {
      if (has_zero_scale<Rule>(run, b)) {
        add_block_with_zeros<Rule>(run, b, into);
        continue;
      }
    }
    if (run.part_count == 1) {
      const auto decoder = decoder_of<Rule>(run.parts[0], b);
      const auto factor = hn::Set(tag, run.parts[0].factor);
      for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
        const auto sum = hn::Add(hn::LoadU(tag, into + k), hn::Mul(factor, decoder.values(k)));
        hn::StoreU(sum, tag, into + k);
      }
      continue;
    }
    // Parts beyond part_count are never added; they only keep the loop in registers.
    const std::size_t last = run.part_count - 1;
    const auto first = decoder_of<Rule>(run.parts[0], b);
    const auto second = decoder_of<Rule>(run.parts[1], b);
    const auto third = decoder_of<Rule>(run.parts[HWY_MIN(2, last)], b);
    const auto fourth = decoder_of<Rule>(run.parts[HWY_MIN(3, last)], b);
    const auto factor0 = hn::Set(tag, run.parts[0].factor);
    const auto factor1 = hn::Set(tag, run.parts[1].factor);
    const auto factor2 = hn::Set(tag, run.parts[HWY_MIN(2, last)].factor);
    const auto factor3 = hn::Set(tag, run.parts[HWY_MIN(3, last)].factor);
    const auto add_parts = [&](auto count) HWY_ATTR {
      for (std::size_t k = 0; k < kBlock; k += hn::Lanes(tag)) {
        auto sum = hn::LoadU(tag, into + k);
        sum = hn::Add(sum, hn::Mul(factor0, first.values(k)));
        sum = hn::Add(sum, hn::Mul(factor1, second.values(k)));
        if constexpr (decltype(count)::value > 2) {
          sum = hn::Add(sum, hn::Mul(factor2, third.values(k)));
        }
        if constexpr (decltype(count)::value > 3) {
          sum = hn::Add(sum, hn::Mul(factor3, fourth.values(k)));
        }
        hn::StoreU(sum, tag, into + k);
      }
    };
    if (run.part_count == 2) {
      add_parts(std::integral_constant<int, 2>{});
    } else if (run.part_count == 3) {
      add_parts(std::integral_constant<int, 3>{});
    } else {
      add_parts(std::integral_constant<int, 4>{});
    }
  }
}

template <typename Rule>
bool are_blocks_valid(const std::byte* payload, const std::byte* scales, std::size_t blocks) {
  bool is_valid = true;
  for (std::size_t b = 0; b < blocks; ++b) {
    is_valid = is_valid &&
               Rule::is_valid(payload + Rule::kPayloadBytes * b, scales + 2 * Rule::kScales * b);
  }
  return is_valid;
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

// The kernels of one rule for one instruction set; inside HWY_NAMESPACE.
#undef HOBNOB_BLOCK_KERNELS
#define HOBNOB_BLOCK_KERNELS(name, Rule)                                                        \
  std::size_t name##_encode(const EncodeRun& run) {                                             \
    return encode_blocks<Rule>(run);                                                            \
  }                                                                                             \
  void name##_decode_add(const DecodeRun& run) {                                                \
    decode_add_blocks<Rule>(run);                                                               \
  }                                                                                             \
  bool name##_is_valid(const std::byte* payload, const std::byte* scales, std::size_t blocks) { \
    return are_blocks_valid<Rule>(payload, scales, blocks);                                     \
  }

// Defines name##_kernels(), which chooses; once, inside namespace hobnob.
#undef HOBNOB_EXPORT_BLOCK_KERNELS
#define HOBNOB_EXPORT_BLOCK_KERNELS(name)                                                        \
  HWY_EXPORT(name##_encode);                                                                     \
  HWY_EXPORT(name##_decode_add);                                                                 \
  HWY_EXPORT(name##_is_valid);                                                                   \
  const BlockKernels& name##_kernels() {                                                         \
    static constexpr BlockKernels kKernels{                                                      \
        .encode = [](const EncodeRun& run) { return HWY_DYNAMIC_DISPATCH(name##_encode)(run); }, \
        .decode_add =                                                                            \
            [](const DecodeRun& run) {                                                           \
              HWY_DYNAMIC_DISPATCH(name##_decode_add)                                            \
              (run);                                                                             \
            },                                                                                   \
        .is_valid =                                                                              \
            [](const std::byte* payload, const std::byte* scales, std::size_t blocks) {          \
              return HWY_DYNAMIC_DISPATCH(name##_is_valid)(payload, scales, blocks);             \
            }};                                                                                  \
    return kKernels;                                                                             \
  }

#endif  // per-target guard
