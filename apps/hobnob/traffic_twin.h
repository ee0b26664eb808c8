#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/bytes.h"

namespace hobnob {

// The memory that one pass of a codec loads and stores. Arrays that are empty take no part; the
// others are passed over side by side, each from its begin to its end.
struct Traffic {
  std::span<const float> values;  // loaded
  std::span<float> state;         // loaded and stored
  std::vector<ByteSpan> in;       // messages loaded
  std::span<std::byte> out;       // message stored

  double bytes() const;
};

// The same loads and stores with next to no arithmetic: no codec with this traffic is faster by
// much. Returns something that depends on all that was loaded.
std::uint64_t run_twin(const Traffic& traffic);

}  // namespace hobnob
