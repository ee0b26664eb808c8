#include "topology/schedule.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "topology/kinds.h"

namespace hobnob {

namespace {

using Entry = MixingMatrix::Entry;

void drop_strangers(const MembershipView& view, std::uint32_t self, RoundPlan& plan) {
  if (view.can_all_meet()) {
    return;
  }
  std::erase_if(plan.partners,
                [&](const Exchange& exchange) { return !view.can_meet(self, exchange.peer); });
  const auto deaf = std::ranges::count_if(
      plan.group, [&](std::uint32_t member) { return !view.can_listen(member); });
  if (deaf > 1) {
    plan.group.clear();
  }
}

}  // namespace

RoundPlan Schedule::plan(const MembershipView& view,
                         std::uint32_t self,
                         std::uint64_t epoch,
                         std::uint64_t round) const {
  HOBNOB_CHECK(self < view.size(), "rank outside the view");
  RoundPlan plan = full_plan(view, self, epoch, round);
  drop_strangers(view, self, plan);
  return plan;
}

std::vector<RoundPlan> Schedule::plans(const MembershipView& view,
                                       std::uint64_t epoch,
                                       std::uint64_t round) const {
  std::vector<RoundPlan> all = full_plans(view, epoch, round);
  for (std::uint32_t self = 0; self < all.size(); ++self) {
    drop_strangers(view, self, all[self]);
  }
  return all;
}

MixingMatrix Schedule::matrix(const MembershipView& view,
                              std::uint64_t epoch,
                              std::uint64_t round) const {
  return matrix_of(plans(view, epoch, round));
}

MixingMatrix matrix_of(const std::vector<RoundPlan>& plans) {
  // What the others say that each peer takes of them; in their order, as its own plan is.
  std::vector<std::vector<Entry>> offered(plans.size());
  for (std::uint32_t self = 0; self < plans.size(); ++self) {
    for (const Exchange& exchange : plans[self].partners) {
      offered[exchange.peer].push_back(
          {.row = exchange.peer, .column = self, .weight = exchange.out});
    }
  }
  std::vector<Entry> entries;
  for (std::uint32_t self = 0; self < plans.size(); ++self) {
    const std::vector<Exchange>& partners = plans[self].partners;
    HOBNOB_CHECK(offered[self].size() == partners.size(), "plans are not mutual");
    for (std::size_t k = 0; k < partners.size(); ++k) {
      Entry entry = offered[self][k];
      HOBNOB_CHECK(entry.column == partners[k].peer, "plans are not mutual");
      entry.weight = std::min(entry.weight, partners[k].in);
      entries.push_back(entry);
    }
  }
  return {plans.size(), std::move(entries)};
}

std::optional<std::uint32_t> Schedule::exact_period(std::uint32_t /*size*/) const {
  return std::nullopt;
}

std::uint32_t Schedule::period(std::uint32_t /*size*/) const {
  return traits().is_static ? 1 : 0;
}

std::vector<RoundPlan> Schedule::full_plans(const MembershipView& view,
                                            std::uint64_t epoch,
                                            std::uint64_t round) const {
  std::vector<RoundPlan> all;
  all.reserve(view.size());
  for (std::uint32_t self = 0; self < view.size(); ++self) {
    all.push_back(full_plan(view, self, epoch, round));
  }
  return all;
}

std::unique_ptr<Schedule> make_schedule(const TopologyConfig& config) {
  const auto kind =
      std::ranges::find_if(kinds(), [&](const Kind& each) { return config.kind == each.name; });
  HOBNOB_CHECK(kind != kinds().end(), "topology config was not validated");
  return kind->make(config);
}

}  // namespace hobnob
