#include "gossip/roster.h"

#include <algorithm>
#include <utility>

namespace hobnob {

namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(50);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr std::size_t kGossipFanOut = 3;

}  // namespace

Roster::Roster(Executor& executor, Transport& transport, Membership& membership, RngKey key)
    : executor_(executor), transport_(transport), membership_(membership), rng_(key) {}

void Roster::on_dial_failed(const Endpoint& endpoint, const Error& error) {
  last_error_ = error.message;
  Backoff& backoff = backoff_[endpoint.text()];
  backoff.delay = std::min(std::max(2 * backoff.delay, kFirstBackoff), kLongestBackoff);
  const double jitter = 0.5 + rng_.uniform();
  backoff.next =
      executor_.now() +
      Duration{static_cast<std::int64_t>(jitter * static_cast<double>(backoff.delay.count()))};
}

void Roster::dial(const Endpoint& endpoint) {
  const auto found = backoff_.find(endpoint.text());
  if (endpoint.port != 0 && (found == backoff_.end() || executor_.now() >= found->second.next)) {
    transport_.dial(endpoint);
  }
}

void Roster::dial_missing() {
  if (linked_.empty()) {
    for (const Endpoint& endpoint : bootstrap_) {
      dial(endpoint);
    }
  }
  const bool is_small = membership_.members().size() <= kFullMeshPeers;
  std::size_t dialed = 0;
  for (const auto& [peer, member] : membership_.members()) {
    const bool has_left = member.record.state == MemberState::kLeft;
    if (peer == membership_.self().peer || has_left || linked_.contains(peer)) {
      continue;
    }
    if (is_small || dialed++ < kGossipFanOut) {
      dial(member.record.address);
    }
  }
}

std::vector<PeerId> Roster::gossip_targets() {
  std::vector<PeerId> targets(linked_.begin(), linked_.end());
  if (targets.size() > kFullMeshPeers) {
    for (std::size_t k = 0; k < kGossipFanOut; ++k) {
      std::swap(targets[k], targets[k + rng_.below(targets.size() - k)]);
    }
    targets.resize(kGossipFanOut);
  }
  return targets;
}

}  // namespace hobnob
