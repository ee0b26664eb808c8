#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/codec.h"
#include "compress/frame_layout.h"

namespace hobnob::message {

constexpr std::uint32_t kMagic = 0x44434248;  // "HBCD"
constexpr std::uint8_t kVersion = 1;

struct Layout {
  CodecId codec = CodecId::kRaw;
  DType type = DType::kFloat32;
  BlockShape block;
};

// Fills kHeaderBytes at `at`.
void write_header(const Layout& layout, std::size_t count, std::byte* at);

// What a message's header must hold for the bytes before it.
std::uint64_t header_checksum(const std::byte* at);

}  // namespace hobnob::message
