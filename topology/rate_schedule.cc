#include "topology/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/rng.h"
#include "topology/ceca.h"

namespace hobnob {

namespace {

// What a buffer of CECA holds: a sum of items, and how many.
struct Share {
  double sum = 0.0;
  double count = 0.0;
};

// Runs CECA-2P again and again from X_0 ~ N(0, 1), one column, peers being unreachable for whole
// rounds; a message that is lost leaves fewer items in the mean. |X - mean|^2 / |X_0 - mean_0|^2
// after `rounds` rounds.
double ceca_error(std::size_t size, std::uint64_t rounds, double unreachable, std::uint64_t seed) {
  const std::vector<CecaRound> cycle = ceca_rounds(static_cast<std::uint32_t>(size));
  Rng rng({.seed = seed, .stream = 0x63656361});
  std::vector<Share> wide(size);
  std::vector<Share> narrow(size);
  for (Share& each : wide) {
    each = {rng.normal(), 1.0};
  }
  const auto spread = [&] {
    double mean = 0.0;
    double squares = 0.0;
    for (const Share& each : wide) {
      mean += each.sum / each.count / static_cast<double>(size);
    }
    for (const Share& each : wide) {
      squares += std::pow(each.sum / each.count - mean, 2);
    }
    return squares;
  };
  const double start = spread();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (round % cycle.size() == 0) {
      for (std::size_t k = 0; k < size; ++k) {
        wide[k] = {wide[k].sum / wide[k].count, 1.0};
        narrow[k] = {};
      }
    }
    std::vector<bool> is_out(size);
    for (std::size_t k = 0; k < size; ++k) {
      is_out[k] = rng.uniform() < unreachable;
    }
    const CecaRound& step = cycle[round % cycle.size()];
    const std::vector<Share> sent = step.sends_wide ? wide : narrow;
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t source = (k + size - step.shift % size) % size;
      if (!is_out[k] && !is_out[source]) {
        wide[k] = {wide[k].sum + sent[source].sum, wide[k].count + sent[source].count};
        narrow[k] = {narrow[k].sum + sent[source].sum, narrow[k].count + sent[source].count};
      }
    }
  }
  return start == 0.0 ? 0.0 : spread() / start;
}

Rating rate_ceca(std::size_t size, const RatingConfig& config) {
  constexpr int kColumns = 32;
  Rating rating;
  const auto period = ceca_rounds(static_cast<std::uint32_t>(size)).size();
  rating.effective_neighbours = std::nullopt;
  rating.out_degree = size > 1 ? 1 : 0;
  rating.vectors_per_round = size > 1 ? 1.0 : 0.0;
  rating.exact_rounds = period;
  rating.rounds_1e3 = std::max<std::uint64_t>(period, 1);
  rating.rounds_1e6 = rating.rounds_1e3;
  rating.vectors_1e6 = rating.vectors_per_round * static_cast<double>(period);
  if (size <= 1) {
    return rating;
  }
  // Whole cycles, as the mean is there at the end of one.
  const auto cycles = static_cast<std::uint64_t>(std::ceil(20.0 / static_cast<double>(period)));
  const auto after = [&](std::uint64_t rounds, double unreachable) {
    std::vector<double> errors;
    for (std::uint64_t column = 0; column < kColumns; ++column) {
      errors.push_back(ceca_error(size, rounds, unreachable, config.seed + column));
    }
    std::ranges::sort(errors);
    return std::sqrt(errors[errors.size() / 2]);
  };
  rating.err10 = period <= 10 ? 0.0 : after(10, 0.0);
  rating.err20 = period <= 20 ? 0.0 : after(20, 0.0);
  rating.err20_lossy = after(cycles * period, config.unreachable);
  return rating;
}

// Who differs from seed to seed.
bool is_drawn(const TopologyConfig& config, const Schedule& schedule, std::size_t size) {
  return schedule.period(static_cast<std::uint32_t>(size)) == 0 || config.kind == "erdos-renyi" ||
         config.kind == "small-world" || config.kind == "expander";
}

template <typename Value>
Value median(const std::vector<Rating>& draws, Value Rating::*field) {
  std::vector<Value> values;
  for (const Rating& each : draws) {
    values.push_back(each.*field);
  }
  std::ranges::sort(values);  // nothing sorts before every number
  return values[values.size() / 2];
}

Rating median_of(const std::vector<Rating>& draws) {
  Rating rating = draws.front();
  rating.out_degree = median(draws, &Rating::out_degree);
  rating.vectors_per_round = median(draws, &Rating::vectors_per_round);
  rating.exact_rounds = median(draws, &Rating::exact_rounds);
  rating.rho = median(draws, &Rating::rho);
  rating.gap = 1.0 - rating.rho;
  rating.rounds_1e3 = median(draws, &Rating::rounds_1e3);
  rating.rounds_1e6 = median(draws, &Rating::rounds_1e6);
  rating.vectors_1e6 = median(draws, &Rating::vectors_1e6);
  rating.err10 = median(draws, &Rating::err10);
  rating.err20 = median(draws, &Rating::err20);
  rating.xi = median(draws, &Rating::xi);
  rating.zeta = median(draws, &Rating::zeta);
  rating.effective_neighbours = median(draws, &Rating::effective_neighbours);
  rating.err20_lossy = median(draws, &Rating::err20_lossy);
  return rating;
}

}  // namespace

MixingSequence sequence_of(const Schedule& schedule, const MembershipView& view) {
  return {view.size(), schedule.period(static_cast<std::uint32_t>(view.size())),
          [&schedule, view](std::uint64_t round) {
            return schedule.matrix(view, epoch_of(round), round).to_sparse();
          }};
}

Rating rate_schedule(const TopologyConfig& config, std::size_t size, const RatingConfig& rating) {
  if (config.kind == "ceca") {
    return rate_ceca(size, rating);
  }
  // What one draw happens to be says little of the kind.
  constexpr std::size_t kLarge = 500;
  const std::size_t draws =
      is_drawn(config, *make_schedule(config), size) ? size < kLarge ? 7 : 3 : 1;
  std::vector<Rating> ratings;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    TopologyConfig drawn = config;
    drawn.seed += draw;
    const std::unique_ptr<Schedule> schedule = make_schedule(drawn);
    MixingSequence rounds = sequence_of(*schedule, MembershipView::numbered(size));
    ratings.push_back(rate(rounds, rating));
  }
  return median_of(ratings);
}

ViewDisagreement rate_newcomer(const TopologyConfig& config,
                               std::size_t size,
                               double known_by,
                               std::uint64_t seed) {
  const std::unique_ptr<Schedule> schedule = make_schedule(config);
  MixingSequence fresh = sequence_of(*schedule, MembershipView::numbered(size + 1));
  // The newcomer's id is the greatest, so that the others keep their ranks.
  const MembershipView old_view = MembershipView::numbered(size);
  MixingSequence stale(size + 1, schedule->period(static_cast<std::uint32_t>(size)),
                       [&](std::uint64_t round) {
                         return schedule->matrix(old_view, epoch_of(round), round).to_sparse(1);
                       });
  Rng rng({.seed = seed, .stream = 0x6E6577});
  std::vector<bool> holds_fresh(size + 1);
  for (std::size_t k = 0; k < size; ++k) {
    holds_fresh[k] = rng.uniform() < known_by;
  }
  holds_fresh[size] = true;
  return trace_disagreement(stale, fresh, holds_fresh, {.seed = seed, .max_rounds = 20});
}

}  // namespace hobnob
