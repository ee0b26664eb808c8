#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "topology/mixing_sequence.h"

namespace hobnob {

struct RatingConfig {
  std::uint64_t seed = 1;           // of starts, noise and faults
  double unreachable = 0.05;        // of peers per round, for err20_lossy
  double discount = 0.95;           // per round, of effective_neighbours
  std::uint64_t max_rounds = 4000;  // simulated; rounds beyond are extrapolated
};

// One row of the table that schedules are compared by. "Vector" = one message of the model's size;
// errors are ||X - mean|| / ||X_0 - mean||.
struct Rating {
  std::size_t out_degree = 0;      // the most receivers of a peer in a round
  double vectors_per_round = 0.0;  // sent by a peer, on average
  // After so many rounds from round 0 all peers hold the mean; periodic schedules only, within one
  // period.
  std::optional<std::uint64_t> exact_rounds;
  // Per round. Of a schedule without a period, or exact by chance, the measured contraction.
  double rho = 0.0;
  double gap = 1.0;  // 1 - rho
  // Rounds to relative errors of 1e-3 and 1e-6; nothing if never.
  std::optional<std::uint64_t> rounds_1e3;
  std::optional<std::uint64_t> rounds_1e6;
  bool is_extrapolated = false;       // one of the two is past the simulated rounds
  std::optional<double> vectors_1e6;  // sent by a peer until 1e-6
  double err10 = 0.0;                 // error after 10 rounds
  double err20 = 0.0;
  std::optional<double> xi;  // steady_state.h
  std::optional<double> zeta;
  std::optional<double> effective_neighbours = 1.0;  // at `discount`
  double err20_lossy = 0.0;  // after 20 rounds with peers `unreachable`, the median of a few runs
};

// Costs what the parts cost: a dense spectrum for static symmetric graphs that are not circulant,
// O(n^3); else mostly simulation.
Rating rate(MixingSequence& rounds, const RatingConfig& config);

}  // namespace hobnob
