#pragma once

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/base/result.h"
#include "topology/schedule.h"
#include "topology/view.h"

// How people name schedules, peers and rounds: in a job, and on the command line.

namespace hobnob {

// The object gossip.topology of a job. Only the keys that its kind has.
Result<void> read_topology(const Json& json, TopologyConfig& topology);
Json write_topology(const TopologyConfig& topology);
// {"kind": "file", "path": FILE} with the file's text as "graph" in place of "path", so that who
// gets the job needs no file; another object as it is.
// A relative path is looked for in `folder`; empty: the working directory.
Result<Json> with_graph_text(Json topology, const std::string& folder);

// KIND, or KIND:key=value,key=value with the keys of a job ("trie-groups:g=4", "grid:dims=5x5",
// "file:path=ring.edges"). `what` is named in errors.
Result<TopologyConfig> parse_topology_spec(const std::string& text, const std::string& what);

// How many peers a schedule is looked at with: `asked`, or without (0) `otherwise`; of a graph file
// as many as it has nodes and no other number.
Result<std::size_t> peers_for(const TopologyConfig& config,
                              std::size_t asked,
                              std::size_t otherwise);

// "8,25,64": numbers within [low, high].
Result<std::vector<std::size_t>> parse_counts(const std::string& text,
                                              const std::string& what,
                                              std::size_t low,
                                              std::size_t high);

// Peers 1 .. n, and how they are spread over sites: "" (one site), "4x16" (4 sites of 16, whose
// product is n) or "8,8,4" (the sizes, which sum to n).
Result<MembershipView> numbered_view(std::size_t peers, const std::string& sites);

// "3" or "0..7", both ends included.
struct RoundRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

Result<RoundRange> parse_rounds(const std::string& text, const std::string& what);

}  // namespace hobnob
