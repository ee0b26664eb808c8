// Matchings of everybody with everybody: those of a round-robin tournament, and random ones.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/position_schedule.h"
#include "topology/trie.h"

namespace hobnob {

namespace {

// The circle method. With an odd number, who would meet the last place stays alone.
std::uint32_t opponent(std::uint32_t position, std::uint32_t places, std::uint64_t matching) {
  const std::uint64_t cycle = places - 1;  // odd
  if (position == cycle) {
    return static_cast<std::uint32_t>(matching * (places / 2) % cycle);  // 2 i = matching
  }
  const std::uint64_t other = (matching + cycle - position) % cycle;
  return static_cast<std::uint32_t>(other == position ? cycle : other);
}

class RoundRobin final : public PositionSchedule {
 public:
  explicit RoundRobin(const TopologyConfig& config)
      : PositionSchedule(config.seed), is_shuffled_(config.shuffled) {}

  // A tournament of an even number, one of them a bye if need be.
  std::uint32_t period(std::uint32_t size) const override {
    return is_shuffled_ ? 0 : std::max(1U, size + size % 2) - 1 + (size == 0 ? 1U : 0U);
  }

  ScheduleTraits traits() const override { return {}; }

 private:
  Round begin(std::uint32_t size, std::uint64_t /*seed*/, std::uint64_t round) const override {
    const std::uint32_t places = size + size % 2;
    const std::uint64_t now = matching(places - 1, round);
    return [=](std::uint32_t position) {
      const std::uint32_t peer = opponent(position, places, now);
      return peer < size ? pair_with(peer) : RoundPlan{};
    };
  }

  // The epoch has no part in it, so that a cycle meets every pair once. O(n).
  std::uint64_t matching(std::uint32_t count, std::uint64_t round) const {
    const std::uint64_t place = round % count;
    if (!is_shuffled_) {
      return place;
    }
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      order[k] = {hash3(seed(), round / count, k), k};
    }
    const auto chosen = order.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(order.begin(), chosen, order.end());
    return chosen->second;
  }

  const bool is_shuffled_;
};

// Neighbours in the order of hashes, two and two.
class RandomMatching final : public Schedule {
 public:
  explicit RandomMatching(std::uint64_t seed) : seed_(seed) {}

  ScheduleTraits traits() const override { return {}; }

 private:
  // O(n): the place of self, and who is next to it.
  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t epoch,
                      std::uint64_t round) const override {
    const std::vector<TrieLeaf> leaves = trie_leaves(view, epoch_seed(seed_, epoch), round);
    const TrieLeaf own = leaves[self];
    std::size_t before = 0;
    std::optional<TrieLeaf> previous;
    std::optional<TrieLeaf> next;
    for (const TrieLeaf& leaf : leaves) {
      if (leaf < own) {
        ++before;
        previous = previous ? std::max(*previous, leaf) : leaf;
      } else if (leaf > own) {
        next = next ? std::min(*next, leaf) : leaf;
      }
    }
    const std::optional<TrieLeaf>& partner = before % 2 == 0 ? next : previous;
    return partner ? pair_with(partner->rank) : RoundPlan{};
  }

  std::vector<RoundPlan> full_plans(const MembershipView& view,
                                    std::uint64_t epoch,
                                    std::uint64_t round) const override {
    std::vector<TrieLeaf> order = trie_leaves(view, epoch_seed(seed_, epoch), round);
    std::ranges::sort(order);
    std::vector<RoundPlan> all(view.size());
    for (std::size_t k = 0; k + 1 < order.size(); k += 2) {
      all[order[k].rank] = pair_with(order[k + 1].rank);
      all[order[k + 1].rank] = pair_with(order[k].rank);
    }
    return all;
  }

  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Schedule> make_round_robin(const TopologyConfig& config) {
  return std::make_unique<RoundRobin>(config);
}

std::unique_ptr<Schedule> make_random_matching(const TopologyConfig& config) {
  return std::make_unique<RandomMatching>(config.seed);
}

}  // namespace hobnob
