// OD-EquiDyn and OU-EquiDyn: a random distance common to all, new every round, and
// W = (1 - eta) I + eta ((n - 1) / n P + I / n) with P the shift by it, or pairs at it.

#include <numeric>
#include <utility>
#include <vector>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/position_schedule.h"

namespace hobnob {

namespace {

// What the round draws.
constexpr std::uint64_t kDistance = 1;
constexpr std::uint64_t kStart = 2;

class EquiDyn : public PositionSchedule {
 public:
  explicit EquiDyn(const TopologyConfig& config)
      : PositionSchedule(config.seed), eta_percent_(config.eta_percent) {}

 protected:
  static std::uint32_t distance(std::uint32_t size, std::uint64_t seed, std::uint64_t round) {
    return 1 + static_cast<std::uint32_t>(hash3(seed, round, kDistance) % (size - 1));
  }

  Weight weight(std::uint32_t size) const {
    return make_weight(std::uint64_t{eta_percent_} * (size - 1), std::uint64_t{100} * size);
  }

 private:
  const std::uint32_t eta_percent_;
};

class EquiDynDirected final : public EquiDyn {
 public:
  using EquiDyn::EquiDyn;

  ScheduleTraits traits() const override { return {.is_symmetric = false}; }

 private:
  Round begin(std::uint32_t size, std::uint64_t seed, std::uint64_t round) const override {
    const std::uint32_t shift = distance(size, seed, round);
    const Weight share = weight(size);
    return [=](std::uint32_t position) { return shift_by(position, size, shift, share); };
  }
};

// Pairs i with i + distance wherever both are free, from a random start on. About one in eight
// stays alone.
class EquiDynUndirected final : public EquiDyn {
 public:
  using EquiDyn::EquiDyn;

  ScheduleTraits traits() const override { return {}; }

 private:
  Round begin(std::uint32_t size, std::uint64_t seed, std::uint64_t round) const override {
    const std::uint64_t shift = distance(size, seed, round);
    const std::uint64_t start = hash3(seed, round, kStart) % size;
    std::vector<std::uint32_t> partner(size);  // oneself: free
    std::iota(partner.begin(), partner.end(), 0U);
    for (std::uint64_t k = 0; k < size; ++k) {
      const auto one = static_cast<std::uint32_t>((start + k) % size);
      const auto other = static_cast<std::uint32_t>((one + shift) % size);
      if (partner[one] == one && partner[other] == other) {
        partner[one] = other;
        partner[other] = one;
      }
    }
    return [partner = std::move(partner), share = weight(size)](std::uint32_t position) {
      return partner[position] == position ? RoundPlan{} : pair_with(partner[position], share);
    };
  }
};

}  // namespace

std::unique_ptr<Schedule> make_equidyn_od(const TopologyConfig& config) {
  return std::make_unique<EquiDynDirected>(config);
}

std::unique_ptr<Schedule> make_equidyn_ou(const TopologyConfig& config) {
  return std::make_unique<EquiDynUndirected>(config);
}

}  // namespace hobnob
