// EdgeExchange between transactions: neighbours that come back, leave, die or start anew, what such
// an end may have cost the mean of all, and the numbers shown. The protocol is in edge_exchange.cc.

#include <algorithm>
#include <utility>

#include "gossip/edge_exchange.h"

namespace hobnob {

void EdgeExchange::on_link_up(const PeerId& peer) {
  Edge* edge = edges_.find(peer);
  for (std::uint32_t fragment = 0; edge != nullptr && fragment < fragments_.size(); ++fragment) {
    if (edge->slots[fragment].pending) {
      ++edge->stats.retransmits;
      send_request(peer, fragment);
    }
  }
}

void EdgeExchange::on_drop(const PeerId& peer, Edge& edge) {
  trigger_.forget(peer);
  for (std::uint32_t fragment = 0; fragment < fragments_.size(); ++fragment) {
    channel_.drop({peer, fragment});
    const EdgeSlot& slot = edge.slots[fragment];
    if (slot.pending) {
      executor_.cancel(slot.pending->timer);
      count_one_sided(flow_at_risk(slot));
    }
    if (slot.unconfirmed > 0.0) {
      count_one_sided(slot.unconfirmed);
    }
  }
}

void EdgeExchange::forget(const PeerId& peer) {
  Edge* edge = edges_.find(peer);
  if (edge == nullptr) {
    return;
  }
  if (edge->in_flight() > 0) {
    edge->is_dead = true;  // the last answer may be on its way
    return;
  }
  edges_.drop(peer);
}

void EdgeExchange::confirm_all(const PeerId& peer) {
  Edge* edge = edges_.find(peer);
  if (edge != nullptr) {
    for (EdgeSlot& slot : edge->slots) {
      slot.unconfirmed = 0.0;
    }
  }
}

void EdgeExchange::reset(const PeerId& peer) {
  Edge* edge = edges_.find(peer);
  for (std::uint32_t fragment = 0; edge != nullptr && fragment < fragments_.size(); ++fragment) {
    if (edge->slots[fragment].pending) {
      count_one_sided(flow_at_risk(edge->slots[fragment]));
      settle_pending(peer, fragment, false);
    }
  }
  edges_.erase(peer);
}

void EdgeExchange::set_dead(const PeerId& peer, bool is_dead) {
  Edge* edge = edges_.find(peer);
  if (edge == nullptr) {
    return;
  }
  edge->is_dead = is_dead;
  for (EdgeSlot& slot : edge->slots) {
    if (is_dead && slot.unconfirmed > 0.0) {
      count_one_sided(std::exchange(slot.unconfirmed, 0.0));
    }
  }
}

bool EdgeExchange::is_in_flight(const PeerId& peer, std::uint32_t fragment) const {
  const Edge* edge = edges_.find(peer);
  return edge != nullptr && edge->slots[fragment].pending != nullptr;
}

std::size_t EdgeExchange::in_flight(const PeerId& peer) const {
  const Edge* edge = edges_.find(peer);
  return edge == nullptr ? 0 : edge->in_flight();
}

std::size_t EdgeExchange::in_flight() const {
  std::size_t count = 0;
  for (const auto& [peer, edge] : edges_.all()) {
    count += edge.in_flight();
  }
  return count;
}

std::vector<EdgeStats> EdgeExchange::stats() const {
  std::vector<EdgeStats> all;
  for (const auto& [peer, edge] : edges_.all()) {
    EdgeStats stats = edge.stats;
    for (const EdgeSlot& slot : edge.slots) {
      stats.seq = std::max(stats.seq, slot.done);
    }
    stats.in_flight = static_cast<std::uint32_t>(edge.in_flight());
    all.push_back(std::move(stats));
  }
  return all;
}

// ---- Transactions that perhaps one end alone applied. ----

// The other end has settled all up to this seq, so it has the answers to them.
void EdgeExchange::confirm(EdgeSlot& slot, std::uint64_t settled_there) {
  if (settled_there < slot.done && slot.unconfirmed > 0.0) {
    count_one_sided(slot.unconfirmed);
  }
  slot.unconfirmed = 0.0;
}

void EdgeExchange::count_one_sided(double flow) {
  ++totals_.one_sided;
  totals_.one_sided_flow += flow;
}

// Of a request without an answer, which the other end may have applied: what it moves is not known,
// so the last transaction stands for it.
double EdgeExchange::flow_at_risk(const EdgeSlot& slot) const {
  return config_.gamma * slot.pending->proposal.value() * slot.distance;
}

}  // namespace hobnob
