#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// Which schedule, and its parameters. A kind reads the keys that topology_keys() lists for it; the
// others are without effect. Every peer of a job has the same.
//
// static        ring | torus | chordal-ring | hypercube | exponential | erdos-renyi | expander |
//               small-world | complete | star | file; directed: directed-exponential
// pairs         trie-pairs | random-matching | round-robin | one-peer-hypercube | equidyn-ou
// directed      one-peer-exponential | equidyn-od | ceca
// groups        trie-groups | hash-buckets | two-level
// exact average base-k | grid (and, where n is a power of 2, the one-peer kinds and ceca)
// subgraphs     matcha
struct TopologyConfig {
  std::string kind = "trie-pairs";
  // Mixed into the hashes of schedules.
  std::uint64_t seed = 1;

  // trie-groups, hash-buckets, two-level: peers per group (hash-buckets: at most). 2 .. 64. Larger
  // mixes faster for 2 (g - 1) / g vectors a round, and loses more when one of the group fails: 8
  // is the optimum with shards that fail alone, 4 when a failure costs the group its round.
  std::uint32_t g = 8;

  // base-k: a peer meets at most k others a round; Base-(k+1). 1 .. 63. 4 sends the fewest vectors
  // per exact average (4.7 at n = 100, 7.3 at 1000); 1 meets one peer a round (10.6, 15.9).
  std::uint32_t k = 4;

  // grid: peers along each dimension, 2 .. 64 each, at most 16 of them; the last one grows until
  // all peers fit. Exact where the product is n. Empty: as few equal dimensions of at most 16 as n
  // has, a product of exactly n where there is one.
  std::vector<std::uint32_t> dims;

  // one-peer-exponential, one-peer-hypercube: new positions by hash after every ceil(log2 n)
  // rounds. Mixes faster where n is not a power of 2 (29 rounds to 1e-6 against 55 at n = 100), but
  // meets all peers in the long run instead of the same few.
  bool relabel = false;

  // round-robin: the matchings of a cycle in an order by hash. In order they shift positions by one
  // a round and mix diffusively: 2500 rounds to 1e-3 at n = 100 instead of 20.
  bool shuffled = true;

  // expander, and matcha's base expander: neighbours, even, 2 .. 64. More cost bytes and mix
  // faster.
  std::uint32_t degree = 8;
  // matcha: how often each matching of the base graph takes part. 1 .. 100. At n = 100 half of 8
  // take 29 rounds to 1e-6, all of them 27 and twice the vectors; but half leave 2.6 times the
  // noise between the peers (Xi).
  std::uint32_t active_percent = 50;

  // equidyn-od, equidyn-ou: weight on the partner, eta (n - 1) / n. 1 .. 100.
  std::uint32_t eta_percent = 50;

  // two-level: every so many rounds sites exchange, 1 .. 1000. 4 takes 13 rounds to 1e-3 for 4
  // sites of 16, with a third of the traffic between sites of random pairs of all (20 rounds); 51
  // for 3 sites of 8, one of which stays out each time. 8 takes 18 and 99 with half of the traffic.
  std::uint32_t cross_every = 4;
  // file: the text of a graph file (topology/graph_file.h), undirected. Its node k is the k-th of
  // the view's peers. While the view has another number of peers, those beyond the file's nodes and
  // those whose neighbours are not there are joined by a ring of all, without the file's weights.
  std::string graph;

  // two-level: how many pairs two sites form then, at most 1000. 0: as many as the smaller has
  // peers, which costs the fewest vectors in all. Fewer are less of a burst for the uplink, and
  // slower: 2 of 16 peers in every round take 66 rounds to 1e-3, for half as much traffic a round.
  std::uint32_t crossing = 0;
};

// All kinds; the default first.
const std::vector<std::string>& topology_kinds();
// The JSON keys, besides "kind", that this (known) kind reads; none for an unknown one.
std::vector<std::string> topology_keys(const std::string& kind);

// Names the key, the range and the value ("gossip.topology.g: must be 2..64, got 1").
Result<void> validate(const TopologyConfig& config);

}  // namespace hobnob
