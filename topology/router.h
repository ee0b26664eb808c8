#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "runtime/base/peer_id.h"

namespace hobnob {

// How long one microbatch took, as its answer tells.
struct ServiceReport {
  double work = 1.0;  // as given to choose()
  // What the server says it spent on it, computing or moving its bytes, whichever took longer,
  // without the time in its queue: that measures its capacity, whoever else sends to it.
  std::chrono::nanoseconds service{};
  std::chrono::nanoseconds round_trip{};  // as the sender saw it, queue included
};

// Which server of the next stage gets the next microbatch: interleaved weighted round robin
// (SWARM, arXiv 2301.11913, algorithm 1). Each server has a virtual time that advances by its
// estimated service time whenever it is chosen, and the one furthest behind is chosen, so shares
// become proportional to speeds. One router per sender and next stage. Value type, no clock.
class IwrrRouter {
 public:
  explicit IwrrRouter(const PeerId& sender) : sender_(sender) {}

  // A server that may be chosen from now on. `service_per_work` > 0 is its advertised time for one
  // unit of work, used until its first report. A new server is first in line. Known servers are
  // left as they are.
  void announce(const PeerId& server, std::chrono::nanoseconds service_per_work);

  // Failed or left: forgotten, so not chosen until announced again.
  void withdraw(const PeerId& server);

  // Charges the microbatch to the chosen server. `work` > 0 is relative; if the backward pass will
  // return to this server (it holds the activations), count it too. Empty: no server. O(servers).
  std::optional<PeerId> choose(double work = 1.0);

  // Feeds the server's moving average of service times. A round trip above three times the server's
  // usual one (never compared with the service time: with several microbatches in flight it is
  // mostly queue) counts as a service slower by that factor, at most ten. Nonsense (no time, no
  // work) and reports of unknown servers are ignored.
  void observe(const PeerId& server, const ServiceReport& report);

  std::size_t server_count() const { return servers_.size(); }

  // The present estimate for one unit of work; empty for an unknown server.
  std::optional<std::chrono::nanoseconds> service_per_work(const PeerId& server) const;

 private:
  // Exponential moving average whose first values do not lean towards zero (Kingma and Ba,
  // arXiv 1412.6980, section 3).
  class Average {
   public:
    void add(double sample);

    bool is_empty() const { return weight_ == 0.0; }

    double value() const { return sum_ / weight_; }

   private:
    double sum_ = 0.0;
    double weight_ = 0.0;
  };

  struct Server {
    PeerId id;
    std::uint64_t tie = 0;
    double advertised = 0.0;  // seconds per unit of work, as the two averages are
    Average service;
    Average round_trip;
    double virtual_time = 0.0;

    double expected() const { return service.is_empty() ? advertised : service.value(); }
  };

  Server* find(const PeerId& server);

  PeerId sender_;
  std::vector<Server> servers_;  // in order of announcement
};

}  // namespace hobnob
