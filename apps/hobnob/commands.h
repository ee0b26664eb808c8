#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"

// The verbs of the program; main.cc reads argv into these and returns what they return.

namespace hobnob {

// What a process ends with.
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,         // while running
  kExitBadInput = 2,       // usage, file, address
  kExitRefused = 3,        // by the swarm
  kExitInterrupted = 130,  // after a graceful leave
};

// Prints "hobnob: MESSAGE" and gives the exit code for it.
int report(const Error& error);

// "a,a,b,b": the peers' sites, repeated over them; nothing for "".
Result<std::vector<std::string>> parse_site_names(const std::string& text);

struct SimulateOptions {
  std::string job;
  std::size_t peers = 8;
  std::optional<std::uint64_t> rounds;  // else the job's
  std::optional<std::uint64_t> seed;    // of the network; else the job's
  std::string link;
  std::string speeds;
  std::string sites;
  std::string churn;
  std::string faults;
  std::string out;
  std::uint64_t record_every = 1;
  bool json = false;
};

int run_simulate(const SimulateOptions& options);

int run_job_check(const std::string& path, bool json);
int run_job_schema();
int run_job_example(const std::string& name);
int run_job_list();

struct PeerOptions {
  std::string job;
  std::string bootstrap;
  std::string listen = "127.0.0.1:0";
  std::string advertise;  // "none": others cannot dial this peer
  std::string site;
  std::string http = "127.0.0.1:0";
  std::string device = "cpu";
  std::string name;
  std::string data;          // overrides data.path on this machine
  std::string state;         // directory; empty: nothing is kept
  double save_every = 30.0;  // seconds
  std::vector<std::string> trusted_networks;
  std::uint32_t min_peers = 0;  // 0: 2 for the first peer, 1 for a joiner
  int shard = -1;               // -1: the one claimed by the fewest
  double join_timeout = 30.0;   // seconds
  bool no_ucx = false;
  bool shared_memory = false;
  bool http_open = false;
  bool json = false;
  bool verbose = false;
  int report_fd = -1;  // progress lines for `hobnob swarm`
};

int run_peer(const PeerOptions& options);

struct SwarmOptions {
  std::string job;
  std::size_t peers = 4;
  std::string http;
  std::string sites;
  std::string out;
  std::string data;
  bool no_ucx = false;
  bool json = false;
};

int run_swarm(const SwarmOptions& options);

}  // namespace hobnob
