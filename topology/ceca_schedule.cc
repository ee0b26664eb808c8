// The edges of CECA-2P, with the weights of its wide buffer. A mixer with one buffer thereby runs a
// doubly stochastic circulant; the exact mean for other n than powers of 2 needs both buffers.

#include <algorithm>
#include <bit>

#include "topology/ceca.h"
#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/position_schedule.h"

namespace hobnob {

namespace {

class Ceca final : public PositionSchedule {
 public:
  using PositionSchedule::PositionSchedule;

  ScheduleTraits traits() const override { return {.is_symmetric = false}; }

  std::optional<std::uint32_t> exact_period(std::uint32_t size) const override {
    return std::has_single_bit(size) ? std::optional(ceil_log2(size)) : std::nullopt;
  }

  std::uint32_t period(std::uint32_t size) const override { return std::max(1U, ceil_log2(size)); }

 private:
  Round begin(std::uint32_t size, std::uint64_t /*seed*/, std::uint64_t round) const override {
    const std::vector<CecaRound> rounds = ceca_rounds(size);
    const CecaRound now = rounds[round % rounds.size()];
    return [=](std::uint32_t position) { return shift_by(position, size, now.shift, now.wide_in); };
  }
};

}  // namespace

std::unique_ptr<Schedule> make_ceca(const TopologyConfig& config) {
  return std::make_unique<Ceca>(config.seed);
}

}  // namespace hobnob
