#include "compress/top_k_select.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "compress/message.h"
#include "compress/top_k_mark.h"
#include "runtime/base/hash.h"

namespace hobnob {

namespace {

constexpr std::size_t kBlock = message::kBlockCount;
constexpr std::size_t kLine = 16;  // values in a cache line
// Marks of a chunk and its values stay in the first-level cache.
constexpr std::size_t kChunk = 8 * kBlock;
static_assert(message::kFrameCount % kChunk == 0);

// The histogram of the upper 12 bits of magnitudes: exponent and 4 bits of mantissa.
constexpr unsigned kBinShift = 19;
constexpr std::size_t kBins = std::size_t{1} << (31 - kBinShift);

std::uint64_t square_root(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value)));
}

// The largest magnitudes of a vector, judged by some of its lines: one of each group, at a place
// that does not keep step with the rows of a matrix.
class MagnitudeSample {
 public:
  explicit MagnitudeSample(const Delta& delta) {
    const std::size_t lines = delta.count() / kLine;
    const std::size_t group = std::clamp(lines / kMinLines, std::size_t{1}, kMaxGroup);
    const std::size_t groups = lines / group;
    const auto line_of = [group](std::size_t g) { return (g * group + mix64(g) % group) * kLine; };
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t ahead = line_of(std::min(g + kAhead, groups - 1));
      hwy::Prefetch(delta.x() + ahead);
      if (delta.hat() != nullptr) {
        hwy::Prefetch(delta.hat() + ahead);
      }
      const std::size_t first = line_of(g);
      for (std::size_t k = first; k < first + kLine; ++k) {
        ++bins_[element::magnitude_bits(delta.at(k)) >> kBinShift];
      }
    }
    sampled_ = groups * kLine;
  }

  std::size_t sampled() const { return sampled_; }

  // About the rank-th magnitude from above, by straight lines within bins; 1 when there are fewer.
  std::uint32_t magnitude_at(std::uint64_t rank) const {
    std::uint64_t above = 0;
    for (std::size_t bin = element::kInt8Poison >> kBinShift; bin-- > 0;) {
      if (above + bins_[bin] >= rank) {
        const std::uint64_t depth = ((rank - above) << kBinShift) / bins_[bin];
        const std::uint64_t top = (std::uint64_t{bin} + 1) << kBinShift;
        return static_cast<std::uint32_t>(std::max<std::uint64_t>(top - depth, 1));
      }
      above += bins_[bin];
    }
    return 1;
  }

 private:
  static constexpr std::size_t kMinLines = 4096;
  static constexpr std::size_t kMaxGroup = 64;
  static constexpr std::size_t kAhead = 16;

  std::array<std::uint32_t, kBins> bins_{};
  std::size_t sampled_ = 0;
};

// What may still be the k-th magnitude: `low` is likely below it, `high` likely above.
struct Bracket {
  std::uint32_t low = 1;
  std::uint32_t high = 1;
};

// `width` in standard deviations of the number of sampled values above the k-th.
Bracket bracket_of(const MagnitudeSample& sample,
                   const Delta& delta,
                   std::size_t k,
                   std::uint64_t width) {
  const std::uint64_t rank = k * sample.sampled() / delta.count();
  const std::uint64_t slack = width * (square_root(rank) + 2);
  return {.low = sample.magnitude_at(rank + slack),
          .high = sample.magnitude_at(rank > slack ? rank - slack : 1)};
}

// The k largest of `values`, of which those from `high` on are likely fewer than k.
MagnitudeCut cut_among(std::span<const float> values, std::size_t k, std::uint32_t high) {
  if (values.size() <= k) {
    return {};
  }
  std::vector<std::uint32_t> below(values.size());
  std::size_t kept = 0;
  for (const float value : values) {
    const std::uint32_t magnitude = element::magnitude_bits(value);
    below[kept] = magnitude;
    kept += magnitude < high ? 1 : 0;
  }
  below.resize(kept);
  const std::size_t above = values.size() - below.size();
  if (above >= k) {
    return cut_among(values, k, element::kInt8Poison);
  }
  const auto last = below.begin() + static_cast<std::ptrdiff_t>(k - above - 1);
  std::ranges::nth_element(below, last, std::greater{});
  const auto ties = std::count(below.begin(), last, *last) + 1;
  return {.threshold = *last, .ties = static_cast<std::size_t>(ties)};
}

// Copies what the cut chooses to `offsets` and `values`, which may be those of `from` itself.
// Returns how many; the cut's ties are used up.
std::size_t keep_chosen(const ChosenValues::Frame& from,
                        MagnitudeCut& cut,
                        std::uint16_t* offsets,
                        float* values) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < from.values.size(); ++k) {
    const std::uint32_t magnitude = element::magnitude_bits(from.values[k]);
    const bool is_tie = magnitude == cut.threshold && cut.ties > 0;
    offsets[kept] = from.offsets[k];
    values[kept] = from.values[k];
    kept += magnitude > cut.threshold || is_tie ? 1 : 0;
    cut.ties -= is_tie ? 1 : 0;
  }
  return kept;
}

void trim(ChosenValues& chosen, MagnitudeCut cut) {
  std::size_t kept = 0;
  std::size_t begin = 0;
  for (std::size_t& end : chosen.frame_ends) {
    const ChosenValues::Frame frame{
        .offsets = std::span(chosen.offsets).subspan(begin, end - begin),
        .values = std::span(chosen.values).subspan(begin, end - begin)};
    kept += keep_chosen(frame, cut, chosen.offsets.data() + kept, chosen.values.data() + kept);
    begin = std::exchange(end, kept);
  }
  chosen.offsets.resize(kept);
  chosen.values.resize(kept);
}

// The values of block `index`, zeros after the last.
std::array<float, kBlock> block_of(const Delta& delta, std::size_t index) {
  std::array<float, kBlock> block{};
  const std::size_t start = index * kBlock;
  delta.load(start, std::span(block).first(std::min(kBlock, delta.count() - start)));
  return block;
}

// The k largest by three histograms, each of the next bits of those that may still be the k-th.
MagnitudeCut exact_cut(const Delta& delta, std::size_t k) {
  struct Level {
    unsigned shift;
    unsigned bits;
  };

  std::uint32_t prefix = 0;
  for (const Level level : {Level{19, 12}, Level{7, 12}, Level{0, 7}}) {
    std::vector<std::size_t> bins(std::size_t{1} << level.bits);
    for (std::size_t index = 0; index < message::blocks_of(delta.count()); ++index) {
      const std::array<float, kBlock> block = block_of(delta, index);
      if (largest_magnitude(block) >= element::kInt8Poison) {
        continue;
      }
      for (const float value : block) {
        const std::uint32_t upper = element::magnitude_bits(value) >> level.shift;
        if (upper >> level.bits == prefix) {
          ++bins[upper & (bins.size() - 1)];
        }
      }
    }
    std::size_t bin = bins.size() - 1;
    for (; bin > 0 && bins[bin] < k; --bin) {
      k -= bins[bin];
    }
    prefix = prefix << level.bits | static_cast<std::uint32_t>(bin);
  }
  return prefix == 0 ? MagnitudeCut{} : MagnitudeCut{.threshold = prefix, .ties = k};
}

// Sets the marks of one chunk; returns how many blocks were poisoned.
std::size_t mark_chunk(const Delta& delta,
                       std::size_t start,
                       std::uint32_t threshold,
                       std::uint64_t* marks) {
  const std::size_t count = std::min(kChunk, delta.count() - start);
  const std::size_t whole = count / kBlock;
  MarkRun run{.x = delta.x() + start,
              .hat = delta.hat() == nullptr ? nullptr : delta.hat() + start,
              .blocks = whole,
              .threshold = threshold};
  std::size_t poisoned = mark_at_least(run, marks);
  if (whole * kBlock < count) {
    const std::array<float, kBlock> block = block_of(delta, start / kBlock + whole);
    run = {.x = block.data(), .blocks = 1, .threshold = threshold};
    poisoned += mark_at_least(run, marks + whole * kBlock / 64);
  }
  return poisoned;
}

// Appends what one chunk has at or above the cut.
void append_marked(const Delta& delta,
                   std::size_t start,
                   std::span<const std::uint64_t> marks,
                   MagnitudeCut& cut,
                   ChosenValues& chosen) {
  std::array<std::uint16_t, kChunk + 1> offsets;  // one in vain
  std::array<float, kChunk> values;
  const std::size_t in_frame = start % message::kFrameCount;
  std::size_t found = 0;
  for (std::size_t word = 0; word < marks.size(); ++word) {
    std::uint64_t left = marks[word];
    const auto take = [&] {
      const int bit = std::countr_zero(left | std::uint64_t{1} << 63U);
      offsets[found] =
          static_cast<std::uint16_t>(in_frame + word * 64 + static_cast<unsigned>(bit));
      found += left != 0 ? 1 : 0;
      left &= left - 1;
    };
    // Most words have at most one: a take in vain costs less than a branch that is guessed wrong.
    take();
    while (left != 0) {
      take();
    }
  }
  for (std::size_t k = 0; k < found; ++k) {
    values[k] = delta.at(start - in_frame + offsets[k]);
  }
  if (cut.ties != MagnitudeCut::kAllTies) {
    found = keep_chosen(
        {.offsets = std::span(offsets).first(found), .values = std::span(values).first(found)}, cut,
        offsets.data(), values.data());
  }
  chosen.offsets.insert(chosen.offsets.end(), offsets.data(), offsets.data() + found);
  chosen.values.insert(chosen.values.end(), values.data(), values.data() + found);
}

}  // namespace

std::size_t kept_count(double density, std::size_t count) {
  HOBNOB_CHECK(density > 0.0 && density <= 1.0, "density is not in (0, 1]");
  const double kept = std::ceil(density * static_cast<double>(count));
  return std::min(static_cast<std::size_t>(kept), count);
}

std::optional<ChosenValues> collect(const Delta& delta, MagnitudeCut cut, std::size_t limit) {
  ChosenValues chosen;
  const std::size_t expected = std::min(limit, delta.count());
  chosen.offsets.reserve(expected);
  chosen.values.reserve(expected);
  std::array<std::uint64_t, kChunk / 64> marks;
  std::size_t poisoned = 0;
  for (std::size_t start = 0; start < delta.count(); start += kChunk) {
    const std::size_t end = std::min(start + kChunk, delta.count());
    poisoned += mark_chunk(delta, start, cut.threshold, marks.data());
    const std::size_t words = message::blocks_of(end - start) * kBlock / 64;
    append_marked(delta, start, std::span(marks).first(words), cut, chosen);
    if (chosen.count() > limit) {
      return std::nullopt;
    }
    if (end % message::kFrameCount == 0 || end == delta.count()) {
      chosen.frame_ends.push_back(chosen.count());
      chosen.frame_poisoned.push_back(std::exchange(poisoned, 0));
    }
  }
  return chosen;
}

ChosenValues select_top_k(const Delta& delta, std::size_t k) {
  k = std::min(k, delta.count());
  if (k == 0) {
    return *collect(delta, {.threshold = element::kInt8Poison}, 0);
  }
  const MagnitudeSample sample(delta);
  for (const unsigned width : {4U, 24U}) {
    const Bracket bracket = bracket_of(sample, delta, k, width);
    auto chosen = collect(delta, {.threshold = bracket.low}, k + k / 2 + message::kFrameCount);
    if (chosen && (chosen->count() >= k || bracket.low == 1)) {
      trim(*chosen, cut_among(chosen->values, k, bracket.high));
      return std::move(*chosen);
    }
  }
  return *collect(delta, exact_cut(delta, k), k);
}

}  // namespace hobnob
