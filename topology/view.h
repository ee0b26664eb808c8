#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/peer_id.h"

namespace hobnob {

// A peer as topologies see it.
struct ViewMember {
  PeerId id;
  // Peers of one site share a fast network; between sites it is slow.
  std::uint32_t site = 0;
  // Others can dial it. Of two peers that cannot listen (both behind NAT) neither reaches the
  // other.
  bool can_listen = true;

  auto operator<=>(const ViewMember&) const = default;
};

// Who takes part: an immutable set of peers, sorted by id. The rank of a peer is its place in that
// order. Views of equal members have equal digests, whatever order they were given in.
class MembershipView {
 public:
  MembershipView() = default;
  // All in one site, all listening. Duplicates are dropped. O(n log n).
  explicit MembershipView(std::vector<PeerId> peers);
  // The ids 1 .. size, which are their own hash keys: for looking at schedules.
  static MembershipView numbered(std::size_t size);
  // Of members with one id the least stays, by site and then by can_listen.
  explicit MembershipView(std::vector<ViewMember> members);

  std::size_t size() const { return peers_.size(); }

  const std::vector<PeerId>& peers() const { return peers_; }

  const PeerId& at(std::size_t rank) const { return peers_[rank]; }

  std::optional<std::uint32_t> rank(const PeerId& peer) const;

  std::uint32_t site(std::uint32_t rank) const { return traits_.empty() ? 0 : traits_[rank].site; }

  bool can_listen(std::uint32_t rank) const { return traits_.empty() || traits_[rank].can_listen; }

  // At least one of the two can be dialled.
  bool can_meet(std::uint32_t a, std::uint32_t b) const { return can_listen(a) || can_listen(b); }

  // Every pair can.
  bool can_all_meet() const { return deaf_ < 2; }

  std::uint64_t digest() const { return digest_; }

  bool operator==(const MembershipView&) const = default;

 private:
  struct Traits {
    std::uint32_t site = 0;
    bool can_listen = true;

    bool operator==(const Traits&) const = default;
  };

  std::vector<PeerId> peers_;
  std::vector<Traits> traits_;  // by rank; empty when all have the defaults
  std::size_t deaf_ = 0;        // who cannot listen
  std::uint64_t digest_ = 0;
};

}  // namespace hobnob
