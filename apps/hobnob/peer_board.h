#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "apps/hobnob/job.h"
#include "gossip/node.h"
#include "gossip/trainer.h"

namespace hobnob {

// What a peer shows of itself: the newest word from the gossip and train threads, kept on the loop
// thread, where the status pages and progress lines are made from it.
class PeerBoard {
 public:
  struct Identity {
    PeerId peer;
    std::string name;
    std::string device;
    std::uint32_t shard = 0;
    Endpoint listen;
    Endpoint http;
    std::uint64_t parameters = 0;
  };

  PeerBoard(const Job& job, Identity identity) : job_(job), identity_(std::move(identity)) {}

  void set_addresses(const Endpoint& listen, const Endpoint& http) {
    identity_.listen = listen;
    identity_.http = http;
  }

  void set_status(NodeStatus status);

  // Called every interval: a gap in the calls means that the process itself was stopped, which is
  // no fault of its neighbours and does not count as a stall.
  void tick(double seconds);
  void add_round(const RoundRecord& record, double seconds);
  void set_final(const Evaluation& evaluation);

  const Job& job() const { return job_; }

  const Identity& identity() const { return identity_; }

  const NodeStatus& status() const { return status_; }

  struct Round {
    std::uint64_t round = 0;
    double seconds = 0.0;  // since start
    double loss = 0.0;
    std::optional<double> accuracy;
    double stall_ms = 0.0;
    std::uint64_t bytes_sent = 0;
    double consensus_distance = 0.0;
  };

  // The last kHistory rounds, oldest first; with `since`, those after it.
  const std::deque<Round>& history() const { return history_; }

  std::uint64_t rounds_done() const { return rounds_done_; }

  double loss() const { return loss_; }  // moving average

  const std::optional<Evaluation>& evaluation() const { return evaluation_; }

  bool is_final() const { return is_final_; }

  // Rounds a second of a member, over its last few seconds; 0 until it is known.
  double speed_of(const PeerId& peer) const;

  double samples_per_second() const { return samples_per_second_; }

  double stall_ms() const { return stall_ms_; }

  double longest_stall_ms() const { return longest_stall_ms_; }

  double frozen_ms() const { return frozen_ms_; }

  std::uint64_t bytes_sent() const;
  std::uint64_t bytes_received() const;

  static constexpr std::size_t kHistory = 4096;

 private:
  // A member's round at the start of a window, and how fast the last whole window was.
  struct Pace {
    std::uint64_t round = 0;
    Time since{0};
    double rounds_per_second = 0.0;
  };

  const Job& job_;
  Identity identity_;
  NodeStatus status_;
  std::map<PeerId, Pace> paces_;
  std::deque<Round> history_;
  std::uint64_t rounds_done_ = 0;
  double loss_ = 0.0;
  std::optional<Evaluation> evaluation_;
  bool is_final_ = false;
  double samples_per_second_ = 0.0;
  double window_start_ = 0.0;
  std::uint64_t window_samples_ = 0;
  double stall_ms_ = 0.0;
  double longest_stall_ms_ = 0.0;
  double frozen_ms_ = 0.0;
  double uncounted_ms_ = 0.0;  // frozen time that the running round's stall will contain
  double ticked_at_ = 0.0;
};

}  // namespace hobnob
