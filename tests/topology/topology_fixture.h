#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/rng.h"
#include "topology/schedule.h"

// Views, configurations and the like that the topology tests share.

namespace hobnob {

inline PeerId small_id(std::uint64_t low) {
  return {.high = 0, .low = low};
}

inline MembershipView view_of(const std::vector<std::uint64_t>& ids) {
  std::vector<PeerId> peers;
  for (const std::uint64_t id : ids) {
    peers.push_back(small_id(id));
  }
  return MembershipView(std::move(peers));
}

// Ids as a job has them: 128 bits without a pattern.
inline std::vector<PeerId> random_peers(std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 1});
  std::vector<PeerId> peers;
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t high = rng.next_u64();
    peers.push_back({.high = high, .low = rng.next_u64()});
  }
  return peers;
}

// In `sites` sites of random sizes, about `deaf_percent` of the peers unable to listen.
inline MembershipView random_view(std::size_t count,
                                  std::uint64_t seed,
                                  std::uint32_t sites,
                                  std::uint64_t deaf_percent) {
  Rng rng({.seed = seed, .stream = 2});
  std::vector<ViewMember> members;
  for (const PeerId& peer : random_peers(count, seed)) {
    const std::uint64_t site = rng.below(rng.below(sites) + 1);
    members.push_back({.id = peer,
                       .site = static_cast<std::uint32_t>(site),
                       .can_listen = rng.below(100) >= deaf_percent});
  }
  return MembershipView(std::move(members));
}

// Every kind, with its defaults and with other parameters.
inline std::vector<TopologyConfig> all_configs() {
  std::vector<TopologyConfig> all;
  for (const std::string& kind : topology_kinds()) {
    all.push_back({.kind = kind, .seed = 7});
    if (kind == "file") {
      all.back().graph = "0 1 1/4\n1 2 1/3\n2 3 1/2\n3 0 1/5\n";
    }
  }
  all.push_back({.kind = "file", .seed = 7, .graph = "0: 1 2 3\n1: 0\n2: 0 3\n3: 0 2 4\n4: 3\n"});
  all.push_back({.kind = "trie-groups", .seed = 7, .g = 3});
  all.push_back({.kind = "hash-buckets", .seed = 7, .g = 2});
  all.push_back({.kind = "base-k", .seed = 7, .k = 1});
  all.push_back({.kind = "base-k", .seed = 7, .k = 2});
  all.push_back({.kind = "grid", .seed = 7, .dims = {2, 3}});
  all.push_back({.kind = "one-peer-exponential", .seed = 7, .relabel = true});
  all.push_back({.kind = "one-peer-hypercube", .seed = 7, .relabel = true});
  all.push_back({.kind = "round-robin", .seed = 7, .shuffled = false});
  all.push_back({.kind = "matcha", .seed = 7, .degree = 2, .active_percent = 100});
  all.push_back({.kind = "equidyn-od", .seed = 7, .eta_percent = 100});
  all.push_back({.kind = "equidyn-ou", .seed = 7, .eta_percent = 33});
  all.push_back({.kind = "two-level", .seed = 7, .g = 2, .cross_every = 1, .crossing = 3});
  return all;
}

inline std::string name_of(const TopologyConfig& config) {
  return config.kind + " g " + std::to_string(config.g) + " k " + std::to_string(config.k) +
         " relabel " + std::to_string(config.relabel) + " eta " +
         std::to_string(config.eta_percent) + " degree " + std::to_string(config.degree);
}

using Pair = std::pair<std::uint32_t, std::uint32_t>;

// Pairs with weight in either direction, the lesser rank first.
inline std::set<Pair> edges_of(const MixingMatrix& matrix) {
  std::set<Pair> edges;
  for (const auto& entry : matrix.entries()) {
    edges.insert({std::min(entry.row, entry.column), std::max(entry.row, entry.column)});
  }
  return edges;
}

// Rows of (peers, columns) standard normals.
using Columns = std::vector<std::vector<double>>;

inline Columns normal_columns(std::size_t peers, std::size_t columns, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = 3});
  Columns values(columns, std::vector<double>(peers));
  for (auto& column : values) {
    for (double& value : column) {
      value = rng.normal();
    }
  }
  return values;
}

// sum over columns of |x - mean(x)|^2.
inline double spread(const Columns& values) {
  double sum = 0.0;
  for (const auto& column : values) {
    double mean = 0.0;
    for (const double value : column) {
      mean += value / static_cast<double>(column.size());
    }
    for (const double value : column) {
      sum += (value - mean) * (value - mean);
    }
  }
  return sum;
}

inline void mix(const MixingMatrix& matrix, Columns& values) {
  for (auto& column : values) {
    column = matrix.apply(column);
  }
}

}  // namespace hobnob
