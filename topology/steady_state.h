#pragma once

#include <cstdint>
#include <optional>

#include "topology/mixing_sequence.h"
#include "topology/spectrum.h"

namespace hobnob {

// What a schedule costs SGD in the long run. These predict training better than the gap (Vogels et
// al. 2206.03093 and 2301.02151; all eigenvalues matter, not the second).
struct SteadyState {
  // Mean squared distance of a peer from the mean of all, when every peer adds independent noise of
  // variance 1 every round (gradient noise): x <- W (x + noise). Averaged over the rounds of a
  // period. Nothing if it does not settle, or not within the work that the config allows.
  std::optional<double> xi;
  // The same for a drift of variance 1 that differs between the peers and never changes (data of
  // different kinds): x <- W (x + drift).
  std::optional<double> zeta;
  // n_W(g) = 1 / ((1 - g) sum_{k >= 1} g^(k-1) ||W^k||_F^2 / n): of so many peers a peer averages
  // the noise, when what is older is discounted by g per round (2301.02151).
  double effective_neighbours = 1.0;
};

struct SteadyStateConfig {
  double discount = 0.95;  // g above, in [0, 1)
  // rho of the sequence: how many rounds pass before the average begins.
  double contraction = 0.0;
  std::uint64_t seed = 1;
};

// Exact, from the modes; those of a period are followed round by round. O(period n).
SteadyState steady_state(const JointSpectrum& spectrum, double discount);

// By recursion over the rounds, for sequences without common modes: the covariance C <- W (C + I)
// W^T and the response to a drift S <- W (S + I). Exact for the rounds that it reads up to 128
// peers, `zeta` also for larger periodic sequences that settle fast; else 64 columns of random
// signs stand for the n unit vectors: a relative error of about sqrt(1 / (32 modes)) for the modes
// that dominate. A sequence without a period is averaged over 64 to 4000 of its rounds. `xi` and
// `zeta` are left out when it takes more than 10000 rounds to settle. O(rounds x n x entries) when
// exact, O(rounds x 64 entries) when not.
SteadyState steady_state(MixingSequence& rounds, const SteadyStateConfig& config);

}  // namespace hobnob
