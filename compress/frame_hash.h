#pragma once

#include <cstdint>

#include "runtime/base/bytes.h"

namespace hobnob {

// Checksum of a frame's body, in the shape of a warp: 128 lanes of 32 bits, lane l takes words l, l
// + 128, ... of the bytes (zeros after the end) with the round of xxHash32, and the lanes are
// folded in no order. Not against an adversary: links are sealed for that. Same value on CPU and
// GPU.
std::uint64_t frame_hash(ByteSpan bytes, std::uint64_t seed);

}  // namespace hobnob
