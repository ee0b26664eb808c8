#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "topology/schedule.h"

namespace hobnob {

// The schedules that arrange n positions 0 .. n - 1 and look at no id. A peer's position is its
// rank, or its place by hash.
class PositionSchedule : public Schedule {
 public:
  explicit PositionSchedule(std::uint64_t seed) : seed_(seed) {}

 protected:
  // One round: the plan of a position, in positions and in any order of partners.
  using Round = std::function<RoundPlan(std::uint32_t position)>;

  // `size` >= 2; `seed` has the epoch in it.
  virtual Round begin(std::uint32_t size, std::uint64_t seed, std::uint64_t round) const = 0;

  // Positions are dealt anew by hash after so many rounds; 0: the position is the rank.
  virtual std::uint32_t relabel_every(std::uint32_t /*size*/) const { return 0; }

  std::uint64_t seed() const { return seed_; }

 private:
  struct Labels;

  RoundPlan full_plan(const MembershipView& view,
                      std::uint32_t self,
                      std::uint64_t epoch,
                      std::uint64_t round) const final;
  std::vector<RoundPlan> full_plans(const MembershipView& view,
                                    std::uint64_t epoch,
                                    std::uint64_t round) const final;
  Labels labels(const MembershipView& view, std::uint64_t round) const;

  const std::uint64_t seed_;
};

}  // namespace hobnob
