#pragma once

#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/base/rng.h"
#include "runtime/wire/frame.h"

namespace hobnob::testing {

inline Bytes random_bytes(Rng& rng, std::size_t count) {
  Bytes bytes;
  bytes.reserve(count + sizeof(std::uint32_t));
  ByteWriter writer(bytes);
  while (writer.size() < count) {
    writer.put(rng.next_u32());
  }
  bytes.resize(count);
  return bytes;
}

// A frame of `size` bytes in all, header included, that carries `number`.
inline Bytes numbered_frame(std::uint64_t number, std::size_t size, bool bulk) {
  Rng rng({.seed = number, .stream = size});
  const Bytes payload = random_bytes(rng, size - kFrameHeaderBytes);
  return encode_frame(
      {.kind = bulk ? FrameKind::kEdgeRequest : FrameKind::kMembers, .round = number}, payload);
}

// The number of a whole frame; UINT64_MAX of anything else.
inline std::uint64_t number_of(ByteSpan bytes) {
  const Result<Frame> frame = parse_frame(bytes);
  return frame.ok() ? frame.value().header.round : UINT64_MAX;
}

}  // namespace hobnob::testing
