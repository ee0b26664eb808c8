#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "apps/hobnob/state_store.h"
#include "gossip/membership.h"
#include "runtime/loop/executor.h"

namespace hobnob {

// Saves a peer's state now and then, on a thread of its own, so that training waits for the copy
// only and never for the disk; a save that takes longer than the interval delays the next.
class StateSaver {
 public:
  // Without a store nothing is saved. `who` is the peer without its trainer's state.
  StateSaver(const StateStore* store, SavedPeer who, double interval_seconds);
  ~StateSaver();
  StateSaver(const StateSaver&) = delete;
  StateSaver& operator=(const StateSaver&) = delete;

  // What the member list says of this peer and of where the others are; gossip thread.
  void set_members(const std::vector<Member>& members);

  // Train thread: saves if it is time, the first time at once.
  void offer(const Trainer& trainer);
  // When the trainer has stopped: the last save, with what the neighbours gave and the trainer was
  // not handed any more, so that a graceful leave takes nothing out of the swarm's mean.
  Result<void> finish(const Trainer& trainer, ConstVec pending_flow);

 private:
  const StateStore* store_;
  SavedPeer who_;  // disk thread, and after it has ended whoever calls finish()
  const Duration interval_;
  std::chrono::steady_clock::time_point next_;
  std::atomic<bool> is_saving_{false};
  std::unique_ptr<UvExecutor> disk_;
  std::thread thread_;
};

}  // namespace hobnob
