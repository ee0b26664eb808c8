#include "topology/steady_state.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/rng.h"

namespace hobnob {

namespace {

using Block = std::vector<double>;

constexpr std::size_t kMaxExact = 128;
constexpr std::size_t kColumns = 64;
constexpr double kMaxSettling = 10000;  // rounds
// What is left of the start when the average begins.
constexpr double kSettled = 1e-3;

// Subtracts the mean of every column of the (size, columns) block.
void subtract_means(Block& block, std::size_t columns) {
  std::vector<double> means(columns, 0.0);
  const std::size_t size = block.size() / columns;
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < columns; ++k) {
      means[k] += block[row * columns + k];
    }
  }
  for (double& mean : means) {
    mean /= static_cast<double>(size);
  }
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t k = 0; k < columns; ++k) {
      block[row * columns + k] -= means[k];
    }
  }
}

double squared_norm(const Block& block) {
  return std::inner_product(block.begin(), block.end(), block.begin(), 0.0);
}

void add_diagonal(Block& block, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    block[k * size + k] += 1.0;
  }
}

// Adds an independent random sign to every element of an (n, 64) block. Any variables of variance 1
// would do; these cost a bit each.
void add_signs(Block& block, std::uint64_t seed, std::uint64_t stream) {
  static_assert(kColumns == 64, "a row takes one word of signs");
  Rng rng({.seed = seed, .stream = mix64(stream)});
  for (std::size_t first = 0; first < block.size(); first += kColumns) {
    const std::uint64_t signs = rng.next_u64();
    for (std::size_t k = 0; k < kColumns; ++k) {
      block[first + k] += (signs >> k & 1U) != 0 ? 1.0 : -1.0;
    }
  }
}

// What independent noise leaves at the peers, summed over them, after a round.
struct NoiseSums {
  double centred = 0.0;
  double discounted = 0.0;
};

class Noise {
 public:
  virtual ~Noise() = default;
  virtual NoiseSums advance(const SparseMatrix& matrix, std::uint64_t round) = 0;
};

// Covariances: C <- P W (C + I) W^T P with P = I - J, and C <- W (g C + I) W^T.
class Covariance final : public Noise {
 public:
  Covariance(std::size_t size, double discount)
      : size_(size),
        discount_(discount),
        centred_(size * size, 0.0),
        discounted_(centred_),
        scratch_(centred_) {}

  NoiseSums advance(const SparseMatrix& matrix, std::uint64_t /*round*/) override {
    add_diagonal(centred_, size_);
    conjugate(matrix, centred_, true);
    for (double& value : discounted_) {
      value *= discount_;
    }
    add_diagonal(discounted_, size_);
    conjugate(matrix, discounted_, false);
    return {.centred = trace(centred_), .discounted = trace(discounted_)};
  }

 private:
  double trace(const Block& block) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < size_; ++k) {
      sum += block[k * size_ + k];
    }
    return sum;
  }

  // C is symmetric, so that W C W^T = W (W C)^T.
  void conjugate(const SparseMatrix& matrix, Block& block, bool is_centred) {
    for (int side = 0; side < 2; ++side) {
      matrix.apply(block, scratch_, size_);
      if (is_centred) {
        subtract_means(scratch_, size_);
      }
      for (std::size_t row = 0; row < size_; ++row) {
        for (std::size_t column = 0; column < size_; ++column) {
          block[column * size_ + row] = scratch_[row * size_ + column];
        }
      }
    }
  }

  const std::size_t size_;
  const double discount_;
  Block centred_;  // (n, n)
  Block discounted_;
  Block scratch_;
};

// Samples of the noise itself.
class NoiseColumns final : public Noise {
 public:
  NoiseColumns(std::size_t size, const SteadyStateConfig& config)
      : keep_(std::sqrt(config.discount)),
        seed_(config.seed),
        centred_(size * kColumns, 0.0),
        discounted_(centred_),
        scratch_(centred_) {}

  NoiseSums advance(const SparseMatrix& matrix, std::uint64_t round) override {
    add_signs(centred_, seed_, 2 * round);
    matrix.apply(centred_, scratch_, kColumns);
    centred_.swap(scratch_);
    subtract_means(centred_, kColumns);
    for (double& value : discounted_) {
      value *= keep_;
    }
    add_signs(discounted_, seed_, 2 * round + 1);
    matrix.apply(discounted_, scratch_, kColumns);
    discounted_.swap(scratch_);
    return {.centred = squared_norm(centred_) / kColumns,
            .discounted = squared_norm(discounted_) / kColumns};
  }

 private:
  const double keep_;
  const std::uint64_t seed_;
  Block centred_;  // (n, 64)
  Block discounted_;
  Block scratch_;
};

// Rounds until a contraction leaves kSettled of the start; infinite without one.
double settling_rounds(double contraction) {
  if (contraction >= 1.0) {
    return std::numeric_limits<double>::infinity();
  }
  return contraction <= 0.0 ? 1.0 : std::ceil(std::log(kSettled) / std::log(contraction));
}

std::uint64_t up_to_multiple(std::uint64_t count, std::uint64_t period) {
  return (count + period - 1) / period * period;
}

// Rounds to read for an average: those of one period tell all there is when nothing is sampled.
std::uint64_t averaged_rounds(const MixingSequence& rounds, bool is_sampled) {
  constexpr std::uint64_t kFewest = 64;
  if (rounds.period() == 0) {
    return std::clamp<std::uint64_t>(32000 / rounds.size(), kFewest, 4000);
  }
  return up_to_multiple(is_sampled ? kFewest : 1, rounds.period());
}

// zeta: the mean of ||S||^2 / n for S <- P W (S + I), once it has settled. The columns of S are the
// responses to a drift of one peer; where that is too much work, to drifts of random sign.
double drift_distance(MixingSequence& rounds, std::uint64_t settling, std::uint64_t seed) {
  constexpr std::uint64_t kMaxExactRounds = 500;
  const std::size_t size = rounds.size();
  const std::uint64_t begin = up_to_multiple(settling, std::max<std::uint64_t>(rounds.period(), 1));
  const std::uint64_t averaged = averaged_rounds(rounds, false);
  const bool is_exact = size <= kMaxExact || (rounds.period() > 0 && size <= kMaxDense &&
                                              begin + averaged <= kMaxExactRounds);
  const std::size_t columns = is_exact ? size : kColumns;
  Block response(size * columns, 0.0);
  Block drift(response);
  Block next(response);
  if (is_exact) {
    add_diagonal(drift, size);
  } else {
    add_signs(drift, seed, 0);
  }
  double total = 0.0;
  for (std::uint64_t round = 0; round < begin + averaged; ++round) {
    for (std::size_t k = 0; k < response.size(); ++k) {
      response[k] += drift[k];
    }
    rounds.at(round).apply(response, next, columns);
    response.swap(next);
    subtract_means(response, columns);
    total += round >= begin ? squared_norm(response) : 0.0;
  }
  // The unit vectors add up to the expectation; columns of signs each have it.
  const double summed = is_exact ? 1.0 : static_cast<double>(columns);
  return total / (static_cast<double>(averaged) * static_cast<double>(size) * summed);
}

double neighbours(double discounted, double discount) {
  return 1.0 / ((1.0 - discount) * discounted);
}

}  // namespace

SteadyState steady_state(const JointSpectrum& spectrum, double discount) {
  const std::size_t size = spectrum.size();
  if (size < 2) {
    return {.xi = 0.0, .zeta = 0.0};
  }
  const auto per_peer_and_round =
      1.0 / (static_cast<double>(size) * static_cast<double>(spectrum.rounds.size()));
  double xi = 0.0;
  double zeta = 0.0;
  double discounted = 0.0;
  bool has_settled = true;
  for (std::size_t mode = 0; mode < size; ++mode) {
    // One period from rest gives the fixed point of the period, from which a second one starts.
    double noise = 0.0;
    double old = 0.0;
    std::complex<double> drift = 0.0;
    std::complex<double> product = 1.0;
    double kept = 1.0;
    for (const auto& eigenvalues : spectrum.rounds) {
      const std::complex<double> factor = eigenvalues[mode];
      noise = std::norm(factor) * (noise + 1.0);
      drift = factor * (drift + 1.0);
      old = std::norm(factor) * (discount * old + 1.0);
      product *= factor;
      kept *= discount;
    }
    const double growth = std::norm(product);
    old /= 1.0 - kept * growth;
    if (mode > 0) {
      has_settled = has_settled && 1.0 - growth > 1e-13;
      noise /= 1.0 - growth;
      drift /= 1.0 - product;
    }
    for (const auto& eigenvalues : spectrum.rounds) {
      const std::complex<double> factor = eigenvalues[mode];
      noise = std::norm(factor) * (noise + 1.0);
      drift = factor * (drift + 1.0);
      old = std::norm(factor) * (discount * old + 1.0);
      xi += mode > 0 ? noise : 0.0;
      zeta += mode > 0 ? std::norm(drift) : 0.0;
      discounted += old;
    }
  }
  SteadyState state{.effective_neighbours = neighbours(discounted * per_peer_and_round, discount)};
  if (has_settled) {
    state.xi = xi * per_peer_and_round;
    state.zeta = zeta * per_peer_and_round;
  }
  return state;
}

SteadyState steady_state(MixingSequence& rounds, const SteadyStateConfig& config) {
  HOBNOB_CHECK(config.discount >= 0.0 && config.discount < 1.0, "discount outside [0, 1)");
  const std::size_t size = rounds.size();
  if (size < 2) {
    return {.xi = 0.0, .zeta = 0.0};
  }
  const double settling = settling_rounds(config.contraction);
  const bool settles = settling <= kMaxSettling;
  // The mean is discounted only, whatever the contraction.
  const double needed = std::max(settles ? settling : 0.0, settling_rounds(config.discount));
  const std::uint64_t begin = up_to_multiple(static_cast<std::uint64_t>(needed),
                                             std::max<std::uint64_t>(rounds.period(), 1));
  const bool is_sampled = size > kMaxExact;
  const std::uint64_t averaged = averaged_rounds(rounds, is_sampled);
  std::unique_ptr<Noise> noise;
  if (is_sampled) {
    noise = std::make_unique<NoiseColumns>(size, config);
  } else {
    noise = std::make_unique<Covariance>(size, config.discount);
  }
  NoiseSums total;
  for (std::uint64_t round = 0; round < begin + averaged; ++round) {
    const NoiseSums now = noise->advance(rounds.at(round), round);
    if (round >= begin) {
      total.centred += now.centred;
      total.discounted += now.discounted;
    }
  }
  const double share = 1.0 / (static_cast<double>(averaged) * static_cast<double>(size));
  SteadyState state{.effective_neighbours = neighbours(total.discounted * share, config.discount)};
  if (settles) {
    state.xi = total.centred * share;
    state.zeta = drift_distance(rounds, static_cast<std::uint64_t>(settling), config.seed);
  }
  return state;
}

}  // namespace hobnob
