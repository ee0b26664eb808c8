// MATCHA (Wang et al. 2019, arXiv 1905.09435): W = I - alpha sum_m b_m L_m over matchings m of a
// base graph, each active (b_m = 1) by its own hash of the round.
//
// The base graph is an expander, the union of degree / 2 Hamiltonian cycles; cycle c visits the
// peers in the order of hash3(seed, c, id). (An edge of two cycles counts twice.) Its matchings
// come with it: every other edge of a cycle, degree in all, and where n is odd the cycles' closing
// edges in one more, or a few where they touch. All matchings are equally likely: on a graph this
// regular the probabilities that maximise lambda_2(sum_m p_m L_m) gain no more than draws differ.
//
// The paper's alpha, least |E[W'W] - J|, is the same in all rounds: 1 / (1 + p (degree - 1)) on
// this graph, which at 50 % of 8 matchings leaves a peer with all of them active an own weight of
// -0.78. Here own weights must not be negative, so alpha follows the round: (n - 1) / (n k), k > 1
// being the most active edges of a peer, and 1/2 for k = 1. The eigenvalues of sum_m b_m L_m
// without the one of the mean average n k / (n - 1) and lie about evenly around that, so this is
// close to the best constant of the round, 2 / (lambda_2 + lambda_n), without a solver. It leaves
// an own weight of 1 / n: J where the active edges are all pairs. Gap, Xi and Zeta at n = 100:
// 0.38, 0.41, 0.61; with the paper's alpha 0.36, 0.47, 0.82; with the lazier 1 / (1 + k) 0.31,
// 0.32, 0.89.

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/trie.h"

namespace hobnob {

namespace {

// Where a cycle starts and ends: its closing edge.
struct Ends {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool touches(const Ends& other) const {
    return first == other.first || first == other.last || last == other.first || last == other.last;
  }
};

// A peer on a cycle.
struct Stop {
  std::uint32_t place = 0;
  std::uint32_t previous = 0;  // ranks
  std::uint32_t next = 0;
};

// The matchings of one round.
class Round {
 public:
  struct Key {
    std::uint64_t seed = 0;  // with the epoch in it
    std::uint64_t round = 0;
    std::uint32_t active_percent = 0;
  };

  Round(std::uint32_t size, const std::vector<Ends>& cycles, const Key& key)
      : size_(size), extra_(cycles.size()) {
    std::uint32_t matchings = 2 * static_cast<std::uint32_t>(cycles.size());
    const std::uint32_t regular = matchings;
    for (std::size_t c = 0; size % 2 == 1 && c < cycles.size(); ++c) {
      extra_[c] = regular;
      for (std::size_t k = 0; k < c;) {
        const bool clashes = extra_[k] == extra_[c] && cycles[k].touches(cycles[c]);
        extra_[c] += clashes ? 1U : 0U;
        k = clashes ? 0 : k + 1;
      }
      matchings = std::max(matchings, extra_[c] + 1);
    }
    for (std::uint32_t m = 0; m < matchings; ++m) {
      const std::uint64_t draw = hash3(key.seed, key.round, m) >> 32U;
      is_active_.push_back(draw * 100 < std::uint64_t{key.active_percent} << 32U);
    }
    alpha_ = alpha(most_edges(cycles));
  }

  // Adds the edges of a stop on cycle c.
  void add(std::uint32_t c, const Stop& stop, std::vector<std::uint32_t>& peers) const {
    if (is_active(c, stop.place)) {
      peers.push_back(stop.next);
    }
    if (is_active(c, stop.place == 0 ? size_ - 1 : stop.place - 1)) {
      peers.push_back(stop.previous);
    }
  }

  // A peer named twice has twice the weight.
  RoundPlan plan(std::vector<std::uint32_t> peers) const {
    std::ranges::sort(peers);
    RoundPlan plan;
    for (std::size_t k = 0; k < peers.size();) {
      std::uint32_t edges = 0;
      const std::uint32_t peer = peers[k];
      for (; k < peers.size() && peers[k] == peer; ++k) {
        ++edges;
      }
      const Weight weight{edges * alpha_.numerator, alpha_.denominator};
      plan.partners.push_back({.peer = peer, .in = weight, .out = weight});
    }
    return plan;
  }

 private:
  // Edge e of a cycle joins its places e and e + 1; two peers have only edge 0.
  bool is_active(std::uint32_t c, std::uint32_t edge) const {
    const bool closes = edge == size_ - 1;
    if (closes && size_ == 2) {
      return false;
    }
    return is_active_[closes && size_ % 2 == 1 ? extra_[c] : 2 * c + edge % 2];
  }

  // Active edges of a peer; of any that ends no cycle when there is no such rank.
  std::uint32_t edges_of(std::uint32_t rank, const std::vector<Ends>& cycles) const {
    std::uint32_t edges = 0;
    for (std::uint32_t c = 0; c < cycles.size(); ++c) {
      const bool is_first = cycles[c].first == rank;
      const bool is_end = is_first || cycles[c].last == rank;
      edges += is_active(c, is_end ? size_ - 1 : 1) ? 1U : 0U;
      edges += is_active(c, is_end && !is_first ? size_ - 2 : 0) ? 1U : 0U;
    }
    return edges;
  }

  // At least those of any peer; exact unless n is odd and every peer ends a cycle.
  std::uint32_t most_edges(const std::vector<Ends>& cycles) const {
    std::uint32_t most = size_ > 2 ? edges_of(size_, cycles) : 0;
    for (const Ends& ends : cycles) {
      most = std::max({most, edges_of(ends.first, cycles), edges_of(ends.last, cycles)});
    }
    return most;
  }

  Weight alpha(std::uint32_t most) const {
    return most <= 1 ? kHalf : make_weight(size_ - 1, std::uint64_t{size_} * most);
  }

  std::uint32_t size_;
  std::vector<std::uint32_t> extra_;  // the matching of each cycle's closing edge, n odd
  std::vector<bool> is_active_;
  Weight alpha_;
};

class Matcha final : public Schedule {
 public:
  explicit Matcha(const TopologyConfig& config)
      : seed_(config.seed), cycles_(config.degree / 2), active_percent_(config.active_percent) {}

  ScheduleTraits traits() const override { return {}; }

 private:
  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t epoch,
                      std::uint64_t round) const override {
    if (view.size() < 2) {
      return {};
    }
    std::vector<Ends> ends(cycles_);
    std::vector<Stop> stops(cycles_);
    for (std::uint32_t c = 0; c < cycles_; ++c) {
      std::tie(stops[c], ends[c]) = find(trie_leaves(view, seed_, c), self);
    }
    const Round now = begin(view, ends, epoch, round);
    std::vector<std::uint32_t> peers;
    for (std::uint32_t c = 0; c < cycles_; ++c) {
      now.add(c, stops[c], peers);
    }
    return now.plan(std::move(peers));
  }

  std::vector<RoundPlan> full_plans(const MembershipView& view,
                                    std::uint64_t epoch,
                                    std::uint64_t round) const override {
    const std::size_t size = view.size();
    std::vector<RoundPlan> all(size);
    if (size < 2) {
      return all;
    }
    std::vector<std::vector<TrieLeaf>> orders(cycles_);
    std::vector<Ends> ends(cycles_);
    for (std::uint32_t c = 0; c < cycles_; ++c) {
      orders[c] = trie_leaves(view, seed_, c);
      std::ranges::sort(orders[c]);
      ends[c] = {.first = orders[c].front().rank, .last = orders[c].back().rank};
    }
    const Round now = begin(view, ends, epoch, round);
    std::vector<std::vector<std::uint32_t>> peers(size);
    for (std::uint32_t c = 0; c < cycles_; ++c) {
      for (std::size_t k = 0; k < size; ++k) {
        const Stop stop{.place = static_cast<std::uint32_t>(k),
                        .previous = orders[c][(k + size - 1) % size].rank,
                        .next = orders[c][(k + 1) % size].rank};
        now.add(c, stop, peers[orders[c][k].rank]);
      }
    }
    for (std::size_t self = 0; self < size; ++self) {
      all[self] = now.plan(std::move(peers[self]));
    }
    return all;
  }

  // Self's stop on a cycle, and where it closes, without sorting. O(n).
  static std::pair<Stop, Ends> find(const std::vector<TrieLeaf>& leaves, std::uint32_t self) {
    Stop stop;
    const TrieLeaf own = leaves[self];
    TrieLeaf first = own;
    TrieLeaf last = own;
    TrieLeaf previous = own;
    TrieLeaf next = own;
    for (const TrieLeaf& leaf : leaves) {
      first = std::min(first, leaf);
      last = std::max(last, leaf);
      if (leaf < own) {
        ++stop.place;
        previous = previous == own ? leaf : std::max(previous, leaf);
      } else if (leaf > own) {
        next = next == own ? leaf : std::min(next, leaf);
      }
    }
    stop.previous = (previous == own ? last : previous).rank;
    stop.next = (next == own ? first : next).rank;
    return {stop, {.first = first.rank, .last = last.rank}};
  }

  Round begin(const MembershipView& view,
              const std::vector<Ends>& ends,
              std::uint64_t epoch,
              std::uint64_t round) const {
    return {static_cast<std::uint32_t>(view.size()),
            ends,
            {.seed = epoch_seed(seed_, epoch), .round = round, .active_percent = active_percent_}};
  }

  const std::uint64_t seed_;
  const std::uint32_t cycles_;
  const std::uint32_t active_percent_;
};

}  // namespace

std::unique_ptr<Schedule> make_matcha(const TopologyConfig& config) {
  return std::make_unique<Matcha>(config);
}

}  // namespace hobnob
