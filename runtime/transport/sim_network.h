#pragma once

#include <memory>
#include <string>

#include "runtime/base/rng.h"
#include "runtime/loop/executor.h"
#include "runtime/transport/transport.h"

namespace hobnob {

// How every link of a simulated network behaves. Loss, duplication and reordering hit whole frames:
// harder than TCP ever is, so that what survives here survives there.
struct LinkModel {
  double bytes_per_second = 0.0;  // of a host's uplink, shared by its links; 0: no limit
  Duration delay{0};              // one way
  Duration jitter{0};             // uniform in [0, jitter), added to the delay
  double loss = 0.0;              // probabilities per frame
  double duplicate = 0.0;
  double reorder = 0.0;  // of being held back by up to `reorder_delay`
  Duration reorder_delay = std::chrono::milliseconds(20);
  // A peer silent for this long loses its links, as a TCP link's watchdog would do it.
  Duration watchdog = std::chrono::seconds(5);
};

// A simulated machine: an executor that stops with it, and its transport.
class SimHost {
 public:
  virtual ~SimHost() = default;
  virtual Executor& executor() = 0;
  virtual Transport& transport() = 0;
};

// A network of simulated hosts in virtual time; a run is a function of the seed and the calls made.
class SimNetwork {
 public:
  virtual ~SimNetwork() = default;

  // hello.advertise is the address others dial. The host lives as long as the network. One with an
  // id that is there already takes its place, as a process that is started again.
  virtual SimHost& add_host(const Hello& hello) = 0;
  // SIGKILL: tasks and frames vanish; the other ends see their links go down after one delay.
  virtual void kill(const PeerId& peer) = 0;
  // SIGSTOP and SIGCONT: tasks and frames wait.
  virtual void freeze(const PeerId& peer) = 0;
  virtual void thaw(const PeerId& peer) = 0;
  // Frames between the two vanish silently until healed; links fall to the watchdog.
  virtual void set_partitioned(const PeerId& a, const PeerId& b, bool partitioned) = 0;
  virtual void set_model(const LinkModel& model) = 0;
  // Frames put on the wire, and their bytes, so far.
  virtual std::uint64_t frames() const = 0;
  virtual std::uint64_t bytes() const = 0;
};

std::unique_ptr<SimNetwork> make_sim_network(SimExecutor& executor,
                                             const LinkModel& model,
                                             RngKey key);

}  // namespace hobnob
