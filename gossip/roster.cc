#include "gossip/roster.h"

#include <algorithm>
#include <utility>

namespace hobnob {

namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(50);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr Duration kBetweenDials = std::chrono::seconds(1);
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

bool Roster::dial(const Endpoint& endpoint) {
  if (endpoint.port == 0) {
    return false;
  }
  Backoff& backoff = backoff_[endpoint.text()];
  if (executor_.now() < backoff.next) {
    return false;
  }
  // Whatever becomes of it, not again at once: a refusal as duplicate is no failure and is not
  // reported.
  backoff.next = executor_.now() + std::max(backoff.delay, kBetweenDials);
  transport_.dial(endpoint);
  return true;
}

void Roster::dial_missing() {
  if (backoff_.size() > 2 * kMaxMembers) {
    backoff_.clear();
  }
  if (linked_.empty()) {
    for (const Endpoint& endpoint : bootstrap_) {
      dial(endpoint);
    }
  }
  std::set<std::string> reached;  // addresses that a linked peer has now
  std::vector<const Member*> candidates;
  for (const auto& [peer, member] : membership_.members()) {
    if (linked_.contains(peer)) {
      reached.insert(member.record.address.text());
    } else if (peer != membership_.self().peer && member.record.state != MemberState::kLeft) {
      candidates.push_back(&member);
    }
  }
  for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
    std::swap(candidates[k], candidates[k + rng_.below(candidates.size() - k)]);
  }
  std::ranges::stable_sort(candidates, {}, [](const Member* each) { return each->record.state; });
  const std::size_t limit = membership_.active() <= kFullMeshPeers ? kFullMeshPeers : kGossipFanOut;
  std::size_t dialed = 0;
  for (const Member* each : candidates) {
    const bool is_taken = reached.contains(each->record.address.text());
    if (dialed < limit && !is_taken && dial(each->record.address)) {
      ++dialed;
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
