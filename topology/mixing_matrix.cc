#include "topology/mixing_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace hobnob {

namespace {

__extension__ using Wide = unsigned __int128;

// A sum of weights, exact.
struct Fraction {
  Wide numerator = 0;
  Wide denominator = 1;
};

// Empty when the common denominator (or the sum over it) does not fit.
std::optional<Fraction> add(const Fraction& sum, const Weight& weight) {
  // gcd(D, d) = gcd(D mod d, d), which is 32-bit work.
  const auto rest = static_cast<std::uint32_t>(sum.denominator % weight.denominator);
  const std::uint32_t shared = std::gcd(rest, weight.denominator);
  const Wide grow = weight.denominator / shared;
  Fraction total;
  Wide scaled = 0;
  Wide added = 0;
  if (__builtin_mul_overflow(sum.denominator, grow, &total.denominator) ||
      __builtin_mul_overflow(sum.numerator, grow, &scaled) ||
      __builtin_mul_overflow(total.denominator / weight.denominator, Wide{weight.numerator},
                             &added) ||
      __builtin_add_overflow(scaled, added, &total.numerator)) {
    return std::nullopt;
  }
  return total;
}

double norm(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

void subtract_mean(std::vector<double>& x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  for (double& value : x) {
    value -= mean;
  }
}

void divide(std::vector<double>& x, double divisor) {
  for (double& value : x) {
    value /= divisor;
  }
}

}  // namespace

MixingMatrix::MixingMatrix(std::size_t size, std::vector<Edge> edges)
    : size_(size), edges_(std::move(edges)) {
  for (const Edge& edge : edges_) {
    HOBNOB_CHECK(edge.a < edge.b && edge.b < size_, "edge outside the matrix, or not a < b");
    HOBNOB_CHECK(edge.weight.denominator > 0, "weight without a denominator");
  }
}

bool MixingMatrix::is_doubly_stochastic() const {
  std::vector<Fraction> rows(size_);
  for (const Edge& edge : edges_) {
    for (const std::uint32_t row : {edge.a, edge.b}) {
      const std::optional<Fraction> sum = add(rows[row], edge.weight);
      if (!sum || sum->numerator > sum->denominator) {
        return false;
      }
      rows[row] = *sum;
    }
  }
  return true;
}

std::vector<double> MixingMatrix::apply(const std::vector<double>& x) const {
  HOBNOB_CHECK(x.size() == size_, "column of another length");
  std::vector<double> y = x;
  for (const Edge& edge : edges_) {
    // One product for both ends: what one gains the other loses.
    const double moved = edge.weight.value() * (x[edge.b] - x[edge.a]);
    y[edge.a] += moved;
    y[edge.b] -= moved;
  }
  return y;
}

// Follows |W v| / |v|, not the Rayleigh quotient: it converges too when the largest eigenvalues are
// +s and -s, and it never falls, so a step without growth is the end.
double MixingMatrix::spectral_gap() const {
  constexpr int kMaxSteps = 100000;
  constexpr double kNoGrowth = 1e-15;
  constexpr double kNoise = 1e-14;
  if (size_ <= 1) {
    return 1.0;
  }
  std::vector<double> v(size_);
  for (std::size_t k = 0; k < size_; ++k) {
    v[k] = static_cast<double>(mix64(k) >> 11) * 0x1.0p-53 - 0.5;
  }
  subtract_mean(v);
  divide(v, norm(v));
  double radius = 0.0;
  for (int step = 0; step < kMaxSteps; ++step) {
    v = apply(v);
    subtract_mean(v);
    const double ratio = norm(v);
    if (ratio < kNoise) {
      return 1.0;  // W = J up to rounding: nothing is left to iterate on
    }
    divide(v, ratio);
    const bool has_settled = step > 0 && ratio - radius < kNoGrowth;
    radius = std::max(radius, ratio);
    if (has_settled) {
      break;
    }
  }
  return 1.0 - radius;
}

}  // namespace hobnob
