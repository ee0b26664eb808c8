// Peers of one site average in trie groups every round. In every cross_every-th round sites meet in
// trie pairs of sites, and the representatives of the two, the peers of least hash, form pairs
// across; the others go on in groups. All weights are 1/2 or 1 / g, so W is symmetric and the mean
// is kept whatever the sizes of the sites.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/trie.h"

namespace hobnob {

namespace {

using Leaves = std::vector<TrieLeaf>;

// One site's part of a round.
struct SiteRound {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> across;  // own, theirs
  Leaves inside;                                                // in rank order
};

class TwoLevel final : public Schedule {
 public:
  explicit TwoLevel(const TopologyConfig& config)
      : seed_(config.seed),
        g_(config.g),
        cross_every_(config.cross_every),
        crossing_(config.crossing) {}

  ScheduleTraits traits() const override { return {.has_groups = true}; }

 private:
  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t epoch,
                      std::uint64_t round) const override {
    const SiteRound own = site_round(sites_of(view, epoch, round), view.site(self));
    for (const auto& [ours, theirs] : own.across) {
      if (ours == self) {
        return pair_with(theirs);
      }
    }
    const auto place = std::ranges::find(own.inside, self, &TrieLeaf::rank);
    return clique_of(
        trie_group(own.inside, static_cast<std::size_t>(place - own.inside.begin()), g_), self);
  }

  std::vector<RoundPlan> full_plans(const MembershipView& view,
                                    std::uint64_t epoch,
                                    std::uint64_t round) const override {
    const Sites sites = sites_of(view, epoch, round);
    std::vector<RoundPlan> all(view.size());
    for (const auto& [site, everyone] : sites.members) {
      SiteRound own = site_round(sites, site);
      for (const auto& [ours, theirs] : own.across) {
        all[ours] = pair_with(theirs);
      }
      for (const auto& members : trie_groups(std::move(own.inside), g_)) {
        for (const std::uint32_t self : members) {
          all[self] = clique_of(members, self);
        }
      }
    }
    return all;
  }

  // The view by site.
  struct Sites {
    std::map<std::uint32_t, Leaves> members;          // in rank order
    std::map<std::uint32_t, std::uint32_t> partners;  // whom a site meets this round
  };

  // O(n log n).
  Sites sites_of(const MembershipView& view, std::uint64_t epoch, std::uint64_t round) const {
    const std::uint64_t seed = epoch_seed(seed_, epoch);
    Sites sites;
    for (const TrieLeaf& leaf : trie_leaves(view, seed, round)) {
      sites.members[view.site(leaf.rank)].push_back(leaf);
    }
    if (round % cross_every_ != cross_every_ - 1) {
      return sites;
    }
    Leaves numbers;  // their ranks are the sites' numbers
    for (const auto& [site, members] : sites.members) {
      numbers.push_back({.hash = hash3(seed, round, site), .rank = site});
    }
    for (const auto& pair : trie_groups(std::move(numbers), 2)) {
      if (pair.size() == 2) {
        sites.partners[pair[0]] = pair[1];
        sites.partners[pair[1]] = pair[0];
      }
    }
    return sites;
  }

  SiteRound site_round(const Sites& sites, std::uint32_t site) const {
    SiteRound result{.across = {}, .inside = sites.members.at(site)};
    const auto other = sites.partners.find(site);
    if (other == sites.partners.end()) {
      return result;
    }
    const Leaves& theirs = sites.members.at(other->second);
    const std::size_t smaller = std::min(result.inside.size(), theirs.size());
    const std::size_t pairs = crossing_ == 0 ? smaller : std::min<std::size_t>(smaller, crossing_);
    const Leaves first = least(result.inside, pairs);
    const Leaves second = least(theirs, pairs);
    for (std::size_t k = 0; k < pairs; ++k) {
      result.across.emplace_back(first[k].rank, second[k].rank);
    }
    std::erase_if(result.inside, [&](const TrieLeaf& leaf) { return leaf <= first.back(); });
    return result;
  }

  // The `count` leaves of least hash, in that order.
  static Leaves least(Leaves leaves, std::size_t count) {
    const auto end = leaves.begin() + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(leaves.begin(), end, leaves.end());
    leaves.resize(count);
    return leaves;
  }

  const std::uint64_t seed_;
  const std::uint32_t g_;
  const std::uint32_t cross_every_;
  const std::uint32_t crossing_;
};

}  // namespace

std::unique_ptr<Schedule> make_two_level(const TopologyConfig& config) {
  return std::make_unique<TwoLevel>(config);
}

}  // namespace hobnob
