#include "compress/message_header.h"

#include <algorithm>

#include "runtime/base/bytes.h"
#include "runtime/base/hash.h"

namespace hobnob::message {

namespace {

constexpr std::uint8_t kFrameLog2 = 16;
constexpr std::uint8_t kBlockLog2 = 8;

}  // namespace

void write_header(const Layout& layout, std::size_t count, std::byte* at) {
  std::fill_n(at, kHeaderBytes, std::byte{0});
  store_value(at + kMagicAt, kMagic);
  store_value(at + kVersionAt, kVersion);
  store_value(at + kCodecAt, static_cast<std::uint8_t>(layout.codec));
  store_value(at + kTypeAt, static_cast<std::uint8_t>(layout.type));
  store_value(at + kFrameLog2At, kFrameLog2);
  store_value(at + kBlockLog2At, kBlockLog2);
  store_value(at + kCountAt, std::uint64_t{count});
  store_value(at + kTotalBytesAt, std::uint64_t{message_bytes(layout.block, count)});
  store_value(at + kChecksumAt, header_checksum(at));
}

void write_varying_header(CodecId codec,
                          std::size_t count,
                          const Parameters& parameters,
                          std::size_t total,
                          std::byte* at) {
  write_header({.codec = codec}, count, at);
  store_value(at + kTotalBytesAt, std::uint64_t{total});
  std::ranges::copy(parameters, at + kParametersAt);
  store_value(at + kChecksumAt, header_checksum(at));
}

std::uint64_t header_checksum(const std::byte* at) {
  return hash_bytes({at, kChecksumAt});
}

}  // namespace hobnob::message
