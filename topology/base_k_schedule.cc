// Base-(k+1) (Takezawa et al., "Beyond exponential graph", 2023, arXiv 2305.11420): the exact mean
// of any n, at most k partners a round, in at most 2 log_(k+1) n + 2 rounds. Every peer works out
// its own part in O(log^2 n). Names and steps are the paper's: HyperHyperCube, Simple Base-(k+1)
// (algorithm 2) and Base-(k+1) (algorithm 3); V_l, a_l, p_l too. Rounds count from 0.

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/position_schedule.h"

namespace hobnob {

namespace {

// Members first, first + 1, ... whose q_1 q_2 ... = size cells of a grid average along one
// dimension a round. `spread` consecutive positions make one member.
struct HyperHyperCube {
  std::vector<std::uint32_t> factors;

  // Greedily from `most` down; nothing when a prime factor is above it.
  static std::optional<HyperHyperCube> of(std::uint32_t size, std::uint32_t most) {
    HyperHyperCube cube;
    for (std::uint32_t factor = most; factor >= 2; --factor) {
      for (; size % factor == 0; size /= factor) {
        cube.factors.push_back(factor);
      }
    }
    return size == 1 ? std::optional(std::move(cube)) : std::nullopt;
  }

  std::uint32_t rounds() const { return static_cast<std::uint32_t>(factors.size()); }

  // The clique of `position` in a cube that starts at `first` and whose members are `spread` apart.
  // Rounds past the last start again, which changes no value any more.
  RoundPlan plan(std::uint32_t position,
                 std::uint32_t first,
                 std::uint32_t spread,
                 std::uint32_t round) const {
    if (factors.empty()) {
      return {};
    }
    round %= rounds();
    std::uint32_t stride = spread;
    for (std::uint32_t k = 0; k < round; ++k) {
      stride *= factors[k];
    }
    const std::uint32_t factor = factors[round];
    const std::uint32_t digit = (position - first) / stride % factor;
    std::vector<std::uint32_t> members;
    for (std::uint32_t k = 0; k < factor; ++k) {
      members.push_back(position - digit * stride + k * stride);
    }
    return clique_of(std::move(members), position);
  }
};

// Simple Base-(k+1) of positions first .. first + size - 1.
class SimpleBase {
 public:
  SimpleBase(std::uint32_t size, std::uint32_t k) : k_(k), whole_(HyperHyperCube::of(size, k + 1)) {
    if (whole_) {
      rounds_ = whole_->rounds();
      return;
    }
    // The digits of size in base k + 1, highest first.
    std::uint64_t block = 1;
    while (block * (k + 1) <= size) {
      block *= k + 1;
    }
    for (std::uint32_t first = 0; block > 0; block /= k + 1) {
      const auto cell = static_cast<std::uint32_t>(block);
      const std::uint32_t cells = (size - first) / cell;
      if (cells == 0) {
        continue;
      }
      parts_.push_back({.first = first,
                        .cells = cells,
                        .cell = cell,
                        .rest = size - first,
                        .inside = *HyperHyperCube::of(cells * cell, k + 1),
                        .cube = *HyperHyperCube::of(cell, k + 1)});
      first += cells * cell;
    }
    first_step_ = parts_.front().inside.rounds();
    rounds_ = first_step_ + 1 + parts_.front().cube.rounds();
  }

  std::uint32_t rounds() const { return rounds_; }

  RoundPlan plan(std::uint32_t position, std::uint32_t first, std::uint32_t round) const {
    if (whole_) {
      return whole_->plan(position, first, 1, round);
    }
    const std::uint32_t offset = position - first;
    std::size_t own = 0;
    while (own + 1 < parts_.size() && offset >= parts_[own + 1].first) {
      ++own;
    }
    const Part& part = parts_[own];
    if (round < first_step_) {
      return part.inside.plan(position, first + part.first, 1, round);
    }
    const std::size_t turn = round - first_step_;
    if (turn < own) {
      return give_to(parts_[turn], offset, first);
    }
    if (turn == own) {
      return own + 1 < parts_.size() ? take_from_later(part, offset, first) : RoundPlan{};
    }
    const std::uint32_t cell_first =
        first + part.first + (offset - part.first) / part.cell * part.cell;
    return part.cube.plan(position, cell_first, 1, static_cast<std::uint32_t>(turn - own - 1));
  }

 private:
  // V_l: `cells` (a_l) sets of `cell` ((k + 1)^p_l) positions.
  struct Part {
    std::uint32_t first = 0;
    std::uint32_t cells = 0;
    std::uint32_t cell = 0;
    std::uint32_t rest = 0;  // S_l: positions of this part and the later ones
    HyperHyperCube inside;   // of the whole part, step 1
    HyperHyperCube cube;     // of one cell, step 3

    std::uint32_t later() const { return rest - cells * cell; }

    // |V_l| / (S_l a_l)
    Weight weight() const { return make_weight(cell, rest); }
  };

  // Step 2, a position of a later part: it meets one of each of the part's cells.
  static RoundPlan give_to(const Part& part, std::uint32_t offset, std::uint32_t first) {
    const std::uint32_t place = offset - part.first - part.cells * part.cell;
    RoundPlan plan;
    for (std::uint32_t k = 0; k < part.cells; ++k) {
      plan.partners.push_back({.peer = first + part.first + k * part.cell + place,
                               .in = part.weight(),
                               .out = part.weight()});
    }
    return plan;
  }

  // Step 2, a position of the part whose turn it is. Those whom nobody of a later part meets
  // average among themselves; it changes no value of an exact run, but damps noise.
  RoundPlan take_from_later(const Part& part, std::uint32_t offset, std::uint32_t first) const {
    const std::uint32_t place = (offset - part.first) % part.cell;
    if (place < part.later()) {
      return pair_with(first + part.first + part.cells * part.cell + place, part.weight());
    }
    const std::uint32_t cell_first = offset - place;
    const std::uint32_t group = (place - part.later()) / (k_ + 1);
    const std::uint32_t start = part.later() + group * (k_ + 1);
    std::vector<std::uint32_t> members;
    for (std::uint32_t k = start; k < std::min(start + k_ + 1, part.cell); ++k) {
      members.push_back(first + cell_first + k);
    }
    return clique_of(std::move(members), first + offset);
  }

  std::uint32_t k_;
  std::optional<HyperHyperCube> whole_;  // size has no prime factor above k + 1
  std::vector<Part> parts_;
  std::uint32_t first_step_ = 0;  // rounds of step 1
  std::uint32_t rounds_ = 0;
};

// Base-(k+1): with n = P R and P the part of n without prime factors above k + 1, P copies of the
// simple schedule of R and then a cube across them, unless the simple schedule of n is shorter.
class BaseRounds {
 public:
  BaseRounds(std::uint32_t size, std::uint32_t k) : block_(size), inside_(size, k) {
    std::uint32_t rest = size;
    for (std::uint32_t factor = k + 1; factor >= 2; --factor) {
      while (rest % factor == 0) {
        rest /= factor;
      }
    }
    SimpleBase smaller(rest, k);
    HyperHyperCube across = *HyperHyperCube::of(size / rest, k + 1);
    if (smaller.rounds() + across.rounds() <= inside_.rounds()) {
      block_ = rest;
      inside_ = std::move(smaller);
      across_ = std::move(across);
    }
  }

  std::uint32_t rounds() const { return inside_.rounds() + across_.rounds(); }

  RoundPlan plan(std::uint32_t position, std::uint32_t round) const {
    if (round < inside_.rounds()) {
      return inside_.plan(position, position / block_ * block_, round);
    }
    return across_.plan(position, position % block_, block_, round - inside_.rounds());
  }

 private:
  std::uint32_t block_;
  SimpleBase inside_;
  HyperHyperCube across_;
};

class BaseK final : public PositionSchedule {
 public:
  explicit BaseK(const TopologyConfig& config) : PositionSchedule(config.seed), k_(config.k) {}

  ScheduleTraits traits() const override { return {.has_groups = true}; }

  std::optional<std::uint32_t> exact_period(std::uint32_t size) const override {
    return size <= 1 ? 0 : BaseRounds(size, k_).rounds();
  }

  std::uint32_t period(std::uint32_t size) const override {
    return std::max(1U, exact_period(size).value_or(1));
  }

 private:
  Round begin(std::uint32_t size, std::uint64_t /*seed*/, std::uint64_t round) const override {
    const auto rounds = std::make_shared<const BaseRounds>(size, k_);
    const auto phase = static_cast<std::uint32_t>(round % rounds->rounds());
    return [=](std::uint32_t position) { return rounds->plan(position, phase); };
  }

  const std::uint32_t k_;
};

}  // namespace

std::unique_ptr<Schedule> make_base_k(const TopologyConfig& config) {
  return std::make_unique<BaseK>(config);
}

}  // namespace hobnob
