#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/mixing_sequence.h"
#include "topology/sparse_matrix.h"

// How fast a schedule mixes: rho = ||W - J||_2 with J = 1 1^T / n, per round; for a period of T
// rounds ||W_T ... W_1 - J||_2^(1/T). The gap is 1 - rho.

namespace hobnob {

// The eigenvalues of every round of one period in one common unitary basis, (period, n): mode m of
// x is multiplied by rounds[t][m] in round t. Mode 0 is the consensus, with eigenvalue 1.
struct JointSpectrum {
  std::vector<std::vector<std::complex<double>>> rounds;

  std::size_t size() const { return rounds.empty() ? 0 : rounds[0].size(); }
};

// lambda_f = sum_s w_s e^(2 pi i s f / n), f = 0 .. n-1, if W_{i, i+s} = w_s for every i. O(n x
// entries of a row).
std::optional<std::vector<std::complex<double>>> circulant_eigenvalues(const SparseMatrix& matrix);

// The closed form of a periodic sequence of circulants, or the dense spectrum of a static symmetric
// graph of at most kMaxDense peers (O(n^3)); nothing for the others.
constexpr std::size_t kMaxDense = 2048;
std::optional<JointSpectrum> joint_spectrum(MixingSequence& rounds);

// rho from the modes.
double contraction(const JointSpectrum& spectrum);

// Rounds until the rms error is at most `target` of its start, in expectation over independent
// starts; at least 1. Nothing if it stays above, or after 2^53 rounds. O(period n log rounds).
std::optional<double> expected_rounds(const JointSpectrum& spectrum, double target);

// rho of a periodic sequence without its spectrum: Lanczos on (W_T .. W_1 - J)^T (W_T .. W_1 - J),
// stopped when the residual bounds the error of the gap to about 1e-7 of it, or after 6000 steps:
// then it is a lower bound. 0 if the product is J up to rounding. O(steps x (entries of the period
// + n)); steps grow as 1 / sqrt(gap).
double contraction(MixingSequence& rounds);

}  // namespace hobnob
