#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// hobnob topology show | rate | compare | weights | pipeline | view-diff | verify. Each returns the
// exit code.

namespace hobnob {

struct TopologyShowOptions {
  std::string schedule;
  std::size_t peers = 0;  // 0: 16, or as many as a graph file has nodes
  std::string rounds = "0..3";
  std::string sites;
  std::uint64_t seed = 1;
  std::string svg;  // file; "-" is stdout
  bool dot = false;
  bool json = false;
};

int run_topology_show(const TopologyShowOptions& options);

struct TopologyRateOptions {
  std::vector<std::string> schedules;  // "all" among them: one of every kind
  std::string peers;                   // empty: 64, or as many as a graph file has nodes
  std::uint64_t seed = 1;
  double unreachable = 0.05;
  // Above 0: one newcomer, whom this share of the others knows of.
  double newcomer_known_by = 0.0;
  bool json = false;
};

int run_topology_rate(const TopologyRateOptions& options);
// The few columns people choose by, with the best of each marked.
int run_topology_compare(const TopologyRateOptions& options);

struct TopologyWeightsOptions {
  std::string file;
  std::string rule = "all";
  std::string target;  // what every node's value shall weigh, with commas
  bool json = false;
};

int run_topology_weights(const TopologyWeightsOptions& options);

struct TopologyPipelineOptions {
  std::string scenario;  // a file, or the name of an example
  bool json = false;
};

int run_topology_pipeline(const TopologyPipelineOptions& options);

struct TopologyDiffOptions {
  std::string one;  // files
  std::string other;
  std::string schedule;  // empty: that of the first page, else trie-pairs
  std::uint64_t rounds = 20;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

int run_topology_view_diff(const TopologyDiffOptions& options);

int run_topology_verify(bool json);

}  // namespace hobnob
