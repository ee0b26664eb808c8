#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/rng.h"
#include "topology/pipeline.h"
#include "topology/router.h"

// A pipeline in simulated time: every peer serves its stage first come, first served, with
// lognormal service times, and a new microbatch enters whenever one is through.

namespace hobnob {

struct PipelineSimConfig {
  enum class Routing { kIwrr, kUniformRandom };

  Routing routing = Routing::kIwrr;
  std::size_t in_flight = 64;
  double jitter = 0.3;  // standard deviation of the logarithm of a service time
  double hop = 0.002;   // seconds from peer to peer
  std::uint64_t seed = 1;
};

class PipelineSim {
 public:
  PipelineSim(const PipelineRates& rates, const Assignment& assignment, PipelineSimConfig config)
      : config_(config),
        rng_({.seed = config.seed, .stream = 0x51}),
        stages_(rates.stage_count()),
        servers_(rates.peer_count()),
        served_(rates.peer_count(), 0) {
    std::vector<std::vector<std::uint32_t>> of_stage(stages_);
    for (std::uint32_t p = 0; p < assignment.size(); ++p) {
      if (assignment[p] == kIdle) {
        continue;
      }
      servers_[p] = {.id = rates.id(p),
                     .stage = assignment[p],
                     .seconds = 1.0 / rates.rate(p, assignment[p]).per_second()};
      of_stage[assignment[p]].push_back(p);
    }
    members_ = of_stage;
    // Sender 0 feeds the pipeline; peer p is sender p + 1 and sends to the stage after its own.
    for (std::size_t sender = 0; sender <= servers_.size(); ++sender) {
      IwrrRouter router({.high = 1, .low = sender});
      const std::size_t next = sender == 0 ? 0 : servers_[sender - 1].stage + 1;
      if (next < stages_) {
        for (const std::uint32_t p : members_[next]) {
          router.announce(servers_[p].id, std::chrono::seconds(1));  // nobody knows anything yet
        }
      }
      routers_.push_back(router);
    }
    for (std::size_t k = 0; k < config_.in_flight; ++k) {
      send(0, 0);
    }
  }

  void run_until(double time) {
    while (!events_.empty() && events_.top().time <= time) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.is_arrival) {
        arrive(event.job);
      } else {
        finish(event.job);
      }
    }
    now_ = time;
  }

  // Microbatches per second from now until `time`.
  double throughput_until(double time) {
    const std::uint64_t before = completed_;
    const double begin = now_;
    run_until(time);
    return static_cast<double>(completed_ - before) / (time - begin);
  }

  void slow_down(std::uint32_t peer, double factor) { servers_[peer].seconds *= factor; }

  // Microbatches that each peer has served.
  const std::vector<std::uint64_t>& served() const { return served_; }

 private:
  struct Job {
    std::size_t sender = 0;
    std::uint32_t peer = 0;
    double sent = 0.0;
    double service = 0.0;
  };

  struct Event {
    double time = 0.0;
    std::uint64_t order = 0;
    bool is_arrival = false;
    Job job;

    bool operator<(const Event& other) const {  // std::priority_queue puts the largest first
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  struct Server {
    PeerId id;
    std::size_t stage = 0;
    double seconds = 0.0;
    bool is_busy = false;
    std::deque<Job> queue;
  };

  static std::chrono::nanoseconds nanoseconds(double seconds) {
    return std::chrono::nanoseconds(std::llround(seconds * 1e9));
  }

  std::uint32_t choose(std::size_t sender, std::size_t stage) {
    const std::vector<std::uint32_t>& members = members_[stage];
    if (config_.routing == PipelineSimConfig::Routing::kUniformRandom) {
      return members[rng_.below(members.size())];
    }
    const std::optional<PeerId> id = routers_[sender].choose();
    for (const std::uint32_t p : members) {
      if (servers_[p].id == id) {
        return p;
      }
    }
    HOBNOB_CHECK(false, "the router chose nobody of the stage");
    return 0;
  }

  void send(std::size_t sender, std::size_t stage) {
    const Job job{.sender = sender, .peer = choose(sender, stage), .sent = now_};
    push(now_ + config_.hop, true, job);
  }

  void push(double time, bool is_arrival, const Job& job) {
    events_.push({.time = time, .order = order_++, .is_arrival = is_arrival, .job = job});
  }

  void arrive(const Job& job) {
    servers_[job.peer].queue.push_back(job);
    serve(servers_[job.peer]);
  }

  void serve(Server& server) {
    if (server.is_busy || server.queue.empty()) {
      return;
    }
    Job job = server.queue.front();
    server.queue.pop_front();
    server.is_busy = true;
    const double sigma = config_.jitter;
    job.service = server.seconds * std::exp(sigma * rng_.normal() - sigma * sigma / 2.0);
    push(now_ + job.service, false, job);
  }

  void finish(const Job& job) {
    Server& server = servers_[job.peer];
    server.is_busy = false;
    ++served_[job.peer];
    routers_[job.sender].observe(server.id,
                                 {.service = nanoseconds(job.service),
                                  .round_trip = nanoseconds(now_ + config_.hop - job.sent)});
    if (server.stage + 1 < stages_) {
      send(job.peer + 1, server.stage + 1);
    } else {
      ++completed_;
      send(0, 0);
    }
    serve(server);
  }

  const PipelineSimConfig config_;
  Rng rng_;
  const std::size_t stages_;
  std::vector<Server> servers_;
  std::vector<std::vector<std::uint32_t>> members_;  // of each stage
  std::vector<IwrrRouter> routers_;                  // (peers + 1,)
  std::vector<std::uint64_t> served_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  std::uint64_t completed_ = 0;
  double now_ = 0.0;
};

}  // namespace hobnob
