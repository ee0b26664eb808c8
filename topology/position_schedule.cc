#include "topology/position_schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "topology/plan_parts.h"

namespace hobnob {

// Empty: position and rank are the same.
struct PositionSchedule::Labels {
  std::vector<std::uint32_t> ranks;      // by position
  std::vector<std::uint32_t> positions;  // by rank

  std::uint32_t position(std::uint32_t rank) const {
    return positions.empty() ? rank : positions[rank];
  }

  // From positions to ranks.
  void rename(RoundPlan& plan) const {
    if (!ranks.empty()) {
      for (Exchange& exchange : plan.partners) {
        exchange.peer = ranks[exchange.peer];
      }
      for (std::uint32_t& member : plan.group) {
        member = ranks[member];
      }
      std::ranges::sort(plan.group);
    }
    std::ranges::sort(plan.partners, {}, &Exchange::peer);
  }
};

// The epoch has no part in it: a cycle that an epoch's end cut in two would not average exactly.
PositionSchedule::Labels PositionSchedule::labels(const MembershipView& view,
                                                  std::uint64_t round) const {
  const auto size = static_cast<std::uint32_t>(view.size());
  const std::uint32_t every = relabel_every(size);
  if (every == 0) {
    return {};
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  order.reserve(size);
  for (const PeerId& peer : view.peers()) {
    order.emplace_back(hash3(seed_, round / every, peer.key()),
                       static_cast<std::uint32_t>(order.size()));
  }
  std::ranges::sort(order);
  Labels labels;
  labels.positions.resize(size);
  for (const auto& [hash, rank] : order) {
    labels.positions[rank] = static_cast<std::uint32_t>(labels.ranks.size());
    labels.ranks.push_back(rank);
  }
  return labels;
}

RoundPlan PositionSchedule::full_plan(const MembershipView& view,
                                      std::uint32_t self,
                                      std::uint64_t epoch,
                                      std::uint64_t round) const {
  if (view.size() < 2) {
    return {};
  }
  const Labels named = labels(view, round);
  const auto size = static_cast<std::uint32_t>(view.size());
  RoundPlan plan = begin(size, epoch_seed(seed_, epoch), round)(named.position(self));
  named.rename(plan);
  return plan;
}

std::vector<RoundPlan> PositionSchedule::full_plans(const MembershipView& view,
                                                    std::uint64_t epoch,
                                                    std::uint64_t round) const {
  std::vector<RoundPlan> all(view.size());
  if (view.size() < 2) {
    return all;
  }
  const Labels named = labels(view, round);
  const auto size = static_cast<std::uint32_t>(view.size());
  const Round of_position = begin(size, epoch_seed(seed_, epoch), round);
  for (std::uint32_t self = 0; self < size; ++self) {
    all[self] = of_position(named.position(self));
    named.rename(all[self]);
  }
  return all;
}

}  // namespace hobnob
