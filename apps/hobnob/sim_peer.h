#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "apps/hobnob/peer_core.h"
#include "runtime/transport/sim_network.h"

namespace hobnob {

// One peer of a simulation: its place in the network and what of it is alive. The Simulation owns
// and changes it.
struct SimPeer {
  SimHost* host = nullptr;
  PeerId id;
  std::unique_ptr<Workload> workload;
  std::unique_ptr<PeerCore> core;
  bool is_live = true;   // neither killed nor gone
  bool is_away = false;  // will be restarted
  bool is_finished = false;
  bool has_begun = false;
  std::uint64_t lives = 0;  // processes so far
  std::optional<TrainerState> saved;
  std::uint64_t round = 0;  // last finished
};

}  // namespace hobnob
