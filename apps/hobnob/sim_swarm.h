#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/hobnob/job.h"
#include "runtime/transport/sim_network.h"

namespace hobnob {

// Something that happens to a simulated peer.
struct SimEvent {
  enum class Kind { kKill, kFreeze, kLeave, kJoin, kPartition, kRestart };
  Kind kind = Kind::kKill;
  std::size_t peer = 0;   // index; of a join, ignored
  std::size_t other = 0;  // partition: the other end
  Duration at{0};
  Duration length{0};  // freeze, partition; restart: how long it is away
};

// "kill:3@2s,restart:2@1s+500ms,freeze:1@500ms+2s,leave:0@3s,join@4s,partition:0-1@1s+2s". `what`
// names the argument in errors.
Result<std::vector<SimEvent>> parse_sim_events(const std::string& text, const std::string& what);
// "rate=100mbit,delay=50ms,jitter=5ms,loss=1%,duplicate=0.1%,reorder=2%".
Result<LinkModel> parse_link_model(const std::string& text, const std::string& what);

struct SimConfig {
  std::size_t peers = 8;
  std::uint64_t seed = 1;
  LinkModel link{.delay = std::chrono::milliseconds(1)};
  Duration step_time = std::chrono::milliseconds(10);  // of a peer of speed 1
  std::vector<double> speeds;                          // repeated over the peers; empty: all 1
  std::vector<std::string> sites;                      // repeated over the peers; empty: none
  std::vector<SimEvent> events;
  std::uint64_t record_every = 0;  // rounds; 0: only the end
  Duration time_limit = std::chrono::hours(24 * 365);
};

// One line of --out, and the summary.
struct SimRecord {
  std::uint64_t round = 0;
  double virtual_seconds = 0.0;
  std::optional<double> err;   // sqrt(mean_i |x_i - x*|^2)
  double cons = 0.0;           // sqrt(mean_i |x_i - mean|^2)
  std::optional<double> merr;  // |mean - x*|
  double loss = 0.0;           // mean over peers of the evaluation; NaN where not evaluated
  double accuracy = 0.0;
  double bytes_per_peer = 0.0;
  std::uint64_t messages = 0;
  double sent_fraction = 1.0;
  // Largest change so far that mixing made to a component of the mean of all peers, in a round that
  // all finished.
  double invariant_mean = 0.0;
  std::size_t live_peers = 0;
};

struct SimResult {
  SimRecord last;
  // Largest component of the sum of all flows so far, over the number of peers; unless one was lost
  // or started over.
  std::optional<double> flow_sum;
  std::optional<double> rate;         // of err, a round (ConvergenceRate)
  std::vector<std::string> errors;    // of peers that failed
  std::vector<double> longest_stall;  // virtual seconds, per peer
  std::vector<double> join_seconds;   // of peers that joined a running swarm
  std::uint64_t late_edges = 0;
  std::uint64_t events = 0;
};

// Runs the job's peers in virtual time, in this thread: the same Node and Trainer as in live peers.
// `on_record` gets a record every record_every rounds; `on_progress` the round of the slowest peer
// now and then.
Result<SimResult> run_simulation(const Job& job,
                                 const SimConfig& config,
                                 const std::function<void(const SimRecord&)>& on_record,
                                 const std::function<void(std::uint64_t round)>& on_progress);

Json to_json(const SimRecord& record);

}  // namespace hobnob
