#pragma once

#include <cstddef>
#include <cstdint>

// The hot loop of threshold selection, for the best instruction set of the machine.

namespace hobnob {

struct MarkRun {
  const float* x = nullptr;
  const float* hat = nullptr;  // what is marked is x - hat; null: x
  std::size_t blocks = 0;      // whole blocks of 256 values
  std::uint32_t threshold = 1;
};

// Bit k of `marks` (4 words for a block): whether |value k| >= threshold, as integers. A block that
// holds a magnitude of kInt8Poison or more is not marked at all; returns how many there were.
std::size_t mark_at_least(const MarkRun& run, std::uint64_t* marks);

}  // namespace hobnob
