#pragma once

#include <memory>
#include <string>
#include <vector>

#include "topology/schedule.h"

// The implementations that make_schedule() chooses from. All take a valid configuration.

namespace hobnob {

struct Kind {
  const char* name;
  std::vector<std::string> keys;  // of TopologyConfig, as JSON spells them
  std::unique_ptr<Schedule> (*make)(const TopologyConfig& config);
};

// The default first.
const std::vector<Kind>& kinds();

// The kinds of topology/graph_kinds.h, and "file": the same graph in every round.
std::unique_ptr<Schedule> make_static(const TopologyConfig& config);
std::unique_ptr<Schedule> make_file_graph(const TopologyConfig& config);

// Random pairs or groups, new ones every round, that change little when the view does.
std::unique_ptr<Schedule> make_trie_pairs(const TopologyConfig& config);
std::unique_ptr<Schedule> make_trie_groups(const TopologyConfig& config);
std::unique_ptr<Schedule> make_hash_buckets(const TopologyConfig& config);
// Trie groups inside each site; now and then pairs across sites.
std::unique_ptr<Schedule> make_two_level(const TopologyConfig& config);

// i -> i + 2^(t mod tau), tau = ceil(log2 n) (Ying et al. 2021, arXiv 2110.13363). Directed.
std::unique_ptr<Schedule> make_one_peer_exponential(const TopologyConfig& config);
// i <-> i xor 2^(t mod tau) where that is a peer.
std::unique_ptr<Schedule> make_one_peer_hypercube(const TopologyConfig& config);
// Base-(k+1) (Takezawa et al. 2023, arXiv 2305.11420).
std::unique_ptr<Schedule> make_base_k(const TopologyConfig& config);
// The edges of CECA-2P (Ding et al. 2023, arXiv 2306.00256); see topology/ceca.h. Directed.
std::unique_ptr<Schedule> make_ceca(const TopologyConfig& config);
// Groups along one dimension after another (Moshpit, Ryabinin et al. 2021, arXiv 2103.03239).
std::unique_ptr<Schedule> make_grid(const TopologyConfig& config);
// All pairs of a tournament, one matching a round.
std::unique_ptr<Schedule> make_round_robin(const TopologyConfig& config);
// A uniformly random matching every round, as AD-PSGD and NoLoCo (arXiv 2506.10911) use.
std::unique_ptr<Schedule> make_random_matching(const TopologyConfig& config);
// OD-EquiDyn and OU-EquiDyn (Song et al. 2022, arXiv 2210.07881). The first is directed.
std::unique_ptr<Schedule> make_equidyn_od(const TopologyConfig& config);
std::unique_ptr<Schedule> make_equidyn_ou(const TopologyConfig& config);
// A random part of the matchings of an expander (Wang et al. 2019, arXiv 1905.09435).
std::unique_ptr<Schedule> make_matcha(const TopologyConfig& config);

}  // namespace hobnob
