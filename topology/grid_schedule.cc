// Groups along one dimension of a grid after another: exact after all of them when the grid is
// full. Position p has the digits p mod d_1, (p / d_1) mod d_2, ...; the last digit has no bound.

#include <algorithm>
#include <vector>

#include "topology/kinds.h"
#include "topology/plan_parts.h"
#include "topology/position_schedule.h"

namespace hobnob {

namespace {

constexpr std::uint32_t kMaxSide = 16;

using Dims = std::vector<std::uint32_t>;

// `size` as a product of `count` factors, none above `most` or the one before it.
bool factor(std::uint32_t size, std::size_t count, std::uint32_t most, Dims& dims) {
  if (count == 0) {
    return size == 1;
  }
  for (std::uint32_t side = std::min(most, size); side >= 2; --side) {
    if (size % side != 0) {
      continue;
    }
    dims.push_back(side);
    if (factor(size / side, count - 1, side, dims)) {
      return true;
    }
    dims.pop_back();
  }
  return false;
}

// At least every size when it is above that.
std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  constexpr std::uint64_t kEnough = std::uint64_t{1} << 32U;
  std::uint64_t result = 1;
  for (; exponent > 0 && result < kEnough; --exponent) {
    result *= base;
  }
  return result;
}

bool has_small_factors_only(std::uint32_t size) {
  for (std::uint32_t factor = 2; factor <= kMaxSide; ++factor) {
    while (size % factor == 0) {
      size /= factor;
    }
  }
  return size == 1;
}

// As few dimensions of at most kMaxSide, as equal as can be, as multiply to `size`; where it has a
// larger prime factor, the fewest that hold it.
Dims even_dims(std::uint32_t size) {
  const bool is_full = has_small_factors_only(size);
  for (std::size_t count = 1;; ++count) {
    for (std::uint32_t side = 2; side <= kMaxSide; ++side) {
      if (power(side, count) < size) {
        continue;
      }
      Dims dims;
      if (!is_full) {
        return Dims(count, side);
      }
      if (factor(size, count, side, dims)) {
        return dims;
      }
    }
  }
}

class Grid final : public PositionSchedule {
 public:
  explicit Grid(const TopologyConfig& config) : PositionSchedule(config.seed), dims_(config.dims) {}

  ScheduleTraits traits() const override { return {.has_groups = true}; }

  std::optional<std::uint32_t> exact_period(std::uint32_t size) const override {
    if (size <= 1) {
      return 0;
    }
    const Dims dims = dims_of(size);
    const std::uint64_t row = stride(dims, dims.size() - 1);
    return size % row == 0 ? std::optional(static_cast<std::uint32_t>(dims.size())) : std::nullopt;
  }

  std::uint32_t period(std::uint32_t size) const override {
    return size <= 1 ? 1 : static_cast<std::uint32_t>(dims_of(size).size());
  }

 private:
  Round begin(std::uint32_t size, std::uint64_t /*seed*/, std::uint64_t round) const override {
    const Dims dims = dims_of(size);
    const std::size_t along = round % dims.size();
    const std::uint64_t step = stride(dims, along);
    // Where along's digit starts again; the last one never does.
    const std::uint64_t block = along + 1 < dims.size() ? step * dims[along] : ~std::uint64_t{0};
    return [=](std::uint32_t position) {
      const std::uint64_t first = position / block * block + position % block % step;
      std::vector<std::uint32_t> members;
      for (std::uint64_t member = first; member < size && member - first < block; member += step) {
        members.push_back(static_cast<std::uint32_t>(member));
      }
      return clique_of(std::move(members), position);
    };
  }

  Dims dims_of(std::uint32_t size) const { return dims_.empty() ? even_dims(size) : dims_; }

  // Between neighbours along a dimension; at most 64^15 without the cap, which no rank reaches.
  static std::uint64_t stride(const Dims& dims, std::size_t along) {
    constexpr std::uint64_t kCap = std::uint64_t{1} << 40U;
    std::uint64_t result = 1;
    for (std::size_t k = 0; k < along; ++k) {
      result = std::min(kCap, result * dims[k]);
    }
    return result;
  }

  const Dims dims_;
};

}  // namespace

std::unique_ptr<Schedule> make_grid(const TopologyConfig& config) {
  return std::make_unique<Grid>(config);
}

}  // namespace hobnob
