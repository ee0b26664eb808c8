#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "topology/graph.h"
#include "topology/view.h"

// Static graphs for any number of members. A pure function of (config, ids): the same members give
// the same graph on every machine, without a float. All are connected.

namespace hobnob {

inline constexpr std::size_t kMaxGraphDegree = 64;

struct GraphConfig {
  // ring                  i ~ i+-1
  // torus                 a x b, a the largest divisor up to sqrt n; a prime n gives the ring
  // chordal-ring          i ~ i+-1, i+-round(sqrt n)
  // hypercube             i ~ i xor 2^b, where that is below n
  // exponential           i ~ i+-2^l, 2^l < n
  // directed-exponential  i -> i+2^l, 2^l < n (exponential graphs: Ying et al. 2110.13363)
  // erdos-renyi           every pair with probability (2 ln n - 2) / n, and one Hamiltonian cycle,
  // so
  //                       that it is connected: 2 ln n neighbours on average
  // expander              union of degree / 2 Hamiltonian cycles; cycle c joins the ids in order of
  //                       hash(seed, c, id); the complete graph when n <= degree + 1
  // small-world           Watts-Strogatz, k = 4, beta = 0.2: each link i ~ i+1, i ~ i+2 moves its
  //                       far end with probability 0.2; and the ring: 4.4 neighbours on average
  // complete              all pairs
  // star                  all with rank 0
  // In the expander and the Erdos-Renyi graph edges belong to ids; in all others to ranks, so that
  // one join may move many.
  std::string kind = "expander";
  // Neighbours of a rank in the expander: even, 2 to kMaxGraphDegree. More costs bytes per round
  // and mixes faster: rho = (1 + 2 sqrt(degree - 1)) / (degree + 1). Other kinds ignore it.
  std::uint32_t degree = 8;
  // Of expander, erdos-renyi and small-world; every peer of a job has the same.
  std::uint64_t seed = 1;
};

// In the order of the list above.
const std::vector<std::string>& graph_kinds();

// The kind is known and the degree in range.
Result<void> validate(const GraphConfig& config);

// Moreover the whole graph of `size` ranks stays within kMaxGraphNodes and kMaxGraphEdges.
Result<void> validate(const GraphConfig& config, std::size_t size);

// The whole graph. `config` must be valid for the size of the view. O(n degree log n); erdos-renyi
// O(n^2) hashes.
Graph make_graph(const GraphConfig& config, const MembershipView& view);

// make_graph(config, view).neighbours(rank) without the rest of the graph, for a valid `config` and
// a view of any size. O(degree) by position (the torus looks for its divisor, O(sqrt n)); expander
// O(degree n), small-world and erdos-renyi O(n).
std::vector<std::uint32_t> neighbours_of(const GraphConfig& config,
                                         const MembershipView& view,
                                         std::uint32_t rank);

// The ranks that have `rank` among their neighbours: neighbours_of(), unless the kind is directed.
std::vector<std::uint32_t> sources_of(const GraphConfig& config,
                                      const MembershipView& view,
                                      std::uint32_t rank);

}  // namespace hobnob
