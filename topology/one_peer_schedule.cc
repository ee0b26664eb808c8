// One partner a round at distances 1, 2, 4, ... n / 2 and again: exact after ceil(log2 n) rounds
// exactly when n is a power of 2, then from any phase, since the rounds commute.

#include <algorithm>
#include <bit>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/position_schedule.h"

namespace hobnob {

namespace {

class OnePeerSchedule : public PositionSchedule {
 public:
  explicit OnePeerSchedule(const TopologyConfig& config)
      : PositionSchedule(config.seed), relabel_(config.relabel) {}

  std::optional<std::uint32_t> exact_period(std::uint32_t size) const final {
    return std::has_single_bit(size) ? std::optional(ceil_log2(size)) : std::nullopt;
  }

  std::uint32_t period(std::uint32_t size) const final {
    return relabel_ ? 0 : std::max(1U, ceil_log2(size));
  }

 protected:
  static std::uint32_t distance(std::uint32_t size, std::uint64_t round) {
    return std::uint32_t{1} << (round % ceil_log2(size));
  }

 private:
  std::uint32_t relabel_every(std::uint32_t size) const final {
    return relabel_ ? ceil_log2(size) : 0;
  }

  const bool relabel_;
};

class OnePeerExponential final : public OnePeerSchedule {
 public:
  using OnePeerSchedule::OnePeerSchedule;

  ScheduleTraits traits() const override { return {.is_symmetric = false}; }

 private:
  Round begin(std::uint32_t size, std::uint64_t /*seed*/, std::uint64_t round) const override {
    const std::uint32_t shift = distance(size, round);
    return [=](std::uint32_t position) { return shift_by(position, size, shift, kHalf); };
  }
};

class OnePeerHypercube final : public OnePeerSchedule {
 public:
  using OnePeerSchedule::OnePeerSchedule;

  ScheduleTraits traits() const override { return {}; }

 private:
  Round begin(std::uint32_t size, std::uint64_t /*seed*/, std::uint64_t round) const override {
    const std::uint32_t bit = distance(size, round);
    return [=](std::uint32_t position) {
      const std::uint32_t peer = position ^ bit;
      return peer < size ? pair_with(peer) : RoundPlan{};
    };
  }
};

}  // namespace

std::unique_ptr<Schedule> make_one_peer_exponential(const TopologyConfig& config) {
  return std::make_unique<OnePeerExponential>(config);
}

std::unique_ptr<Schedule> make_one_peer_hypercube(const TopologyConfig& config) {
  return std::make_unique<OnePeerHypercube>(config);
}

}  // namespace hobnob
