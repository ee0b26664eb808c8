#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compress/codec.h"
#include "compress/message.h"
#include "runtime/base/bytes.h"

// A message taken apart as its own bytes say, damaged or not: for people who look into one, and for
// tests that damage them. Decoders have no use for it: they know what must be there.

namespace hobnob::message {

struct HeaderFields {
  std::uint32_t magic = 0;
  std::uint8_t version = 0;
  std::uint8_t codec = 0;
  std::uint8_t type = 0;
  std::uint8_t frame_log2 = 0;
  std::uint8_t block_log2 = 0;
  std::uint64_t count = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t checksum = 0;
};

// Of at least kHeaderBytes.
HeaderFields read_header(ByteSpan bytes);

struct FrameFields {
  std::size_t offset = 0;  // of its header, from the message's begin
  std::size_t count = 0;   // values
  std::size_t scale_bytes = 0;
  std::size_t payload_bytes = 0;    // without padding
  std::size_t payload_section = 0;  // with padding
  std::uint64_t checksum = 0;
  std::uint32_t flags = 0;

  std::size_t body_offset() const;
  std::size_t body_bytes() const;
  // Of the body, what the checksum is of: padding too, but where lengths follow the values.
  std::size_t checked_bytes = 0;
};

// The frames of a message with at least a header, in order, up to the first that its header or the
// end of the bytes leaves no room for. `count` and `type` are the message's; at most
// bytes.size() / kFrameHeaderBytes frames whatever `count` is. Messages of low rank hold messages,
// not frames: none.
std::vector<FrameFields> read_frames(const Codec& codec,
                                     std::size_t count,
                                     DType type,
                                     ByteSpan bytes);

// Puts the right length and checksums into a message with at least a header, as a peer with bad
// intentions would.
void seal(const Codec& codec, std::size_t count, DType type, std::span<std::byte> bytes);

}  // namespace hobnob::message
