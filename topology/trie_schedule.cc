// Pairs, groups and buckets of the hash trie: see topology/trie.h. Each peer hashes (round, id), so
// they are new every round.

#include <utility>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/trie.h"

namespace hobnob {

namespace {

enum class TrieRule { kPairs, kGroups, kBuckets };

class TrieSchedule final : public Schedule {
 public:
  TrieSchedule(TrieRule rule, std::uint64_t seed, std::uint32_t g)
      : rule_(rule), seed_(seed), g_(g) {}

  ScheduleTraits traits() const override { return {.has_groups = rule_ != TrieRule::kPairs}; }

  std::optional<std::uint32_t> exact_period(std::uint32_t size) const override {
    return size <= 1 ? std::optional(0U) : size <= g_ ? std::optional(1U) : std::nullopt;
  }

 private:
  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t epoch,
                      std::uint64_t round) const override {
    const std::vector<TrieLeaf> leaves = trie_leaves(view, epoch_seed(seed_, epoch), round);
    return among(
        rule_ == TrieRule::kBuckets ? trie_bucket(leaves, self, g_) : trie_group(leaves, self, g_),
        self);
  }

  std::vector<RoundPlan> full_plans(const MembershipView& view,
                                    std::uint64_t epoch,
                                    std::uint64_t round) const override {
    std::vector<TrieLeaf> leaves = trie_leaves(view, epoch_seed(seed_, epoch), round);
    std::vector<RoundPlan> all(view.size());
    for (const auto& members : rule_ == TrieRule::kBuckets ? trie_buckets(std::move(leaves), g_)
                                                           : trie_groups(std::move(leaves), g_)) {
      for (const std::uint32_t self : members) {
        all[self] = among(members, self);
      }
    }
    return all;
  }

  RoundPlan among(std::vector<std::uint32_t> members, std::uint32_t self) const {
    RoundPlan plan = clique_of(std::move(members), self);
    if (rule_ == TrieRule::kPairs) {
      plan.group.clear();
    }
    return plan;
  }

  const TrieRule rule_;
  const std::uint64_t seed_;
  const std::uint32_t g_;
};

}  // namespace

std::unique_ptr<Schedule> make_trie_pairs(const TopologyConfig& config) {
  return std::make_unique<TrieSchedule>(TrieRule::kPairs, config.seed, 2);
}

std::unique_ptr<Schedule> make_trie_groups(const TopologyConfig& config) {
  return std::make_unique<TrieSchedule>(TrieRule::kGroups, config.seed, config.g);
}

std::unique_ptr<Schedule> make_hash_buckets(const TopologyConfig& config) {
  return std::make_unique<TrieSchedule>(TrieRule::kBuckets, config.seed, config.g);
}

}  // namespace hobnob
