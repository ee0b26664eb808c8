#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "gossip/fragment.h"
#include "runtime/compute/vector.h"
#include "runtime/loop/executor.h"
#include "runtime/wire/messages.h"

namespace hobnob {

// A joiner's copy of a neighbour's parameters, fragment by fragment; a donor that dies or stalls is
// replaced and what has come is kept. Fragments may be of rounds next to each other: parameters
// move little in one round, and a joiner that insisted on one round would chase the swarm for ever.
// Gossip thread only.
class StateDownload {
 public:
  struct Events {
    std::function<bool(const PeerId& donor, std::uint32_t fragment)> request;
    // The best donor not in `tried`.
    std::function<std::optional<PeerId>(const std::set<PeerId>& tried)> pick_donor;
    std::function<void(
        std::uint64_t round, std::shared_ptr<Buffer> parameters, const PeerId& donor)>
        on_done;
  };

  StateDownload(Executor& executor,
                std::vector<Fragment> fragments,
                Buffer parameters,
                Events events);
  ~StateDownload();
  StateDownload(const StateDownload&) = delete;
  StateDownload& operator=(const StateDownload&) = delete;

  // Asks; goes on asking every kRetry until done.
  void start();
  void on_state(const PeerId& peer, const Frame& frame);
  void on_donor_lost(const PeerId& peer);

  std::size_t received() const { return received_count_; }

  std::size_t total() const { return fragments_.size(); }

  static constexpr Duration kRetry = std::chrono::seconds(1);
  static constexpr Duration kLongestRetry = std::chrono::seconds(30);
  static constexpr std::uint32_t kInFlight = 4;

 private:
  void ask_next();
  void switch_donor();
  void arm();

  Executor& executor_;
  const std::vector<Fragment> fragments_;
  Events events_;
  std::shared_ptr<Buffer> parameters_;
  std::vector<bool> received_;
  std::set<std::uint32_t> asked_;
  std::size_t received_count_ = 0;
  std::size_t received_at_retry_ = 0;
  std::uint64_t round_ = 0;
  std::optional<PeerId> donor_;
  std::set<PeerId> tried_;
  Duration wait_ = kRetry;
  TimerId retry_ = 0;
};

}  // namespace hobnob
