#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Integer hashes that every peer computes alike, on every machine. Not for keeping secrets.

namespace hobnob {

// The splitmix64 finaliser (Steele, Lea, Flood 2014): mix64(0) = e220a8397b1dcdaf.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// The hash of three words that all schedules are built on: hash3(3, 0, 1) = 2c184487f9c4e1a6.
constexpr std::uint64_t hash3(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t kPi = 0x243F6A8885A308D3ULL;
  return mix64(mix64(mix64(kPi ^ mix64(a)) ^ mix64(b)) ^ mix64(c));
}

// 64-bit content hash: four multiply-rotate lanes over little-endian words (the xxHash shape).
// Finds accidents (a torn frame, diverged replicas); it does not stop an adversary.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace hobnob
