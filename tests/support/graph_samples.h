#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/rng.h"
#include "topology/graph.h"
#include "topology/view.h"

// Graphs and views that several tests look at.

namespace hobnob {

// Ids as a job has them: 128 bits without a pattern.
inline std::vector<PeerId> unordered_peers(std::size_t n, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 1});
  std::vector<PeerId> peers;
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint64_t high = rng.next_u64();
    peers.push_back({.high = high, .low = rng.next_u64()});
  }
  return peers;
}

inline Graph path_graph(std::uint32_t n) {
  std::vector<Graph::Edge> edges;
  for (std::uint32_t rank = 0; rank + 1 < n; ++rank) {
    edges.push_back({.a = rank, .b = rank + 1});
  }
  return Graph::undirected(n, std::move(edges));
}

// Two complete graphs of `half` ranks with one edge between them.
inline Graph bridged_cliques(std::uint32_t half) {
  std::vector<Graph::Edge> edges{{.a = half - 1, .b = half}};
  for (const std::uint32_t first : {std::uint32_t{0}, half}) {
    for (std::uint32_t b = 1; b < half; ++b) {
      for (std::uint32_t a = 0; a < b; ++a) {
        edges.push_back({.a = first + a, .b = first + b});
      }
    }
  }
  return Graph::undirected(2 * std::size_t{half}, std::move(edges));
}

// A random tree, connected therefore, and `extra` random edges.
inline Graph random_connected_graph(std::uint32_t n, std::size_t extra, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 2});
  std::vector<Graph::Edge> edges;
  for (std::uint32_t rank = 1; rank < n; ++rank) {
    edges.push_back({.a = static_cast<std::uint32_t>(rng.below(rank)), .b = rank});
  }
  for (std::size_t k = 0; k < extra; ++k) {
    edges.push_back({.a = static_cast<std::uint32_t>(rng.below(n)),
                     .b = static_cast<std::uint32_t>(rng.below(n))});
  }
  return Graph::undirected(n, std::move(edges));
}

}  // namespace hobnob
