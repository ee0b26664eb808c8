#include "topology/hashed_graphs.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "runtime/base/hash.h"

namespace hobnob {

namespace {

__extension__ using Wide = unsigned __int128;

using Ranks = std::vector<std::uint32_t>;
using Edges = std::vector<Graph::Edge>;

Edges all_pairs(std::size_t size) {
  Edges edges;
  for (std::uint32_t b = 1; b < size; ++b) {
    for (std::uint32_t a = 0; a < b; ++a) {
      edges.push_back({.a = a, .b = b});
    }
  }
  return edges;
}

bool is_complete_expander(const GraphConfig& config, const MembershipView& view) {
  return view.size() <= std::size_t{config.degree} + 1;
}

// Where a rank stands in cycle c: by hash, equal hashes by rank.
Wide stand(const Place& at, std::uint64_t cycle, std::uint32_t rank) {
  return Wide{hash3(at.config.seed, cycle, at.view.at(rank).key())} << 32U | rank;
}

// ln(n) 2^32, rounded down, n >= 1: the binary logarithm bit by bit (Knuth, TAOCP 1.2.2, ex. 25).
std::uint64_t fixed_log(std::uint64_t n) {
  constexpr std::uint64_t kLogOfTwo = 2977044471;  // ln(2) 2^32
  const auto whole = static_cast<unsigned>(63 - std::countl_zero(n));
  std::uint64_t binary = std::uint64_t{whole} << 32U;
  Wide x = Wide{n} << (63U - whole);  // [1, 2) with 63 bits behind the point
  for (unsigned bit = 32; bit-- > 0;) {
    x = (x * x) >> 63U;
    if (x >> 64U != 0) {
      x >>= 1U;
      binary |= std::uint64_t{1} << bit;
    }
  }
  return static_cast<std::uint64_t>((Wide{binary} * kLogOfTwo) >> 32U);
}

// Every pair, by a coin of its own. With the two neighbours of a Hamiltonian cycle a rank has 2 ln
// n on average.
class PairDraw {
 public:
  PairDraw(const GraphConfig& config, const MembershipView& view)
      : view_(view), seed_(mix64(config.seed)), threshold_(threshold_of(view.size())) {}

  bool has_edge(std::uint32_t a, std::uint32_t b) const {
    const auto [low, high] = std::minmax(a, b);
    return hash3(seed_, view_.at(low).key(), view_.at(high).key()) < threshold_;
  }

 private:
  // 2^64 (2 ln n - 2) / n, from where the cycle is not all there is.
  static std::uint64_t threshold_of(std::uint64_t size) {
    constexpr std::uint64_t kOne = std::uint64_t{1} << 32U;
    const std::uint64_t log = size < 3 ? kOne : fixed_log(size);
    return static_cast<std::uint64_t>((Wide{log - kOne} << 33U) / std::max<std::uint64_t>(size, 1));
  }

  const MembershipView& view_;
  std::uint64_t seed_;
  std::uint64_t threshold_;
};

// The two next to self in a cycle are the nearest clockwise and counterclockwise on the circle of
// all hashes: one look at everybody, no sort.
void add_cycle_neighbours(const Place& at, std::uint64_t cycle, Ranks& peers) {
  if (at.size() < 2) {
    return;
  }
  constexpr Wide kCircle = (Wide{1} << 96U) - 1;
  const Wide own = stand(at, cycle, at.self);
  Wide next = kCircle;
  Wide last = 0;
  for (std::uint32_t rank = 0; rank < at.size(); ++rank) {
    if (rank != at.self) {
      const Wide clockwise = (stand(at, cycle, rank) - own) & kCircle;
      next = std::min(next, clockwise);
      last = std::max(last, clockwise);
    }
  }
  for (const Wide clockwise : {next, last}) {
    peers.push_back(static_cast<std::uint32_t>(own + clockwise));  // the low word is the rank
  }
}

void add_cycle_edges(const Place& at, std::uint64_t cycle, Edges& edges) {
  std::vector<Wide> order;
  order.reserve(at.size());
  for (std::uint32_t rank = 0; rank < at.size(); ++rank) {
    order.push_back(stand(at, cycle, rank));
  }
  std::ranges::sort(order);
  for (std::size_t k = 0; k < order.size(); ++k) {
    edges.push_back({.a = static_cast<std::uint32_t>(order[k]),
                     .b = static_cast<std::uint32_t>(order[(k + 1) % order.size()])});
  }
}

// Where the lattice link of `at.self` ends: `reach` places on, or moved to a uniformly drawn other
// rank.
std::uint32_t link_end(const Place& at, std::uint64_t reach) {
  constexpr std::uint64_t kBeta = ~std::uint64_t{0} / 5;
  const std::uint64_t key = at.view.at(at.self).key();
  if (hash3(at.config.seed, reach, key) >= kBeta) {
    return at.after(reach);
  }
  const Wide draw = hash3(at.config.seed, ~reach, key);
  return at.after(1 + static_cast<std::uint64_t>((draw * (at.size() - 1)) >> 64U));
}

}  // namespace

std::vector<std::uint32_t> all_ranks(std::size_t size) {
  Ranks all(size);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Ranks expander_neighbours(const Place& at) {
  if (is_complete_expander(at.config, at.view)) {
    return all_ranks(at.size());
  }
  Ranks peers;
  for (std::uint64_t cycle = 0; cycle < at.config.degree / 2; ++cycle) {
    add_cycle_neighbours(at, cycle, peers);
  }
  return peers;
}

Edges expander_edges(const GraphConfig& config, const MembershipView& view) {
  if (is_complete_expander(config, view)) {
    return all_pairs(view.size());
  }
  Edges edges;
  const Place at{.config = config, .view = view};
  for (std::uint64_t cycle = 0; cycle < config.degree / 2; ++cycle) {
    add_cycle_edges(at, cycle, edges);
  }
  return edges;
}

Ranks erdos_renyi_neighbours(const Place& at) {
  const PairDraw draw(at.config, at.view);
  Ranks peers;
  add_cycle_neighbours(at, 0, peers);
  for (std::uint32_t rank = 0; rank < at.size(); ++rank) {
    if (rank != at.self && draw.has_edge(at.self, rank)) {
      peers.push_back(rank);
    }
  }
  return peers;
}

Edges erdos_renyi_edges(const GraphConfig& config, const MembershipView& view) {
  const PairDraw draw(config, view);
  Edges edges;
  add_cycle_edges({.config = config, .view = view}, 0, edges);
  for (std::uint32_t b = 1; b < view.size(); ++b) {
    for (std::uint32_t a = 0; a < b; ++a) {
      if (draw.has_edge(a, b)) {
        edges.push_back({.a = a, .b = b});
      }
    }
  }
  return edges;
}

Ranks small_world_neighbours(const Place& at) {
  Ranks peers{at.before(1), at.after(1), link_end(at, 1), link_end(at, 2)};
  for (std::uint32_t rank = 0; rank < at.size(); ++rank) {
    const Place other{.config = at.config, .view = at.view, .self = rank};
    if (link_end(other, 1) == at.self || link_end(other, 2) == at.self) {
      peers.push_back(rank);
    }
  }
  return peers;
}

Edges small_world_edges(const GraphConfig& config, const MembershipView& view) {
  Edges edges;
  for (std::uint32_t rank = 0; rank < view.size(); ++rank) {
    const Place at{.config = config, .view = view, .self = rank};
    for (const std::uint32_t peer : {at.after(1), link_end(at, 1), link_end(at, 2)}) {
      edges.push_back({.a = rank, .b = peer});
    }
  }
  return edges;
}

}  // namespace hobnob
