#include "gossip/edge_table.h"

#include <algorithm>

namespace hobnob {

std::size_t Edge::in_flight() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots, [](const EdgeSlot& slot) { return slot.pending != nullptr; }));
}

Edge& EdgeTable::at(const PeerId& peer) {
  auto found = edges_.find(peer);
  if (found == edges_.end()) {
    if (edges_.size() >= max_edges_) {
      evict_one();
    }
    found = edges_.emplace(peer, Edge{}).first;
    found->second.slots.resize(fragments_);
    found->second.stats.peer = peer;
    const auto dropped = dropped_.find(peer);
    if (dropped != dropped_.end()) {
      for (std::size_t k = 0; k < fragments_; ++k) {
        found->second.slots[k].done = dropped->second[k];
      }
      dropped_.erase(dropped);
    }
  }
  found->second.last_used = ++uses_;
  return found->second;
}

Edge* EdgeTable::find(const PeerId& peer) {
  const auto found = edges_.find(peer);
  return found == edges_.end() ? nullptr : &found->second;
}

const Edge* EdgeTable::find(const PeerId& peer) const {
  const auto found = edges_.find(peer);
  return found == edges_.end() ? nullptr : &found->second;
}

void EdgeTable::drop(const PeerId& peer) {
  const auto found = edges_.find(peer);
  if (found == edges_.end()) {
    return;
  }
  on_drop_(peer, found->second);
  if (dropped_.size() >= kMaxMembers) {
    dropped_.erase(dropped_.begin());
  }
  std::vector<std::uint64_t>& seqs = dropped_[peer];
  seqs.clear();
  for (const EdgeSlot& slot : found->second.slots) {
    seqs.push_back(slot.done);
  }
  edges_.erase(found);
}

void EdgeTable::erase(const PeerId& peer) {
  drop(peer);
  dropped_.erase(peer);
}

void EdgeTable::evict_one() {
  auto oldest = edges_.end();
  for (auto each = edges_.begin(); each != edges_.end(); ++each) {
    const bool is_busy = each->second.in_flight() > 0 ||
                         std::ranges::any_of(each->second.slots, [](const EdgeSlot& slot) {
                           return !slot.held.empty();
                         });
    if ((!is_busy || each->second.is_dead) &&
        (oldest == edges_.end() || each->second.last_used < oldest->second.last_used)) {
      oldest = each;
    }
  }
  if (oldest != edges_.end()) {
    drop(PeerId(oldest->first));
  }
}

}  // namespace hobnob
