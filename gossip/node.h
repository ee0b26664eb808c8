#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gossip/config.h"
#include "gossip/edge_exchange.h"
#include "gossip/fragment.h"
#include "gossip/membership.h"
#include "gossip/node_status.h"
#include "gossip/roster.h"
#include "gossip/round_barrier.h"
#include "gossip/state_download.h"
#include "gossip/trigger.h"
#include "runtime/transport/transport.h"

namespace hobnob {

struct NodeConfig {
  PeerId self;
  std::string name;
  Endpoint address;  // where others dial this peer; port 0: they cannot
  std::string site;
  std::vector<Endpoint> bootstrap;  // any members of the swarm; empty: this peer is the first
  std::vector<Endpoint> known;      // of the first: members of an earlier life, who may be there
  std::uint32_t min_peers = 1;      // training starts when so many are here
  std::uint32_t shard = 0;
  std::uint32_t incarnation = 0;  // above that of an earlier life under the same id
  std::uint64_t rounds = 0;
  std::uint64_t seed = 1;
  // Of what codecs draw. A live peer's is known to itself alone: noise that hides must not be
  // guessed.
  std::uint64_t noise_seed = 0;
  GossipConfig gossip;
  OptimizerConfig optimizer;  // whose learning rate a trigger may follow
  MembershipConfig membership;
  const VectorOps* ops = &cpu_vector_ops();  // of the device the parameters are on
  std::string job;                           // text that a guest gets who asks what is trained here
  Duration age{0};                           // of the process at start(), which join_time counts in
  Duration join_timeout = std::chrono::seconds(30);
  Duration linger = std::chrono::seconds(5);  // at the end, for slower peers to finish beside
};

// One peer's gossip side: it joins, keeps the member list, and for every published value runs the
// round: plan, edge transactions, wait, flow. Follow on_published(). Gossip thread only.
class Node {
 public:
  struct Events {
    // To the trainer: start, or start over, at a round; null parameters keep its own.
    std::function<void(std::uint64_t round, std::shared_ptr<Buffer> parameters)> begin;
    // To the trainer: what the neighbours contribute to publish(round).
    std::function<void(std::uint64_t round, std::uint64_t next_round, std::shared_ptr<Buffer> flow)>
        deliver;
    // The node will do nothing more: after leave(), or with the error that ended it.
    std::function<void(Result<void>)> on_end;
  };

  Node(Executor& executor,
       Transport& transport,
       const NodeConfig& config,
       std::vector<Fragment> fragments,
       DType type,
       Events events);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Before start(): parameters (d,) of an earlier life, as they were when `round` (> 0) was the
  // next. The node trains on from there, or from a neighbour that is further; meanwhile others may
  // take them from here.
  void resume(std::uint64_t round, std::shared_ptr<Buffer> parameters);
  void start();
  // The trainer's value y (d,) of this round; answered by Events::deliver.
  void on_published(std::uint64_t round, std::shared_ptr<Buffer> y);
  // The trainer has done its rounds.
  void on_training_finished();
  // Finishes what is in flight, says goodbye, ends.
  void leave();

  NodeStatus status() const;

  // What edges have contributed and the trainer has not been given yet, (d,).
  ConstVec pending_flow() const { return mixer_->pending(); }

 private:
  // The round.
  void open_round(std::uint64_t round);
  void plan_round();
  void begin_edges(const PeerId& peer);
  void on_settled(const PeerId& peer, std::uint32_t fragment, bool mixed);
  void check_round();
  void on_deadline();
  void probe_missing();
  void finish_round();
  void deliver_flow();
  bool is_reachable(const PeerId& peer) const;
  void on_probe(const PeerId& peer, const Frame& frame);
  void fall_behind(std::uint64_t round);
  void on_probe_refused(const PeerId& peer, const Frame& frame);
  void on_round_seen(const PeerId& peer, std::uint64_t round);

  // Frames.
  void on_frame(const PeerId& peer, const Bytes& bytes);
  void on_guest_frame(const PeerId& peer, const Frame& frame);
  bool send(const PeerId& peer, const FrameHeader& header, ByteSpan payload);
  void send_state(const PeerId& peer, std::uint32_t fragment);

  // Coming, going.
  void on_link_up(const Hello& hello);
  void greet_process(const Hello& hello);
  void on_link_down(const PeerId& peer, const std::string& reason);
  void on_membership(const std::vector<MembershipChange>& changes);
  void tick();
  void forget_the_gone();
  void spread_members();
  void send_members(const std::vector<PeerId>& targets);
  std::uint64_t furthest_round() const;
  bool is_outrun_by(std::uint64_t furthest) const;
  void begin_training(std::uint64_t round, std::shared_ptr<Buffer> parameters);
  void wait_for_donor(std::uint64_t furthest);
  void advance();
  bool has_quorum() const;
  void start_download();
  void on_downloaded(std::uint64_t round,
                     const std::shared_ptr<Buffer>& parameters,
                     const PeerId& donor);
  void wait_for_answers();
  void say_goodbye();
  void fail(Error error);

  Executor& executor_;
  Transport& transport_;
  const NodeConfig config_;
  const std::vector<Fragment> fragments_;
  const DType type_;
  Events events_;

  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Trigger> trigger_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Mixer> mixer_;
  RoundBarrier barrier_;
  Membership membership_;
  Roster roster_;
  std::unique_ptr<EdgeExchange> exchange_;
  std::unique_ptr<StateDownload> download_;

  NodeState state_ = NodeState::kConnecting;
  std::uint64_t round_ = 0;  // last published
  std::uint64_t epoch_ = 0;
  std::uint64_t view_digest_ = 0;
  NodeStatus counters_;     // the rest of status() that only counts
  bool has_begun_ = false;  // the trainer runs
  Time started_at_{0};
  Time finished_at_{0};
  bool is_ending_ = false;

  // The running round.
  std::shared_ptr<Buffer> published_;  // null until there is anything worth giving to a joiner
  std::shared_ptr<Buffer> spare_;
  bool is_round_open_ = false;
  bool is_opening_ = false;  // edges are being started: no end before all are known
  Time opened_at_{0};
  TimerId deadline_ = 0;
  TimerId probe_ = 0;
  std::map<PeerId, Weight> plan_;
  std::set<PeerId> begun_;      // asked in this round
  std::uint64_t catch_up_ = 0;  // where this round's partners are, if past it
  TimerId tick_ = 0;
  Time donor_seen_at_{0};  // while joining
  Time download_began_{0};
  std::set<PeerId> answered_guests_;
  std::map<PeerId, std::uint64_t> processes_;  // last linked to, by Hello::process
};

}  // namespace hobnob
