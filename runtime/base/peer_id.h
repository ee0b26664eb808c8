#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/hash.h"

namespace hobnob {

// Who a peer is, for the life of its process (or of its state directory). Ordered; the order is the
// same everywhere.
struct PeerId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const PeerId&) const = default;

  // 64 bits for hashing; a small id is its own key, which the golden vectors use.
  std::uint64_t key() const { return low ^ (high == 0 ? 0 : mix64(high)); }

  // What hex() wrote; nothing for other text.
  static std::optional<PeerId> parse(std::string_view text);

  // 32 hex digits, and the first 8 of them for people.
  std::string hex() const;

  std::string short_hex() const { return hex().substr(0, 8); }
};

}  // namespace hobnob
