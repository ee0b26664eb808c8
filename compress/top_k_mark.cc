#include "compress/top_k_mark.h"

#include <algorithm>

#include "compress/element_rules.h"
#include "compress/message.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compress/top_k_mark.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();

namespace hobnob {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Values ahead of those in work that are fetched: memory would idle while the caller scans marks.
// With it 32M values at 1 % took 0.85 of the time; with a second array to read it gained nothing.
constexpr std::size_t kMarkAhead = 512;

// Hides how many lanes there are: bits go to memory 8 or 16 at once.
template <bool kHasHat>
struct MagnitudeMarker {
  using Tag = hn::CappedTag<float, 16>;
  using IntegerTag = hn::RebindToSigned<Tag>;
  using Integers = hn::Vec<IntegerTag>;

  HWY_INLINE Integers magnitudes(std::size_t k) const {
    auto value = hn::LoadU(Tag(), x + k);
    if constexpr (kHasHat) {
      value = hn::Sub(value, hn::LoadU(Tag(), hat + k));
    }
    return hn::And(hn::BitCast(IntegerTag(), value), hn::Set(IntegerTag(), 0x7fffffff));
  }

  HWY_INLINE Integers mark(std::size_t k,
                           Integers largest,
                           std::uint8_t* HWY_RESTRICT marks) const {
    const IntegerTag tag;
    const std::size_t lanes = hn::Lanes(tag);
    if (lanes >= 8) {
      const Integers found = magnitudes(k);
      hn::StoreMaskBits(tag, hn::Gt(found, below), marks + k / 8);
      return hn::Max(largest, found);
    }
    unsigned bits = 0;
    for (std::size_t part = 0; part < 8; part += lanes) {
      const Integers found = magnitudes(k + part);
      std::uint8_t few = 0;
      hn::StoreMaskBits(tag, hn::Gt(found, below), &few);
      bits |= static_cast<unsigned>(few) << part;
      largest = hn::Max(largest, found);
    }
    marks[k / 8] = static_cast<std::uint8_t>(bits);
    return largest;
  }

  const float* HWY_RESTRICT x;
  const float* HWY_RESTRICT hat;
  Integers below;
};

template <bool kHasHat>
std::size_t mark_magnitudes(const MarkRun& run, std::uint8_t* HWY_RESTRICT marks) {
  using MarkerOf = MagnitudeMarker<kHasHat>;
  const typename MarkerOf::IntegerTag tag;
  const std::size_t step = HWY_MAX(hn::Lanes(tag), 8);
  const auto below_poison = hn::Set(tag, static_cast<std::int32_t>(element::kInt8Poison - 1));
  MarkerOf marker{.x = run.x,
                  .hat = run.hat,
                  .below = hn::Set(tag, static_cast<std::int32_t>(run.threshold - 1))};
  const std::size_t blocks = run.blocks;
  std::size_t poisoned = 0;
  for (std::size_t block = 0; block < blocks; ++block, marks += message::kBlockCount / 8) {
    auto largest = hn::Zero(tag);
    for (std::size_t k = 0; k < message::kBlockCount; k += 4 * step) {
      for (std::size_t line = k; !kHasHat && line < k + 4 * step; line += 16) {
        hwy::Prefetch(marker.x + line + kMarkAhead);
      }
      largest = marker.mark(k, largest, marks);
      largest = marker.mark(k + step, largest, marks);
      largest = marker.mark(k + 2 * step, largest, marks);
      largest = marker.mark(k + 3 * step, largest, marks);
    }
    if (!hn::AllFalse(tag, hn::Gt(largest, below_poison))) {
      ++poisoned;
      std::fill_n(marks, message::kBlockCount / 8, std::uint8_t{0});
    }
    marker.x += message::kBlockCount;
    marker.hat += kHasHat ? message::kBlockCount : 0;
  }
  return poisoned;
}

std::size_t mark_run(const MarkRun& run, std::uint8_t* marks) {
  return run.hat == nullptr ? mark_magnitudes<false>(run, marks)
                            : mark_magnitudes<true>(run, marks);
}

}  // namespace HWY_NAMESPACE
}  // namespace hobnob

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hobnob {

HWY_EXPORT(mark_run);

std::size_t mark_at_least(const MarkRun& run, std::uint64_t* marks) {
  return HWY_DYNAMIC_DISPATCH(mark_run)(run, reinterpret_cast<std::uint8_t*>(marks));
}

}  // namespace hobnob

#endif
