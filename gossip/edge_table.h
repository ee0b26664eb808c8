#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop/executor.h"
#include "runtime/wire/messages.h"
#include "topology/mixing_matrix.h"

namespace hobnob {

// For people and metrics.
struct EdgeStats {
  PeerId peer;
  Weight weight;  // of the last transaction
  std::uint64_t seq = 0;
  std::uint64_t transactions = 0;
  std::uint64_t retransmits = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // Of what this peer held of the neighbour, first fragment, after transaction replica_hash_seq;
  // the neighbour's word for the same seq is equal, or the replicas differ.
  std::uint64_t replica_hash = 0;
  std::uint64_t replica_hash_seq = 0;
  std::uint32_t in_flight = 0;      // fragments
  double consensus_distance = 0.0;  // |x_j - x_i| at the last transaction
  std::string last_error;
};

// This end's request, until it is answered.
struct PendingRequest {
  std::uint64_t seq = 0;
  FrameHeader header;
  Bytes payload;  // edge head, then the codec's bytes
  Weight proposal;
  std::uint64_t charged_round = 0;  // whose value's weight the proposal has been taken from
  Time begun{0};
  TimerId timer = 0;
  Duration wait{0};
};

// One fragment of one edge.
struct EdgeSlot {
  std::uint64_t done = 0;  // seq of the last transaction settled here
  std::unique_ptr<PendingRequest> pending;
  FrameHeader answer;  // to the last request applied or refused here, sent again when asked again
  Bytes answer_payload;
  Bytes held;                    // a request of a round to come, whole frame
  double distance = 0.0;         // |x_j - x_i| at the last transaction
  std::uint64_t sent_round = 0;  // when this end last had something to say
  // |flow| of the last answer, until the other end is known to have it.
  double unconfirmed = 0.0;
};

struct Edge {
  std::vector<EdgeSlot> slots;  // by fragment
  std::uint64_t last_used = 0;
  bool is_dead = false;
  EdgeStats stats;

  std::size_t in_flight() const;  // fragments
};

// What is kept of each neighbour, bounded: over the limit the least recently met edge with nothing
// in flight goes, and the next meeting costs a snapshot. Its seqs stay: one used twice would pass
// for a late copy at the other end.
class EdgeTable {
 public:
  using Edges = std::map<PeerId, Edge>;
  // Before an edge goes, with what is pending on it.
  using OnDrop = std::function<void(const PeerId&, Edge&)>;

  EdgeTable(std::size_t max_edges, std::size_t fragments, OnDrop on_drop)
      : max_edges_(max_edges), fragments_(fragments), on_drop_(std::move(on_drop)) {}

  // Makes it where there is none. More than max_edges only while all others are in flight.
  Edge& at(const PeerId& peer);
  Edge* find(const PeerId& peer);
  const Edge* find(const PeerId& peer) const;

  // The seqs stay.
  void drop(const PeerId& peer);
  // The seqs go too.
  void erase(const PeerId& peer);

  Edges& all() { return edges_; }

  const Edges& all() const { return edges_; }

 private:
  void evict_one();

  const std::size_t max_edges_;
  const std::size_t fragments_;
  OnDrop on_drop_;
  Edges edges_;
  std::map<PeerId, std::vector<std::uint64_t>> dropped_;  // seqs settled on edges dropped
  std::uint64_t uses_ = 0;
};

}  // namespace hobnob
