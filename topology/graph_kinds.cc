#include "topology/graph_kinds.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/nearest_word.h"
#include "topology/hashed_graphs.h"

namespace hobnob {

namespace {

using Ranks = std::vector<std::uint32_t>;
using Edges = std::vector<Graph::Edge>;

std::uint64_t rounded_root(std::uint64_t n) {
  std::uint64_t root = 0;
  while ((root + 1) * (root + 1) <= n) {
    ++root;
  }
  return n - root * root > root ? root + 1 : root;
}

// Kinds by position. All of them return neighbours in any order, perhaps self or a rank twice.

Ranks ring(const Place& at) {
  return {at.before(1), at.after(1)};
}

Ranks torus(const Place& at) {
  std::uint64_t rows = 1;
  for (std::uint64_t divisor = 2; divisor * divisor <= at.size(); ++divisor) {
    rows = at.size() % divisor == 0 ? divisor : rows;
  }
  const std::uint64_t columns = at.size() / rows;
  const std::uint64_t column = at.self % columns;
  const std::uint64_t row_start = at.self - column;
  return {at.before(columns), at.after(columns),
          static_cast<std::uint32_t>(row_start + (column + 1) % columns),
          static_cast<std::uint32_t>(row_start + (column + columns - 1) % columns)};
}

Ranks chordal_ring(const Place& at) {
  const std::uint64_t chord = rounded_root(at.size());
  return {at.before(1), at.after(1), at.before(chord), at.after(chord)};
}

Ranks hypercube(const Place& at) {
  Ranks peers;
  for (std::uint64_t bit = 1; bit < at.size(); bit *= 2) {
    if (const std::uint64_t peer = at.self ^ bit; peer < at.size()) {
      peers.push_back(static_cast<std::uint32_t>(peer));
    }
  }
  return peers;
}

Ranks exponential_targets(const Place& at) {
  Ranks peers;
  for (std::uint64_t hop = 1; hop < at.size(); hop *= 2) {
    peers.push_back(at.after(hop));
  }
  return peers;
}

Ranks exponential_sources(const Place& at) {
  Ranks peers;
  for (std::uint64_t hop = 1; hop < at.size(); hop *= 2) {
    peers.push_back(at.before(hop));
  }
  return peers;
}

Ranks exponential(const Place& at) {
  Ranks peers = exponential_targets(at);
  const Ranks sources = exponential_sources(at);
  peers.insert(peers.end(), sources.begin(), sources.end());
  return peers;
}

Ranks complete(const Place& at) {
  return all_ranks(at.size());
}

Ranks star(const Place& at) {
  return at.self == 0 ? all_ranks(at.size()) : Ranks{0};
}

using NeighboursOf = Ranks (*)(const Place&);
using EdgesOf = Edges (*)(const GraphConfig&, const MembershipView&);

struct Kind {
  std::string_view name;
  NeighboursOf neighbours;
  EdgesOf edges = nullptr;         // where neighbours of every rank would be slower
  NeighboursOf sources = nullptr;  // directed only
};

constexpr Kind kKinds[] = {
    {.name = "ring", .neighbours = ring},
    {.name = "torus", .neighbours = torus},
    {.name = "chordal-ring", .neighbours = chordal_ring},
    {.name = "hypercube", .neighbours = hypercube},
    {.name = "exponential", .neighbours = exponential},
    {.name = "directed-exponential",
     .neighbours = exponential_targets,
     .sources = exponential_sources},
    {.name = "erdos-renyi", .neighbours = erdos_renyi_neighbours, .edges = erdos_renyi_edges},
    {.name = "expander", .neighbours = expander_neighbours, .edges = expander_edges},
    {.name = "small-world", .neighbours = small_world_neighbours, .edges = small_world_edges},
    {.name = "complete", .neighbours = complete},
    {.name = "star", .neighbours = star},
};

const Kind& kind_of(const GraphConfig& config) {
  const Kind* const kind = std::ranges::find(kKinds, config.kind, &Kind::name);
  HOBNOB_CHECK(kind != std::end(kKinds), "graph config was not validated");
  return *kind;
}

Ranks tidied(Ranks peers, std::uint32_t self) {
  std::ranges::sort(peers);
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  std::erase(peers, self);
  return peers;
}

}  // namespace

const std::vector<std::string>& graph_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kKinds) {
      all.emplace_back(kind.name);
    }
    return all;
  }();
  return names;
}

Result<void> validate(const GraphConfig& config) {
  if (std::ranges::find(graph_kinds(), config.kind) == graph_kinds().end()) {
    return make_error(ErrorCode::kInvalidArgument, "graph kind: %s",
                      unknown_word(config.kind, graph_kinds()).c_str());
  }
  if (config.degree < 2 || config.degree > kMaxGraphDegree || config.degree % 2 != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "graph degree: %u is not an even number from 2 to %zu", config.degree,
                      kMaxGraphDegree);
  }
  return {};
}

Result<void> validate(const GraphConfig& config, std::size_t size) {
  if (const Result<void> valid = validate(config); !valid.ok()) {
    return valid;
  }
  if (size > kMaxGraphNodes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "graph of %zu nodes: a whole graph has at most %zu; take fewer", size,
                      kMaxGraphNodes);
  }
  if (config.kind == "complete" && size > 1 && size * (size - 1) / 2 > kMaxGraphEdges) {
    return make_error(ErrorCode::kInvalidArgument,
                      "complete graph of %zu nodes: more than %zu edges; take fewer nodes or "
                      "another kind such as expander",
                      size, kMaxGraphEdges);
  }
  return {};
}

Graph make_graph(const GraphConfig& config, const MembershipView& view) {
  HOBNOB_CHECK(validate(config, view.size()).ok(), "graph config was not validated");
  const std::size_t size = view.size();
  const Kind& kind = kind_of(config);
  if (kind.edges != nullptr && size > 0) {
    return Graph::undirected(size, kind.edges(config, view));
  }
  Edges edges;
  for (std::uint32_t self = 0; self < size; ++self) {
    for (const std::uint32_t peer :
         kind.neighbours({.config = config, .view = view, .self = self})) {
      edges.push_back({.a = self, .b = peer});
    }
  }
  return kind.sources == nullptr ? Graph::undirected(size, std::move(edges))
                                 : Graph::directed(size, std::move(edges));
}

std::vector<std::uint32_t> neighbours_of(const GraphConfig& config,
                                         const MembershipView& view,
                                         std::uint32_t rank) {
  HOBNOB_CHECK(rank < view.size(), "rank outside the view");
  return tidied(kind_of(config).neighbours({.config = config, .view = view, .self = rank}), rank);
}

std::vector<std::uint32_t> sources_of(const GraphConfig& config,
                                      const MembershipView& view,
                                      std::uint32_t rank) {
  HOBNOB_CHECK(rank < view.size(), "rank outside the view");
  const Kind& kind = kind_of(config);
  const NeighboursOf sources = kind.sources == nullptr ? kind.neighbours : kind.sources;
  return tidied(sources({.config = config, .view = view, .self = rank}), rank);
}

}  // namespace hobnob
