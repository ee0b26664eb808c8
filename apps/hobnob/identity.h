#pragma once

#include <cstdint>
#include <random>

#include "runtime/base/peer_id.h"

namespace hobnob {

// From the machine's entropy: the one place where a run is not a function of its seed.
inline std::uint64_t random_word() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

inline PeerId random_peer_id() {
  return {random_word(), random_word()};
}

}  // namespace hobnob
