#pragma once

#include <cstddef>
#include <cstdint>

// What the codecs whose messages follow the values (compress/varying_frames.h) need on the device.

namespace hobnob::gpu {

// Blocks of the grid that work side by side, a frame each; each needs kFrameScratch bytes.
constexpr unsigned kFrameGrid = 264;
constexpr std::size_t kFrameScratch = std::size_t{1} << 20U;

struct VaryingOut {
  // As long as the codec's max_bytes(count), 16-byte aligned. The first 64 bytes, the header, are
  // left out: message::write_varying_header() makes it of the message's length.
  std::byte* message = nullptr;
  // (frames + 1,): where each frame begins, and where the message ends. Zeros before.
  std::uint64_t* offsets = nullptr;
  unsigned* ticket = nullptr;    // 0 before
  unsigned* poisoned = nullptr;  // blocks that were not sent are added to it
};

}  // namespace hobnob::gpu
