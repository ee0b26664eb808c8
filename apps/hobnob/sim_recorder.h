#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/hobnob/job.h"
#include "apps/hobnob/sim_books.h"
#include "apps/hobnob/sim_peer.h"
#include "apps/hobnob/sim_swarm.h"

namespace hobnob {

// What is written down of a simulation: a record every so many rounds, and the summary. Looks at
// the simulation and changes nothing in it; the same thread.
class SimRecorder {
 public:
  // What it looks at.
  struct World {
    const SimExecutor& executor;
    const SimNetwork& network;
    const std::vector<std::unique_ptr<SimPeer>>& peers;
  };

  SimRecorder(const World& world,
              const Job& job,
              std::uint64_t record_every,
              std::function<void(const SimRecord&)> on_record);

  // When the first peers are there.
  void set_optimum(std::vector<double> optimum) { optimum_ = std::move(optimum); }

  void add_round(std::size_t index, std::uint64_t round);

  void add_flow(std::uint64_t round, ConstVec flow);

  // A peer took its part of the mean with it: the flows need not cancel any more.
  void lose_mean() { has_lost_mean_ = true; }

  // A peer will run some rounds twice: what flows of one round add up to says nothing any more.
  void forget_rounds() { has_repeated_rounds_ = true; }

  // Gives out the records that wait for nobody any more. To be called when a peer has finished a
  // round, or will finish no more of them.
  void emit_complete();

  // The last peer has finished: the summary's time and traffic end here.
  void stop_clock();

  SimResult summary(std::vector<std::string> errors);

 private:
  SimRecord measure(const Snapshot& snapshot) const;

  World world_;
  const Job& job_;
  const std::uint64_t record_every_;
  std::function<void(const SimRecord&)> on_record_;
  std::vector<double> optimum_;
  std::uint64_t next_record_;  // round
  std::deque<Snapshot> open_;
  FlowBooks flows_;
  ConvergenceRate rate_;
  bool has_lost_mean_ = false;
  bool has_repeated_rounds_ = false;
  Time ended_at_{0};
  std::uint64_t ended_frames_ = 0;
  std::uint64_t ended_bytes_ = 0;
};

}  // namespace hobnob
