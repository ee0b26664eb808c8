#include "apps/hobnob/peer_board.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hobnob {

namespace {

constexpr double kRateWindow = 1.0;  // seconds
constexpr double kFrozenGap = 1.0;
// Rounds of others are heard of every quarter second.
constexpr double kPaceWindow = 2.0;

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

void PeerBoard::tick(double seconds) {
  const double gap = seconds - ticked_at_;
  if (ticked_at_ > 0.0 && gap > kFrozenGap) {
    frozen_ms_ += 1000.0 * gap;
    uncounted_ms_ += 1000.0 * gap;
  }
  ticked_at_ = seconds;
}

void PeerBoard::set_status(NodeStatus status) {
  status_ = std::move(status);
  std::map<PeerId, Pace> paces;
  for (const Member& member : status_.members) {
    const PeerId& peer = member.record.peer;
    const std::uint64_t round = member.record.round;
    const auto known = paces_.find(peer);
    Pace pace = known == paces_.end() ? Pace{round, status_.as_of, 0.0} : known->second;
    const double seconds = std::chrono::duration<double>(status_.as_of - pace.since).count();
    if (seconds >= kPaceWindow || round < pace.round) {
      const double passed = round < pace.round ? 0.0 : static_cast<double>(round - pace.round);
      pace = {round, status_.as_of, passed / std::max(seconds, kPaceWindow)};
    }
    paces[peer] = pace;
  }
  paces_ = std::move(paces);
}

double PeerBoard::speed_of(const PeerId& peer) const {
  const auto found = paces_.find(peer);
  return found == paces_.end() ? 0.0 : found->second.rounds_per_second;
}

void PeerBoard::add_round(const RoundRecord& record, double seconds) {
  ++rounds_done_;
  loss_ = rounds_done_ == 1 ? record.loss : 0.98 * loss_ + 0.02 * record.loss;
  if (record.evaluation) {
    evaluation_ = record.evaluation;
  }
  // The clocks of two threads differ by a tick or so.
  const double waited = milliseconds(record.stall);
  const double stall =
      waited > 0.5 * uncounted_ms_ ? std::max(0.0, waited - uncounted_ms_) : waited;
  uncounted_ms_ = 0.0;
  stall_ms_ += stall;
  longest_stall_ms_ = std::max(longest_stall_ms_, stall);
  window_samples_ += record.samples;
  if (seconds - window_start_ >= kRateWindow) {
    samples_per_second_ = static_cast<double>(window_samples_) / (seconds - window_start_);
    window_start_ = seconds;
    window_samples_ = 0;
  }
  Round round;
  round.round = record.round;
  round.seconds = seconds;
  round.loss = record.loss;
  if (record.evaluation) {
    round.accuracy = record.evaluation->accuracy;
  }
  round.stall_ms = stall;
  round.bytes_sent = bytes_sent();
  round.consensus_distance = status_.consensus_distance;
  history_.push_back(round);
  if (history_.size() > kHistory) {
    history_.pop_front();
  }
}

void PeerBoard::set_final(const Evaluation& evaluation) {
  evaluation_ = evaluation;
  is_final_ = true;
}

std::uint64_t PeerBoard::bytes_sent() const {
  return std::accumulate(status_.bytes_sent.begin(), status_.bytes_sent.end(), std::uint64_t{0});
}

std::uint64_t PeerBoard::bytes_received() const {
  return std::accumulate(status_.bytes_received.begin(), status_.bytes_received.end(),
                         std::uint64_t{0});
}

}  // namespace hobnob
