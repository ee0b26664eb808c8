#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "gossip/config.h"
#include "runtime/base/peer_id.h"
#include "runtime/loop/executor.h"

namespace hobnob {

// Whom this round still waits for, and for how long. Pure: time is passed in.
class RoundBarrier {
 public:
  RoundBarrier(ClockMode mode, Duration longest) : mode_(mode), longest_(longest) {}

  void open(Time now);
  void expect(const PeerId& peer, std::uint32_t fragments);
  // One fragment of the edge is done.
  void settle(const PeerId& peer, Time now);
  // One fragment of the edge was not even begun: nothing is learnt of its time.
  void skip(const PeerId& peer);
  // The edge will not complete this round.
  void excuse(const PeerId& peer);
  // The round goes on without the rest; their usual time is taken to be at least what was waited.
  void give_up(Time now);

  bool is_met() const { return mode_ == ClockMode::kAsync || waiting_.empty(); }

  std::vector<PeerId> missing() const;

  bool waits_for(const PeerId& peer) const { return waiting_.contains(peer); }

  // From open(): sync the longest; hybrid 1.5 x the usual completion time of the slowest edge
  // waited for, within [50 ms, longest]; the longest while an edge has no history.
  Duration deadline() const;

 private:
  void learn(const PeerId& peer, Duration took);

  ClockMode mode_;
  Duration longest_;
  Time opened_{0};
  std::map<PeerId, std::uint32_t> waiting_;  // fragments left
  std::map<PeerId, Time> late_;       // given up on, not settled since; when their round was opened
  std::map<PeerId, Duration> usual_;  // moving average of completion times, of members met
};

}  // namespace hobnob
