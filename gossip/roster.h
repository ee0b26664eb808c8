#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gossip/membership.h"
#include "runtime/base/rng.h"
#include "runtime/transport/transport.h"

namespace hobnob {

// Keeps links to the members and spreads the member list over them: dials who is not linked,
// backing off with jitter from 50 ms to 5 s; sends the list to everybody while the swarm is small,
// to three at random beyond.
class Roster {
 public:
  Roster(Executor& executor, Transport& transport, Membership& membership, RngKey key);

  // Endpoints to reach the swarm by while no link is up.
  void set_bootstrap(std::vector<Endpoint> endpoints) { bootstrap_ = std::move(endpoints); }

  void on_link_up(const PeerId& peer) { linked_.insert(peer); }

  void on_link_down(const PeerId& peer) { linked_.erase(peer); }

  void on_dial_failed(const Endpoint& endpoint, const Error& error);

  // Dials who is due.
  void dial_missing();
  // Links the list should go to now.
  std::vector<PeerId> gossip_targets();

  bool is_linked(const PeerId& peer) const { return linked_.contains(peer); }

  const std::set<PeerId>& linked() const { return linked_; }

  const std::string& last_error() const { return last_error_; }

  // Up to this many members everyone is linked to everyone.
  static constexpr std::size_t kFullMeshPeers = 64;

 private:
  struct Backoff {
    Time next{0};
    Duration delay{0};
  };

  // False when it is not due.
  bool dial(const Endpoint& endpoint);

  Executor& executor_;
  Transport& transport_;
  Membership& membership_;
  Rng rng_;
  std::vector<Endpoint> bootstrap_;
  std::set<PeerId> linked_;
  std::map<std::string, Backoff> backoff_;
  std::string last_error_;
};

}  // namespace hobnob
