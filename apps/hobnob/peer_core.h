#pragma once

#include <functional>
#include <memory>

#include "apps/hobnob/job.h"
#include "gossip/node.h"
#include "gossip/trainer.h"

namespace hobnob {

// What of a job the gossip side needs; identity and addresses are left to the caller.
NodeConfig node_config(const Job& job);
TrainerConfig trainer_config(const Job& job);

// The two halves of one peer, each on its own executor, and the wires between them. The same in
// live peers and in the simulator.
class PeerCore {
 public:
  struct Places {
    Executor& gossip;
    Executor& train;
    Transport& transport;
    Workload& workload;
  };

  struct Events {
    // Train thread.
    std::function<void(const RoundRecord&)> on_round;
    std::function<void(const Evaluation&)> on_finished;
    std::function<void(std::uint64_t round, ConstVec flow)> on_flow;  // may be null
    // Gossip thread. `adopts`: it starts with another peer's parameters.
    std::function<void(bool adopts)> on_begin;
    std::function<void(const Result<void>&)> on_end;
  };

  PeerCore(const Places& places,
           const Job& job,
           const NodeConfig& node,
           const TrainerConfig& trainer,
           Events events);

  // Before Node::start(): goes on where an earlier life stopped.
  Result<void> resume(const TrainerState& state);

  // Gossip thread.
  Node& node() { return *node_; }

  const Node& node() const { return *node_; }

  // Train thread, but for stop().
  Trainer& trainer() { return *trainer_; }

 private:
  Places places_;
  Events events_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Node> node_;
};

}  // namespace hobnob
