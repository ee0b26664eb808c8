#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hobnob {

// What this build of the schedules promises, checked on this machine: golden vectors that all
// machines share, and the exact schedules, proven in rationals (topology/exact_average.h).
struct VerifyOptions {
  std::uint32_t base_peers = 256;  // base-k: exact for every n up to it,
  std::uint32_t base_k = 8;        // and every k up to it
  std::vector<std::uint32_t> large_base{729, 1000, 1023, 1024};  // and these n, at the table's k
  std::uint32_t ceca_peers = 1024;                               // CECA: exact for every n up to it
  std::uint32_t one_peer_peers = 1024;  // one-peer kinds: for powers of 2 up to it, from any phase
};

struct Check {
  std::string name;
  bool passed = false;
  std::string detail;  // what was seen, or the first case that fails
};

// Never stops at a failure. A few seconds with the defaults.
std::vector<Check> verify_topology(const VerifyOptions& options = {});

}  // namespace hobnob
