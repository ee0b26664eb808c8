#include "topology/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/mixing_samples.h"
#include "topology/consensus_trace.h"
#include "topology/symmetric_eigen.h"

namespace hobnob {
namespace {

using std::numbers::pi;

// Both ways to rho, each to 1e-6 of the gap.
void expect_gap(MixingSequence rounds, double gap) {
  const auto spectrum = joint_spectrum(rounds);
  ASSERT_TRUE(spectrum);
  EXPECT_NEAR(1.0 - contraction(*spectrum), gap, 1e-6 * gap) << "n " << rounds.size();
  EXPECT_NEAR(1.0 - contraction(rounds), gap, 1e-6 * gap) << "n " << rounds.size();
}

TEST(TridiagonalSpectrum, KnowsTheLastComponents) {
  // Eigenvalues 3 and 1 with vectors (1, 1) and (1, -1).
  const TridiagonalSpectrum two = tridiagonal_spectrum({2.0, 2.0}, {1.0});
  EXPECT_NEAR(two.eigenvalues[0] + two.eigenvalues[1], 4.0, 1e-14);
  EXPECT_NEAR(two.last_squared[0], 0.5, 1e-14);
  // The spectral measure at the last unit vector has the moments e^T T^k e.
  const TridiagonalSpectrum three = tridiagonal_spectrum({1.0, -2.0, 4.0}, {0.5, 3.0});
  double mass = 0.0;
  double first = 0.0;
  double second = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    mass += three.last_squared[k];
    first += three.last_squared[k] * three.eigenvalues[k];
    second += three.last_squared[k] * three.eigenvalues[k] * three.eigenvalues[k];
  }
  EXPECT_NEAR(mass, 1.0, 1e-14);
  EXPECT_NEAR(first, 4.0, 1e-13);
  EXPECT_NEAR(second, 4.0 * 4.0 + 3.0 * 3.0, 1e-13);
}

TEST(Circulant, IsSeenAndAnythingElseIsNot) {
  const auto eigenvalues = circulant_eigenvalues(samples::circulant(7, {1, 3}));
  ASSERT_TRUE(eigenvalues);
  for (std::size_t f = 0; f < 7; ++f) {
    // x_i' reads x_{i - s}: the shift in the matrix is n - s.
    const double angle = -2.0 * pi * static_cast<double>(f) / 7.0;
    const std::complex<double> expected =
        (1.0 + std::polar(1.0, angle) + std::polar(1.0, 3.0 * angle)) / 3.0;
    EXPECT_NEAR(std::abs((*eigenvalues)[f] - expected), 0.0, 1e-14);
  }
  EXPECT_FALSE(circulant_eigenvalues(samples::star(5).at(0)));
  EXPECT_FALSE(circulant_eigenvalues(samples::averaging(4, {{0, 1}, {2, 3}})));
  EXPECT_TRUE(circulant_eigenvalues(SparseMatrix::identity(4)));
  EXPECT_TRUE(circulant_eigenvalues(SparseMatrix(0, {})));
}

TEST(Gap, HasItsClosedForms) {
  for (const std::uint32_t size : {5U, 8U, 25U, 64U, 300U}) {
    expect_gap(samples::ring(size), 2.0 / 3.0 * (1.0 - std::cos(2.0 * pi / size)));
    expect_gap(samples::star(size), 1.0 / size);
    expect_gap(samples::complete(size), 1.0);
  }
  expect_gap(samples::ring(1000), 2.0 / 3.0 * (1.0 - std::cos(2.0 * pi / 1000)));
  for (std::uint32_t bits = 2; bits <= 7; ++bits) {
    expect_gap(samples::hypercube(1U << bits), 2.0 / (bits + 1.0));
  }
  for (const std::uint32_t size : {8U, 26U, 64U, 100U, 1000U}) {
    expect_gap(samples::static_exponential(size), 2.0 / (1.0 + samples::ceil_log2(size)));
  }
  expect_gap(samples::torus(10, 10), 2.0 / 5.0 * (1.0 - std::cos(2.0 * pi / 10)));
}

TEST(Gap, OfAnExpanderOfDegreeEightIsThatOfTheRandomRegularGraph) {
  MixingSequence rounds = samples::expander(1000, 8);
  EXPECT_NEAR(1.0 - contraction(rounds), 1.0 - (1.0 + 2.0 * std::sqrt(7.0)) / 9.0, 0.01);
}

TEST(Gap, ByLanczosIsThatOfTheDenseSpectrum) {
  for (std::uint32_t size = 5; size <= 120; size += 23) {
    for (const std::uint32_t degree : {2U, 4U, 8U}) {
      SCOPED_TRACE(testing::Message() << "n " << size << ", degree " << degree);
      MixingSequence rounds = samples::expander(size, degree);
      const double expected = 1.0 - contraction(joint_spectrum(rounds).value());
      EXPECT_NEAR(1.0 - contraction(rounds), expected, 1e-6 * expected);
    }
  }
}

TEST(Gap, OfAPeriodIsPerRound) {
  MixingSequence exponential = samples::one_peer_exponential(25);
  EXPECT_NEAR(contraction(exponential), 0.7190, 5e-5);
  EXPECT_NEAR(contraction(joint_spectrum(exponential).value()), 0.7190, 5e-5);
  MixingSequence hypercube = samples::one_peer_hypercube(25);
  EXPECT_FALSE(joint_spectrum(hypercube));
  EXPECT_NEAR(contraction(hypercube), 0.8590, 5e-5);
  MixingSequence shift_one = samples::shift_one(64);
  EXPECT_NEAR(contraction(shift_one), 0.9953, 5e-5);
}

TEST(Gap, OfAnExactPeriodIsOne) {
  for (MixingSequence rounds : {samples::one_peer_exponential(64), samples::one_peer_hypercube(32),
                                samples::grid({5, 5}), samples::grid({2, 3, 4})}) {
    EXPECT_EQ(contraction(rounds), 0.0) << "n " << rounds.size();
  }
}

TEST(Gap, OfTwoIslandsIsZero) {
  MixingSequence rounds = samples::fixed(samples::averaging(6, {{0, 1, 2}, {3, 4, 5}}));
  EXPECT_NEAR(contraction(rounds), 1.0, 1e-12);
  EXPECT_NEAR(contraction(joint_spectrum(rounds).value()), 1.0, 1e-12);
}

TEST(ExpectedRounds, AreThoseOfALongSimulation) {
  MixingSequence ring = samples::ring(100);
  const JointSpectrum spectrum = joint_spectrum(ring).value();
  const ConsensusTrace trace = trace_consensus(ring, {.max_rounds = 10000});
  for (const double target : {1e-3, 1e-6}) {
    const auto simulated = static_cast<double>(trace.rounds_to(target).value());
    EXPECT_NEAR(expected_rounds(spectrum, target).value(), simulated, 0.05 * simulated + 1.0);
  }
}

TEST(ExpectedRounds, CountWithinAPeriod) {
  MixingSequence exact = samples::one_peer_exponential(64);
  EXPECT_EQ(expected_rounds(joint_spectrum(exact).value(), 1e-3), 6.0);
  MixingSequence one = samples::fixed(SparseMatrix::identity(1));
  EXPECT_EQ(expected_rounds(joint_spectrum(one).value(), 1e-3), 1.0);
  MixingSequence idle = samples::fixed(SparseMatrix::identity(3));
  EXPECT_EQ(expected_rounds(joint_spectrum(idle).value(), 1e-3), std::nullopt);
}

}  // namespace
}  // namespace hobnob
