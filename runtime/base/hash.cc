#include "runtime/base/hash.h"

#include <bit>
#include <cstring>

#include "runtime/base/bytes.h"

static_assert(std::endian::native == std::endian::little,
              "hobnob's byte layouts assume little endian");

namespace hobnob {

namespace {

constexpr std::uint64_t kA = 0x9E3779B185EBCA87ULL;
constexpr std::uint64_t kB = 0xC2B2AE3D27D4EB4FULL;

std::uint64_t absorb(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kB, 31) * kA;
}

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t lanes[4] = {seed + kA, seed + kB, seed ^ kA, seed ^ kB};
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 32; p += 32, left -= 32) {
    for (int k = 0; k < 4; ++k) {
      lanes[k] = absorb(lanes[k], load_value<std::uint64_t>(p + 8 * k));
    }
  }
  std::uint64_t hash = mix64(lanes[0]) ^ std::rotl(mix64(lanes[1]), 7) ^
                       std::rotl(mix64(lanes[2]), 12) ^ std::rotl(mix64(lanes[3]), 18);
  for (; left >= 8; p += 8, left -= 8) {
    hash = absorb(hash, load_value<std::uint64_t>(p));
  }
  std::uint64_t tail = 0;
  if (left > 0) {
    std::memcpy(&tail, p, left);
  }
  return mix64(absorb(hash, tail) ^ bytes.size());
}

}  // namespace hobnob
