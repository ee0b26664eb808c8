#include "topology/spectrum.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

#include "runtime/base/check.h"
#include "runtime/base/rng.h"
#include "topology/symmetric_eigen.h"

namespace hobnob {

namespace {

// A round that shrinks a vector by this is exact averaging up to rounding.
constexpr double kCollapse = 1e-12;

using Vector = std::vector<double>;

double norm(const Vector& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

void subtract_mean(Vector& x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  for (double& value : x) {
    value -= mean;
  }
}

// x <- (W_T ... W_1 - J)^T (W_T ... W_1 - J) x for x without mean. A row-stochastic W takes equal
// values to equal values, so the mean can go after every round; on the way back W^T keeps the sum.
class Operator {
 public:
  explicit Operator(MixingSequence& rounds) : rounds_(rounds), next_(rounds.size()) {}

  void apply(Vector& x) {
    for (std::uint64_t round = 0; round < rounds_.period(); ++round) {
      advance(x, round, &SparseMatrix::apply);
    }
    for (std::uint64_t round = rounds_.period(); round-- > 0;) {
      advance(x, round, &SparseMatrix::apply_transposed);
    }
  }

 private:
  using Apply = void (SparseMatrix::*)(std::span<const double>,
                                       std::span<double>,
                                       std::size_t) const;

  void advance(Vector& x, std::uint64_t round, Apply step) {
    (rounds_.at(round).*step)(x, next_, 1);
    subtract_mean(next_);
    if (norm(next_) < kCollapse * norm(x)) {
      std::ranges::fill(next_, 0.0);
    }
    x.swap(next_);
  }

  MixingSequence& rounds_;
  Vector next_;
};

// The largest Ritz value and how far from it the eigenvalue that it approaches may be.
struct Bound {
  double value = 0.0;
  double error = 0.0;
};

// The eigenvalue is within r = beta |s| of the Ritz value and, where the other ones are d > r away,
// within r^2 / d (Parlett, The Symmetric Eigenvalue Problem, 11.7).
Bound largest_ritz(const Vector& diagonal, const Vector& off_diagonal, double next_beta) {
  const TridiagonalSpectrum ritz = tridiagonal_spectrum(diagonal, off_diagonal);
  const auto top = std::ranges::max_element(ritz.eigenvalues) - ritz.eigenvalues.begin();
  const double value = ritz.eigenvalues[static_cast<std::size_t>(top)];
  const double residual = next_beta * std::sqrt(ritz.last_squared[static_cast<std::size_t>(top)]);
  // Without reorthogonalisation a converged value comes back in copies: those are one and the same.
  double distance = value;
  for (const double other : ritz.eigenvalues) {
    if (value - other > std::max(residual, 1e-10 * value)) {
      distance = std::min(distance, value - other);
    }
  }
  return {.value = value, .error = std::min(residual, residual * residual / distance)};
}

Vector random_start(std::size_t size) {
  Rng rng({.seed = 1, .stream = size});
  Vector x(size);
  for (double& value : x) {
    value = rng.normal();
  }
  subtract_mean(x);
  const double length = norm(x);
  for (double& value : x) {
    value /= length;
  }
  return x;
}

// The product of one mode over the rounds of a period, squared.
double squared_product(const JointSpectrum& spectrum, std::size_t mode) {
  double product = 1.0;
  for (const auto& eigenvalues : spectrum.rounds) {
    const double factor = std::norm(eigenvalues[mode]);
    product = factor < kCollapse * kCollapse ? 0.0 : product * factor;
  }
  return product;
}

// The expected squared error after some rounds, of 1 at the start.
class ExpectedError {
 public:
  explicit ExpectedError(const JointSpectrum& spectrum) : spectrum_(spectrum) {
    for (std::size_t mode = 1; mode < spectrum.size(); ++mode) {
      per_period_.push_back(squared_product(spectrum, mode));
    }
  }

  double squared_after(double rounds) const {
    const auto period = static_cast<double>(spectrum_.rounds.size());
    const double periods = std::floor(rounds / period);
    const auto rest = static_cast<std::size_t>(rounds - periods * period);
    double total = 0.0;
    for (std::size_t k = 0; k < per_period_.size(); ++k) {
      double energy = std::pow(per_period_[k], periods);
      for (std::size_t round = 0; round < rest; ++round) {
        energy *= std::norm(spectrum_.rounds[round][k + 1]);
      }
      total += energy;
    }
    return total / static_cast<double>(per_period_.size());
  }

 private:
  const JointSpectrum& spectrum_;
  Vector per_period_;
};

// (n, n) row-major.
Vector dense(const SparseMatrix& matrix) {
  const std::size_t size = matrix.size();
  Vector full(size * size, 0.0);
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < matrix.columns(row).size(); ++k) {
      full[row * size + matrix.columns(row)[k]] = matrix.values(row)[k];
    }
  }
  return full;
}

}  // namespace

std::optional<std::vector<std::complex<double>>> circulant_eigenvalues(const SparseMatrix& matrix) {
  const std::size_t size = matrix.size();
  if (size == 0) {
    return std::vector<std::complex<double>>{};
  }
  const std::span<const std::uint32_t> shifts = matrix.columns(0);
  const std::span<const double> weights = matrix.values(0);
  Vector by_shift(size, 0.0);
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    by_shift[shifts[k]] = weights[k];
  }
  for (std::size_t row = 1; row < size; ++row) {
    if (matrix.columns(row).size() != shifts.size()) {
      return std::nullopt;
    }
    for (std::size_t k = 0; k < shifts.size(); ++k) {
      const std::size_t shift = (matrix.columns(row)[k] + size - row) % size;
      if (std::abs(matrix.values(row)[k] - by_shift[shift]) > kCollapse) {
        return std::nullopt;
      }
    }
  }
  std::vector<std::complex<double>> roots(size);  // e^(2 pi i k / n)
  for (std::size_t k = 0; k < size; ++k) {
    roots[k] = std::polar(
        1.0, 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size));
  }
  std::vector<std::complex<double>> eigenvalues(size);
  for (std::size_t frequency = 0; frequency < size; ++frequency) {
    for (std::size_t k = 0; k < shifts.size(); ++k) {
      eigenvalues[frequency] += weights[k] * roots[shifts[k] * frequency % size];
    }
  }
  return eigenvalues;
}

std::optional<JointSpectrum> joint_spectrum(MixingSequence& rounds) {
  if (rounds.period() == 0) {
    return std::nullopt;
  }
  JointSpectrum spectrum;
  for (std::uint64_t round = 0; round < rounds.period(); ++round) {
    auto eigenvalues = circulant_eigenvalues(rounds.at(round));
    if (!eigenvalues) {
      break;
    }
    spectrum.rounds.push_back(*std::move(eigenvalues));
  }
  if (spectrum.rounds.size() == rounds.period()) {
    return spectrum;
  }
  if (rounds.period() != 1 || rounds.size() > kMaxDense || !rounds.at(0).is_symmetric()) {
    return std::nullopt;
  }
  const Vector eigenvalues = symmetric_eigenvalues(dense(rounds.at(0)), rounds.size());
  spectrum.rounds = {{eigenvalues.rbegin(), eigenvalues.rend()}};  // the first is the consensus
  return spectrum;
}

double contraction(const JointSpectrum& spectrum) {
  double most = 0.0;
  for (std::size_t mode = 1; mode < spectrum.size(); ++mode) {
    most = std::max(most, squared_product(spectrum, mode));
  }
  return std::pow(most, 0.5 / static_cast<double>(spectrum.rounds.size()));
}

std::optional<double> expected_rounds(const JointSpectrum& spectrum, double target) {
  constexpr double kMaxRounds = 0x1.0p53;
  if (spectrum.size() < 2) {
    return 1.0;
  }
  const ExpectedError error(spectrum);
  const double goal = target * target;
  double above = 0.0;  // the error of orthogonal modes never grows
  double below = 1.0;
  while (error.squared_after(below) > goal) {
    above = below;
    below *= 2.0;
    if (below > kMaxRounds) {
      return std::nullopt;
    }
  }
  while (below - above > 1.0) {
    const double middle = std::floor((above + below) / 2.0);
    (error.squared_after(middle) > goal ? above : below) = middle;
  }
  return below;
}

double contraction(MixingSequence& rounds) {
  constexpr std::size_t kMaxSteps = 6000;
  constexpr double kTolerance = 1e-7;
  HOBNOB_CHECK(rounds.period() > 0, "contraction of a sequence without a period");
  if (rounds.size() < 2) {
    return 0.0;
  }
  Operator squared(rounds);
  Vector v = random_start(rounds.size());
  Vector previous(v.size(), 0.0);
  Vector diagonal;
  Vector off_diagonal;
  double beta = 0.0;
  double top = 0.0;
  for (std::size_t next_check = 8; diagonal.size() < kMaxSteps;) {
    Vector w = v;
    squared.apply(w);
    const double alpha = std::inner_product(w.begin(), w.end(), v.begin(), 0.0);
    for (std::size_t k = 0; k < w.size(); ++k) {
      w[k] -= alpha * v[k] + beta * previous[k];
    }
    diagonal.push_back(alpha);
    beta = norm(w);
    const bool is_invariant = beta <= kCollapse * diagonal[0];
    if (is_invariant || diagonal.size() == next_check) {
      const Bound bound = largest_ritz(diagonal, off_diagonal, beta);
      top = bound.value;
      if (is_invariant || bound.error <= kTolerance * bound.value * std::abs(1.0 - bound.value)) {
        break;
      }
      next_check += next_check / 2;
    }
    off_diagonal.push_back(beta);
    for (double& value : w) {
      value /= beta;
    }
    previous = std::move(v);
    v = std::move(w);
  }
  return std::pow(std::max(top, 0.0), 0.5 / static_cast<double>(rounds.period()));
}

}  // namespace hobnob
