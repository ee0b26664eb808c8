#include "topology/kinds.h"

#include "topology/graph_kinds.h"

namespace hobnob {

using Keys = std::vector<std::string>;

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> kinds{
        {"trie-pairs", {}, make_trie_pairs},
        {"trie-groups", {"g"}, make_trie_groups},
        {"hash-buckets", {"g"}, make_hash_buckets},
        {"two-level", {"g", "cross_every", "crossing"}, make_two_level},
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
    for (const std::string& graph : graph_kinds()) {
      const bool has_degree = graph == "expander";
      kinds.push_back({graph.c_str(), has_degree ? Keys{"degree"} : Keys{}, make_static});
    }
    return kinds;
  }();
  return all;
}

}  // namespace hobnob
