#include "topology/plan_parts.h"

#include <algorithm>
#include <utility>

namespace hobnob {

RoundPlan pair_with(std::uint32_t peer, const Weight& weight) {
  return {.partners = {{.peer = peer, .in = weight, .out = weight}}, .group = {}};
}

RoundPlan clique_of(std::vector<std::uint32_t> members, std::uint32_t self) {
  if (members.size() < 2) {
    return {};
  }
  std::ranges::sort(members);
  const Weight weight{1, static_cast<std::uint32_t>(members.size())};
  RoundPlan plan;
  plan.partners.reserve(members.size() - 1);
  for (const std::uint32_t member : members) {
    if (member != self) {
      plan.partners.push_back({.peer = member, .in = weight, .out = weight});
    }
  }
  plan.group = std::move(members);
  return plan;
}

RoundPlan shift_by(std::uint32_t self,
                   std::uint32_t size,
                   std::uint32_t shift,
                   const Weight& weight) {
  const auto target = static_cast<std::uint32_t>((std::uint64_t{self} + shift) % size);
  const auto source = static_cast<std::uint32_t>((std::uint64_t{self} + size - shift) % size);
  if (target == source) {
    return pair_with(target, weight);
  }
  RoundPlan plan;
  plan.partners = {{.peer = target, .in = {}, .out = weight},
                   {.peer = source, .in = weight, .out = {}}};
  if (source < target) {
    std::swap(plan.partners[0], plan.partners[1]);
  }
  return plan;
}

}  // namespace hobnob
