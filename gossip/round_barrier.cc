#include "gossip/round_barrier.h"

#include <algorithm>

namespace hobnob {

namespace {

constexpr Duration kShortestDeadline = std::chrono::milliseconds(50);
constexpr std::size_t kMaxHistory = 4096;

}  // namespace

void RoundBarrier::open(Time now) {
  opened_ = now;
  waiting_.clear();
}

void RoundBarrier::expect(const PeerId& peer, std::uint32_t fragments) {
  waiting_[peer] += fragments;
}

void RoundBarrier::settle(const PeerId& peer, Time now) {
  const auto late = late_.find(peer);
  if (late != late_.end()) {
    // A deadline that was too short must not stay so: the edge takes at least this long.
    Duration& usual = usual_[peer];
    usual = std::max(usual, std::min(now - late->second, longest_));
    late_.erase(late);
  }
  const auto found = waiting_.find(peer);
  if (found != waiting_.end() && --found->second == 0) {
    waiting_.erase(found);
    learn(peer, now - opened_);
  }
}

void RoundBarrier::skip(const PeerId& peer) {
  const auto found = waiting_.find(peer);
  if (found != waiting_.end() && --found->second == 0) {
    waiting_.erase(found);
  }
}

void RoundBarrier::excuse(const PeerId& peer) {
  waiting_.erase(peer);
}

void RoundBarrier::give_up(Time now) {
  for (const auto& [peer, fragments] : waiting_) {
    const auto usual = usual_.find(peer);
    learn(peer, std::max(now - opened_, usual == usual_.end() ? Duration{0} : usual->second));
  }
  for (const auto& [peer, fragments] : waiting_) {
    if (late_.size() < kMaxHistory) {
      late_.try_emplace(peer, opened_);
    }
  }
  waiting_.clear();
}

std::vector<PeerId> RoundBarrier::missing() const {
  std::vector<PeerId> peers;
  for (const auto& [peer, fragments] : waiting_) {
    peers.push_back(peer);
  }
  return peers;
}

Duration RoundBarrier::deadline() const {
  if (mode_ == ClockMode::kSync) {
    return longest_;
  }
  Duration usual{0};
  for (const auto& [peer, fragments] : waiting_) {
    const auto found = usual_.find(peer);
    if (found == usual_.end()) {
      return longest_;
    }
    usual = std::max(usual, found->second);
  }
  return std::min(std::max(usual * 3 / 2, kShortestDeadline), longest_);
}

void RoundBarrier::learn(const PeerId& peer, Duration took) {
  if (usual_.size() >= kMaxHistory) {
    usual_.clear();
  }
  const auto [entry, is_new] = usual_.try_emplace(peer, took);
  if (!is_new) {
    entry->second = (7 * entry->second + took) / 8;
  }
}

}  // namespace hobnob
