#pragma once

#include <cstdint>
#include <map>

#include "topology/view.h"

namespace hobnob {

// Who takes part in which epoch, agreed without a coordinator: every join and every leave takes
// effect kActivationEpochs after the epoch it was made in, by when all have heard of it, and the
// view of an epoch is a pure function of what is known. Sets merge as a join of lattices (a
// state-based CRDT; Shapiro et al. 2011): any order, any repetition, the same result.
//
// A peer may have several lives, one per incarnation: whoever was declared gone by mistake comes
// back with a greater one, and is a member while any of its lives is. Within one the earlier join
// and the earlier leave stand. So news made in an epoch change no view up to the next one. Of each
// peer the kMaxLives newest are kept. Value type.
class MemberSet {
 public:
  static constexpr std::uint64_t kActivationEpochs = 2;
  static constexpr std::uint64_t kNever = UINT64_MAX;
  static constexpr std::size_t kMaxLives = 4;

  struct Entry {
    ViewMember member;
    std::uint32_t incarnation = 0;
    std::uint64_t joins_at = 0;        // the first epoch it is in
    std::uint64_t leaves_at = kNever;  // the first it is not in again

    bool operator==(const Entry&) const = default;
  };

  // What a peer that joins in `epoch` tells the others.
  void join(const ViewMember& member, std::uint32_t incarnation, std::uint64_t epoch);
  // It leaves in `epoch`, or was found dead. Of an incarnation that is not known nothing changes.
  void leave(const PeerId& peer, std::uint32_t incarnation, std::uint64_t epoch);

  void merge(const Entry& entry);
  void merge(const MemberSet& other);

  // O(n log n).
  MembershipView view(std::uint64_t epoch) const;

  // Equal sets have equal digests. O(n).
  std::uint64_t digest() const;

  // By incarnation.
  using Lives = std::map<std::uint32_t, Entry>;

  const std::map<PeerId, Lives>& peers() const { return peers_; }

  bool operator==(const MemberSet&) const = default;

 private:
  std::map<PeerId, Lives> peers_;
};

}  // namespace hobnob
