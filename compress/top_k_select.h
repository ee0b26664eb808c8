#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "compress/delta.h"

// Which values of a vector are worth sending: the k largest, without sorting them. Magnitudes are
// compared as integers (element::magnitude_bits), so all machines choose alike. Zeros are never
// chosen, and nothing of a block of 256 that holds an infinity, a NaN or a magnitude of 2^126 or
// more.

namespace hobnob {

// Chosen are the magnitudes above `threshold`, and in order of index the first `ties` equal to it.
struct MagnitudeCut {
  static constexpr std::size_t kAllTies = std::numeric_limits<std::size_t>::max();

  std::uint32_t threshold = 1;
  std::size_t ties = kAllTies;
};

// In order of index, grouped by frame of 65,536.
struct ChosenValues {
  struct Frame {
    std::span<const std::uint16_t> offsets;  // in the frame, increasing
    std::span<const float> values;
  };

  std::vector<std::uint16_t> offsets;
  std::vector<float> values;
  std::vector<std::size_t> frame_ends;      // where in `offsets` each frame's end
  std::vector<std::size_t> frame_poisoned;  // blocks of each frame

  std::size_t count() const { return offsets.size(); }

  Frame frame(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : frame_ends[index - 1];
    const std::size_t count = frame_ends[index] - begin;
    return {.offsets = std::span(offsets).subspan(begin, count),
            .values = std::span(values).subspan(begin, count)};
  }
};

// ceil(density x count): how many values a codec of that density sends.
std::size_t kept_count(double density, std::size_t count);

// What the cut chooses, in one pass over memory; nothing when it is more than `limit` values.
std::optional<ChosenValues> collect(const Delta& delta, MagnitudeCut cut, std::size_t limit);

// The k values of largest magnitude, of equal ones the first; fewer if fewer are not zero. A
// histogram of 1/64 of the cache lines brackets the k-th magnitude, one pass collects what reaches
// the lower end, and the exact place is found among those few. A vector that the sample misjudges
// takes four passes more.
ChosenValues select_top_k(const Delta& delta, std::size_t k);

}  // namespace hobnob
