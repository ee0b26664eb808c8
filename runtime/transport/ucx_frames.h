#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

// How frames travel in chunks, and what a receiver believes of it. Nothing here knows UCX.

namespace hobnob {

struct FrameLimits {
  std::size_t max_frame_bytes = 0;
  // The same at both ends.
  std::size_t chunk_bytes = 0;
};

// Large enough for full speed, small enough to cancel.
constexpr std::size_t kTcpChunkBytes = std::size_t{1} << 20U;
// With its headers inside one segment of shared memory (ucx_worker.cc): UCX then hands the segment
// over as it is. Of longer messages it makes one more copy, and its rendezvous goes over TCP
// because posix cannot put.
constexpr std::size_t kSharedMemoryChunkBytes = 30000;

// Goes before each chunk as the header of its active message.
struct ChunkHeader {
  std::uint64_t token = 0;     // the lane's
  std::uint8_t to_dialer = 0;  // a process may hold both ends of a lane
  std::uint64_t frame = 0;     // 0, 1, ... within the lane and direction
  std::uint64_t frame_bytes = 0;
  std::uint64_t offset = 0;
};

void encode(const ChunkHeader& header, Bytes& out);
Result<ChunkHeader> decode_chunk_header(ByteSpan bytes);

constexpr std::size_t count_chunks(std::uint64_t frame_bytes, std::size_t chunk_bytes) {
  return frame_bytes == 0 ? 1 : static_cast<std::size_t>((frame_bytes - 1) / chunk_bytes + 1);
}

// Puts the chunks of one direction of a lane together again. Chunks start in order, but the data of
// a large one may land after a later, small one.
class FrameAssembler {
 public:
  explicit FrameAssembler(const FrameLimits& limits) : limits_(limits) {}

  // Where the chunk's bytes go: valid until its frame is taken. kMalformed when the chunk fits no
  // frame that a sender may have open; memory is reserved after that test and touched only as
  // chunks arrive.
  Result<std::byte*> place(const ChunkHeader& chunk, std::size_t length);
  // The bytes of a placed chunk are there.
  void landed(std::uint64_t frame);
  // The next frame in order, once it is whole.
  std::optional<Bytes> take();

 private:
  struct Open {
    Bytes bytes;
    std::uint64_t frame_bytes = 0;
    std::vector<bool> placed;
    std::size_t chunks_left = 0;
  };

  Result<Open*> open(const ChunkHeader& chunk);

  const FrameLimits limits_;
  std::map<std::uint64_t, Open> frames_;
  std::uint64_t next_frame_ = 0;
  std::uint64_t open_bytes_ = 0;
};

}  // namespace hobnob
