#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gossip/channel.h"
#include "gossip/fragment.h"
#include "gossip/mixer.h"
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

struct EdgeExchangeConfig {
  PeerId self;
  bool reliable_transport = true;  // else requests are sent again until answered
  bool waits_for_round =
      true;  // a request of a round this peer has not reached is held until it has (not in async)
  std::size_t max_edges = 64;
  std::uint64_t stale_rounds =
      200;  // a request this far behind is voided: its value is too old to mix in
  Duration retransmit_floor = std::chrono::milliseconds(30);
};

// The edge transaction, for all neighbours and fragments: the one protocol by which models move.
// REQ carries the initiator's encoded value, REP the responder's; each end then adds +w (received -
// sent) to its flow, exactly once, whatever the network does. Stop and wait: at most one
// transaction per edge and fragment is in flight.
//
// seq counts an edge's transactions at both ends. A REQ is applied iff it is a snapshot with a
// greater seq, or its seq follows the last one settled here and its base is here; a repeated one
// gets the cached answer. NACK busy and past use the seq up, so a late copy can do nothing; NACK
// gap does not, and the snapshot that follows carries a seq above both ends'. When both ends ask at
// once the lower id's REQ stands. (algorithms.md 7.2)
//
// Gossip thread only.
class EdgeExchange {
 public:
  struct Events {
    std::function<bool(const PeerId&, FrameHeader, Bytes payload)> send;
    // The fragment of that edge need not be waited for any more: mixed, or refused.
    std::function<void(const PeerId&, std::uint32_t fragment, bool mixed)> on_settled;
    // The neighbour is at this round, or was when it sent this.
    std::function<void(const PeerId&, std::uint64_t round)> on_round_seen;
    // Asked about this peer's round, the neighbour answered from a later one: this peer has fallen
    // behind.
    std::function<void(const PeerId&, std::uint64_t round)> on_fell_behind;
  };

  EdgeExchange(Executor& executor,
               const EdgeExchangeConfig& config,
               std::vector<Fragment> fragments,
               Channel& channel,
               Mixer& mixer,
               Events events);
  ~EdgeExchange();
  EdgeExchange(const EdgeExchange&) = delete;
  EdgeExchange& operator=(const EdgeExchange&) = delete;

  // From now on `value` (d,), borrowed until the next call, is what this peer shows its neighbours.
  // `proposals` are its weights for the edges of this round; neighbours not named get what they ask
  // for.
  void publish(std::uint64_t round, ConstVec value, std::map<PeerId, Weight> proposals);
  // Answers the requests that were held for a round now published.
  void answer_held();
  // Starts a transaction. False when one is in flight, or the value's weight is used up.
  bool begin(const PeerId& peer, std::uint32_t fragment);

  void on_request(const PeerId& peer, const Frame& frame);
  void on_reply(const PeerId& peer, const Frame& frame);
  void on_nack(const PeerId& peer, const Frame& frame);
  // The neighbour has left for good: what was kept for it is freed.
  void forget(const PeerId& peer);
  // A dead neighbour's edge may be dropped for another's sake, with what is in flight.
  void set_dead(const PeerId& peer, bool is_dead);
  // Sends what is in flight again.
  void on_link_up(const PeerId& peer);

  // Refuses everything from now on (this peer is leaving).
  void stop() { is_stopped_ = true; }

  bool is_in_flight(const PeerId& peer, std::uint32_t fragment) const;
  std::size_t in_flight() const;
  std::vector<EdgeStats> stats() const;

  std::uint64_t poisoned_blocks() const { return poisoned_blocks_; }

 private:
  struct Pending {  // this end's request
    std::uint64_t seq = 0;
    FrameHeader header;
    Bytes payload;  // edge head, then the codec's bytes
    Weight proposal;
    std::uint64_t charged_round = 0;  // whose value's weight the proposal has been taken from
    Time begun{0};
    TimerId timer = 0;
    Duration wait{0};
  };

  struct Slot {              // one fragment of one edge
    std::uint64_t done = 0;  // seq of the last transaction settled here
    std::unique_ptr<Pending> pending;
    FrameHeader answer;  // to the last request applied or refused here, sent again when asked again
    Bytes answer_payload;
    Bytes held;  // a request of a round to come, whole frame
  };

  struct Edge {
    std::vector<Slot> slots;
    std::uint64_t last_used = 0;
    bool is_dead = false;
    EdgeStats stats;
  };

  Edge& edge(const PeerId& peer);
  void charge_in_flight();
  void evict_one();
  void drop(std::map<PeerId, Edge>::iterator oldest);
  void send(const PeerId& peer, Edge& edge, const FrameHeader& header, const Bytes& payload);
  void send_request(const PeerId& peer, std::uint32_t fragment);
  void arm_retransmit(const PeerId& peer, std::uint32_t fragment);
  bool does_own_request_stand(const PeerId& peer,
                              const Pending& own,
                              const FrameHeader& asked) const;
  void answer_request(const PeerId& peer, const Frame& frame, Slot& slot);
  void refuse(const PeerId& peer, const Frame& frame, Slot& slot, NackCode code);
  void apply_request(const PeerId& peer,
                     const Frame& frame,
                     const EdgeHead& head,
                     ByteSpan payload);
  void mix(const EdgeKey& key, Weight weight);
  void see_round(const PeerId& peer, std::uint64_t asked, std::uint64_t answered);
  void settle_pending(const PeerId& peer, std::uint32_t fragment, bool mixed);
  Weight proposal_for(const PeerId& peer, Weight otherwise) const;
  bool can_spend(std::uint32_t fragment, Weight weight) const;
  FrameHeader header(FrameKind kind, std::uint32_t fragment, std::uint64_t seq) const;
  Bytes encode(const EdgeKey& key, Weight proposal, bool as_snapshot, FrameHeader& header);

  Executor& executor_;
  const EdgeExchangeConfig config_;
  const std::vector<Fragment> fragments_;
  Channel& channel_;
  Mixer& mixer_;
  Events events_;
  bool is_stopped_ = false;

  bool has_value_ = false;
  std::uint64_t round_ = 0;
  ConstVec value_;
  std::map<PeerId, Weight> proposals_;
  // How much of the published value's weight its transactions have taken, per fragment: no more
  // than 1, so that no peer ends with a negative share of its own value.
  std::vector<double> spent_;
  std::map<PeerId, Edge> edges_;
  std::map<PeerId, std::vector<std::uint64_t>> dropped_;  // seqs settled on edges dropped
  std::uint64_t uses_ = 0;
  std::uint64_t poisoned_blocks_ = 0;
};

}  // namespace hobnob
