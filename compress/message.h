#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/codec.h"
#include "compress/message_header.h"
#include "runtime/base/bytes.h"

// What all codecs of fixed length do to a message: frame headers, and the check of both kinds.

namespace hobnob::message {

// "decode failed: WHY"
Error malformed(const char* why);

bool is_zero(ByteSpan bytes);

// Fills kFrameHeaderBytes at `at` for the body that follows them.
void write_frame_header(const FrameShape& shape,
                        std::size_t frame_index,
                        bool has_poison,
                        std::byte* at);

// Everything but the meaning of scales and payload: lengths, header, checksums, flags, zero
// padding.
Result<void> check_message(const Layout& layout, std::size_t count, ByteSpan bytes);
// What a frame's header must hold for its body.
std::uint64_t frame_checksum(ByteSpan body, std::size_t frame_index, std::uint32_t flags);

// Of a checked message; `at` points to the frame's header.
std::uint32_t frame_flags(const std::byte* at);

}  // namespace hobnob::message
