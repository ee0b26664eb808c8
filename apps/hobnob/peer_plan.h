#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/job.h"
#include "apps/hobnob/state_store.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/peer_id.h"

namespace hobnob {

// Everything argv and the swarm have to say, checked.
struct PeerPlan {
  Job job;
  Endpoint listen;
  Endpoint advertise;
  bool can_be_dialed = true;
  std::string site;
  Endpoint http;
  std::vector<Endpoint> bootstrap;
  std::vector<Cidr> trusted;
  std::uint32_t shard = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t min_peers = 1;
  std::string name;
  PeerId id;
  std::optional<StateStore> store;  // of --state
  std::optional<SavedPeer> saved;   // what was in it
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

// Reads what the options name: addresses, the state directory, the job from its file or from the
// swarm.
Result<PeerPlan> make_peer_plan(const PeerOptions& options);

}  // namespace hobnob
