#pragma once

#include <array>
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

constexpr std::size_t kParameterBytes = 24;
using Parameters = std::array<std::byte, kParameterBytes>;

// The same for a message whose length follows the values: `total` bytes, and parameters.
void write_varying_header(CodecId codec,
                          std::size_t count,
                          const Parameters& parameters,
                          std::size_t total,
                          std::byte* at);

// What a message's header must hold for the bytes before it.
std::uint64_t header_checksum(const std::byte* at);

}  // namespace hobnob::message
