#pragma once

#include <cstdint>
#include <vector>

#include "gossip/workload.h"

namespace hobnob {

// A run of the flat parameter vector that is triggered, encoded, sent and mixed on its own.
struct Fragment {
  std::size_t offset = 0;
  std::size_t count = 0;

  bool operator==(const Fragment&) const = default;
};

// Cuts at tensor boundaries so that each fragment has about `target` values; only a tensor longer
// than 2 x target is itself cut, into equal parts. The fragments cover the vector in order. Every
// peer of a job gets the same cut.
std::vector<Fragment> cut_fragments(const std::vector<TensorInfo>& tensors, std::size_t target);

}  // namespace hobnob
