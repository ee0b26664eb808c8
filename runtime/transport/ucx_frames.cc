#include "runtime/transport/ucx_frames.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {
namespace {

// A sender has at most kMaxChunksInFlight frames unfinished; small ones leave it before they arrive
// here.
constexpr std::uint64_t kMaxFramesAhead = 64;
constexpr std::uint64_t kSmallFramesBytes = std::uint64_t{4} << 20U;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

Error malformed(const char* what) {
  return make_error(ErrorCode::kMalformed, "bulk frame: %s", what);
}

// The allocator gives large frames fresh memory each time: with 4 KiB pages faulting it in costs
// more than filling it.
void ask_for_huge_pages(std::byte* start, std::size_t size) {
  if (size < 2 * kHugePageBytes) {
    return;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t first = (address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const std::uintptr_t end = (address + size) / kHugePageBytes * kHugePageBytes;
  // Advice: failure changes nothing but speed.
  ::madvise(start + (first - address), end - first, MADV_HUGEPAGE);
}

}  // namespace

void encode(const ChunkHeader& header, Bytes& out) {
  ByteWriter writer(out);
  writer.put(header.token);
  writer.put(header.to_dialer);
  writer.put(header.frame);
  writer.put(header.frame_bytes);
  writer.put(header.offset);
}

Result<ChunkHeader> decode_chunk_header(ByteSpan bytes) {
  ByteReader reader(bytes);
  ChunkHeader header;
  header.token = reader.get<std::uint64_t>();
  header.to_dialer = reader.get<std::uint8_t>();
  header.frame = reader.get<std::uint64_t>();
  header.frame_bytes = reader.get<std::uint64_t>();
  header.offset = reader.get<std::uint64_t>();
  if (!reader.done() || header.to_dialer > 1) {
    return malformed("bad chunk header");
  }
  return header;
}

Result<FrameAssembler::Open*> FrameAssembler::open(const ChunkHeader& chunk) {
  if (chunk.frame_bytes > limits_.max_frame_bytes) {
    return make_error(ErrorCode::kMalformed, "bulk frame: %llu bytes, limit %zu",
                      static_cast<unsigned long long>(chunk.frame_bytes), limits_.max_frame_bytes);
  }
  if (chunk.frame < next_frame_ || chunk.frame - next_frame_ >= kMaxFramesAhead) {
    return malformed("number out of order");
  }
  const auto found = frames_.find(chunk.frame);
  if (found != frames_.end()) {
    return found->second.frame_bytes == chunk.frame_bytes
               ? Result<Open*>(&found->second)
               : Result<Open*>(malformed("its length changes"));
  }
  if (open_bytes_ + chunk.frame_bytes >
      2 * std::uint64_t{limits_.max_frame_bytes} + kSmallFramesBytes) {
    return malformed("too many unfinished");
  }
  open_bytes_ += chunk.frame_bytes;
  Open& fresh = frames_[chunk.frame];
  fresh.frame_bytes = chunk.frame_bytes;
  fresh.chunks_left = count_chunks(chunk.frame_bytes, limits_.chunk_bytes);
  fresh.placed.resize(fresh.chunks_left);
  fresh.bytes.reserve(static_cast<std::size_t>(chunk.frame_bytes));
  ask_for_huge_pages(fresh.bytes.data(), fresh.bytes.capacity());
  return &fresh;
}

Result<std::byte*> FrameAssembler::place(const ChunkHeader& chunk, std::size_t length) {
  const Result<Open*> opened = open(chunk);
  if (!opened.ok()) {
    return opened.error();
  }
  Open& frame = *opened.value();
  const bool is_inside = chunk.offset < frame.frame_bytes || chunk.offset == 0;
  if (!is_inside || chunk.offset % limits_.chunk_bytes != 0 ||
      length != std::min<std::uint64_t>(limits_.chunk_bytes, frame.frame_bytes - chunk.offset)) {
    return malformed("a chunk of the wrong size or place");
  }
  const std::size_t index = static_cast<std::size_t>(chunk.offset / limits_.chunk_bytes);
  if (frame.placed[index]) {
    return malformed("a chunk came twice");
  }
  frame.placed[index] = true;
  const std::size_t end = static_cast<std::size_t>(chunk.offset) + length;
  // Within what was reserved: the bytes of other chunks do not move.
  if (frame.bytes.size() < end) {
    frame.bytes.resize(end);
  }
  return frame.bytes.data() + chunk.offset;
}

void FrameAssembler::landed(std::uint64_t frame) {
  const auto found = frames_.find(frame);
  HOBNOB_CHECK(found != frames_.end() && found->second.chunks_left > 0, "chunk of no open frame");
  --found->second.chunks_left;
}

std::optional<Bytes> FrameAssembler::take() {
  const auto found = frames_.find(next_frame_);
  if (found == frames_.end() || found->second.chunks_left > 0) {
    return std::nullopt;
  }
  Bytes bytes = std::move(found->second.bytes);
  open_bytes_ -= found->second.frame_bytes;
  frames_.erase(found);
  ++next_frame_;
  return bytes;
}

}  // namespace hobnob
