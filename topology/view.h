#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/peer_id.h"

namespace hobnob {

// Who takes part: an immutable set of peers, sorted by id. The rank of a peer is its place in that
// order. Equal sets have equal digests, whatever order the peers were given in.
class MembershipView {
 public:
  MembershipView() = default;
  // Duplicates are dropped. O(n log n).
  explicit MembershipView(std::vector<PeerId> peers);

  std::size_t size() const { return peers_.size(); }

  const std::vector<PeerId>& peers() const { return peers_; }

  const PeerId& at(std::size_t rank) const { return peers_[rank]; }

  std::optional<std::uint32_t> rank(const PeerId& peer) const;

  std::uint64_t digest() const { return digest_; }

  bool operator==(const MembershipView&) const = default;

 private:
  std::vector<PeerId> peers_;
  std::uint64_t digest_ = 0;
};

}  // namespace hobnob
