#pragma once

#include <functional>
#include <map>
#include <vector>

#include "gossip/channel.h"
#include "gossip/edge_table.h"
#include "gossip/fragment.h"
#include "gossip/mixer.h"
#include "gossip/trigger.h"
#include "runtime/loop/executor.h"
#include "runtime/wire/messages.h"

namespace hobnob {

// Of all edges together, those dropped included.
struct ExchangeStats {
  std::uint64_t poisoned_blocks = 0;  // that held no finite value and were sent as zeros
  std::uint64_t offered = 0;          // messages that the trigger was asked about
  std::uint64_t fired = 0;            // those with values in them
  std::uint64_t replicas_compared = 0;
  std::uint64_t replicas_differed = 0;
  // Transactions that perhaps only one end applied, because the edge broke before the other end
  // said so; and the sum of their |flow|, of which no more can have got lost to the sum of all
  // peers' values. What a crash takes with it (the peer itself, its rounds since its last save) is
  // not in it.
  std::uint64_t one_sided = 0;
  double one_sided_flow = 0.0;
};

struct EdgeExchangeConfig {
  PeerId self;
  bool reliable_transport = true;  // else requests are sent again until answered
  bool waits_for_round =
      true;  // a request of a round this peer has not reached is held until it has (not in async)
  double gamma = 1.0;  // of the mixer, for the books
  std::size_t max_edges = 64;
  std::uint64_t stale_rounds =
      200;  // a request this far behind is voided: its value is too old to mix in
  Duration retransmit_floor = std::chrono::milliseconds(30);
  const VectorOps* ops = &cpu_vector_ops();
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
               Trigger& trigger,
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
  // The neighbour has started anew and kept nothing: so does this end, seqs included. What is in
  // flight settles as not mixed.
  void reset(const PeerId& peer);
  // A dead neighbour's edge may be dropped for another's sake, with what is in flight.
  void set_dead(const PeerId& peer, bool is_dead);
  // Sends what is in flight again.
  void on_link_up(const PeerId& peer);

  // Refuses everything from now on (this peer is leaving).
  void stop() { is_stopped_ = true; }

  // It has said goodbye, and that it has all answers.
  void confirm_all(const PeerId& peer);

  bool is_in_flight(const PeerId& peer, std::uint32_t fragment) const;
  std::size_t in_flight() const;
  std::size_t in_flight(const PeerId& peer) const;
  std::vector<EdgeStats> stats() const;

  const ExchangeStats& totals() const { return totals_; }

 private:
  void charge_in_flight();
  void on_drop(const PeerId& peer, Edge& edge);
  void send(const PeerId& peer, Edge& edge, const FrameHeader& header, const Bytes& payload);
  void send_request(const PeerId& peer, std::uint32_t fragment);
  void arm_retransmit(const PeerId& peer, std::uint32_t fragment);
  bool does_own_request_stand(const PeerId& peer,
                              const PendingRequest& own,
                              const FrameHeader& asked) const;
  void answer_request(const PeerId& peer, const Frame& frame, EdgeSlot& slot);
  void refuse(const PeerId& peer, const Frame& frame, EdgeSlot& slot, NackCode code);
  void apply_request(const PeerId& peer,
                     const Frame& frame,
                     const EdgeHead& head,
                     ByteSpan payload);
  double mix(const EdgeKey& key, Weight weight);
  double flow_at_risk(const EdgeSlot& slot) const;
  bool do_replicas_agree(const EdgeKey& key, bool is_snapshot, std::uint64_t claimed);
  void confirm(EdgeSlot& slot, std::uint64_t settled_there);
  void count_one_sided(double flow);
  void see_round(const PeerId& peer, std::uint64_t asked, std::uint64_t answered);
  void settle_pending(const PeerId& peer, std::uint32_t fragment, bool mixed);
  Weight proposal_for(const PeerId& peer, Weight otherwise) const;
  bool can_spend(std::uint32_t fragment, Weight weight) const;
  FrameHeader header(FrameKind kind, std::uint32_t fragment, std::uint64_t seq) const;
  bool is_worth_sending(const EdgeKey& key, ConstVec value);
  Bytes encode(const EdgeKey& key, Weight proposal, bool as_snapshot, FrameHeader& header);

  Executor& executor_;
  const EdgeExchangeConfig config_;
  const std::vector<Fragment> fragments_;
  Channel& channel_;
  Mixer& mixer_;
  Trigger& trigger_;
  Events events_;
  bool is_stopped_ = false;

  bool has_value_ = false;
  std::uint64_t round_ = 0;
  ConstVec value_;
  std::map<PeerId, Weight> proposals_;
  // How much of the published value's weight its transactions have taken, per fragment: no more
  // than 1, so that no peer ends with a negative share of its own value.
  std::vector<double> spent_;
  EdgeTable edges_;
  ExchangeStats totals_;
};

}  // namespace hobnob
