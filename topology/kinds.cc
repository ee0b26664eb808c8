#include "topology/kinds.h"

namespace hobnob {

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"trie-pairs", {}, make_trie_pairs},
      {"trie-groups", {"g"}, make_trie_groups},
      {"hash-buckets", {"g"}, make_hash_buckets},
      {"two-level", {"g", "cross_every", "crossing"}, make_two_level},
      {"ring", {}, make_static},
      {"torus", {}, make_static},
      {"chordal-ring", {}, make_static},
      {"hypercube", {}, make_static},
      {"exponential", {}, make_static},
      {"directed-exponential", {}, make_static},
      {"erdos-renyi", {}, make_static},
      {"expander", {"degree"}, make_static},
      {"small-world", {}, make_static},
      {"complete", {}, make_static},
      {"star", {}, make_static},
      {"file", {"graph"}, make_file_graph},
      {"one-peer-exponential", {"relabel"}, make_one_peer_exponential},
      {"one-peer-hypercube", {"relabel"}, make_one_peer_hypercube},
      {"base-k", {"k"}, make_base_k},
      {"ceca", {}, make_ceca},
      {"grid", {"dims"}, make_grid},
      {"round-robin", {"shuffled"}, make_round_robin},
      {"random-matching", {}, make_random_matching},
      {"equidyn-od", {"eta_percent"}, make_equidyn_od},
      {"equidyn-ou", {"eta_percent"}, make_equidyn_ou},
      {"matcha", {"degree", "active_percent"}, make_matcha},
  };
  return all;
}

}  // namespace hobnob
