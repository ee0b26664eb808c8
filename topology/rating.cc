#include "topology/rating.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/hash.h"
#include "topology/consensus_trace.h"
#include "topology/round_faults.h"
#include "topology/spectrum.h"
#include "topology/steady_state.h"

namespace hobnob {

namespace {

// What float64 leaves of an exact average, and well above it.
constexpr double kRounding = 1e-16;
constexpr double kExact = 1e-13;

struct Traffic {
  std::size_t out_degree = 0;
  double vectors = 0.0;
};

Traffic traffic(MixingSequence& rounds) {
  constexpr std::uint64_t kSampled = 64;  // rounds, without a period
  const std::uint64_t count = rounds.period() > 0 ? rounds.period() : kSampled;
  Traffic total;
  for (std::uint64_t round = 0; round < count; ++round) {
    const SparseMatrix& matrix = rounds.at(round);
    total.out_degree = std::max(total.out_degree, max_out_degree(matrix));
    total.vectors += vectors_per_peer(matrix) / static_cast<double>(count);
  }
  return total;
}

// The mean factor per round down to where rounding is still far away.
double measured_contraction(const ConsensusTrace& trace) {
  constexpr double kFar = 1e-10;
  const std::uint64_t rounds = trace.rounds_to(kFar).value_or(trace.errors.size() - 1);
  return std::pow(std::max(trace.errors[rounds], kRounding), 1.0 / static_cast<double>(rounds));
}

// What a trace and, where there is one, a spectrum tell about the rounds to an error.
struct Convergence {
  ConsensusTrace trace;
  std::optional<JointSpectrum> spectrum;
  double rho = 0.0;

  std::optional<std::uint64_t> rounds_to(double target) const {
    constexpr double kNever = 1.0 - 1e-12;
    if (const auto reached = trace.rounds_to(target); reached || rho >= kNever) {
      return reached;
    }
    if (spectrum) {
      const std::optional<double> expected = expected_rounds(*spectrum, target);
      return expected ? std::optional(static_cast<std::uint64_t>(*expected)) : std::nullopt;
    }
    const double more = std::log(target / trace.errors.back()) / std::log(rho);
    return trace.errors.size() - 1 + static_cast<std::uint64_t>(std::ceil(more));
  }
};

Convergence convergence(MixingSequence& rounds, const RatingConfig& config) {
  Convergence result{
      .trace = trace_consensus(rounds, {.seed = config.seed, .max_rounds = config.max_rounds}),
      .spectrum = joint_spectrum(rounds)};
  if (result.spectrum) {
    result.rho = contraction(*result.spectrum);
  } else if (rounds.period() > 0 && result.trace.errors.size() > rounds.period()) {
    result.rho = contraction(rounds);
  } else {
    result.rho = measured_contraction(result.trace);
  }
  return result;
}

// The median of a few runs: at small n a single one is luck.
double lossy_error(MixingSequence& rounds, const RatingConfig& config) {
  constexpr std::uint64_t kRounds = 20;
  const std::size_t runs = rounds.size() <= 200 ? 15 : 3;
  std::vector<double> errors;
  for (std::size_t run = 0; run < runs; ++run) {
    errors.push_back(trace_consensus(rounds, {.seed = hash3(config.seed, run, kRounds),
                                              .max_rounds = kRounds,
                                              .unreachable = config.unreachable})
                         .error_after(kRounds));
  }
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(runs / 2);
  std::ranges::nth_element(errors, middle);
  return *middle;
}

// Where all is averaged in every round, what is left is rounding.
std::optional<double> without_rounding(const std::optional<double>& value) {
  constexpr double kNothing = 1e-20;
  return value && *value < kNothing ? 0.0 : value;
}

}  // namespace

Rating rate(MixingSequence& rounds, const RatingConfig& config) {
  if (rounds.size() < 2) {
    return {.exact_rounds = 0,
            .rounds_1e3 = 0,
            .rounds_1e6 = 0,
            .vectors_1e6 = 0.0,
            .xi = 0.0,
            .zeta = 0.0};
  }
  const Traffic sent = traffic(rounds);
  const Convergence run = convergence(rounds, config);
  Rating rating{.out_degree = sent.out_degree,
                .vectors_per_round = sent.vectors,
                .rho = run.rho,
                .gap = 1.0 - run.rho,
                .rounds_1e3 = run.rounds_to(1e-3),
                .rounds_1e6 = run.rounds_to(1e-6),
                .err10 = run.trace.error_after(10),
                .err20 = run.trace.error_after(20)};
  const std::optional<std::uint64_t> exact = run.trace.rounds_to(kExact);
  if (exact && *exact <= rounds.period()) {
    rating.exact_rounds = exact;
  }
  if (rating.rounds_1e6) {
    rating.vectors_1e6 = static_cast<double>(*rating.rounds_1e6) * sent.vectors;
    rating.is_extrapolated = !run.trace.rounds_to(1e-6);
  }
  const SteadyState steady =
      run.spectrum
          ? steady_state(*run.spectrum, config.discount)
          : steady_state(
                rounds, {.discount = config.discount, .contraction = run.rho, .seed = config.seed});
  rating.xi = without_rounding(steady.xi);
  rating.zeta = without_rounding(steady.zeta);
  rating.effective_neighbours = steady.effective_neighbours;
  rating.err20_lossy = lossy_error(rounds, config);
  return rating;
}

}  // namespace hobnob
