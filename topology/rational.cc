#include "topology/rational.h"

#include <limits>
#include <numeric>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

Int128 gcd_of(Int128 a, Int128 b) {
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Weight lowest_terms(Int128 numerator, Int128 denominator) {
  HOBNOB_CHECK(denominator > 0, "weight without a denominator");
  const Int128 shared = gcd_of(denominator, numerator);
  const Int128 least = denominator / shared;
  HOBNOB_CHECK(least <= std::numeric_limits<std::uint32_t>::max() && numerator <= denominator,
               "weight above 1, or with a denominator of more than 32 bits");
  return {static_cast<std::uint32_t>(numerator / shared), static_cast<std::uint32_t>(least)};
}

}  // namespace

std::string Weight::text() const {
  return std::to_string(numerator) + "/" + std::to_string(denominator);
}

Weight make_weight(std::uint64_t numerator, std::uint64_t denominator) {
  return lowest_terms(Int128{numerator}, Int128{denominator});
}

Weight half_sum(const Weight& a, const Weight& b) {
  const Int128 shared = std::gcd(a.denominator, b.denominator);
  const Int128 numerator =
      Int128{a.numerator} * b.denominator + Int128{b.numerator} * a.denominator;
  return lowest_terms(numerator / shared, 2 * (Int128{a.denominator} * b.denominator) / shared);
}

double ExactSum::value() const {
  return is_exact() ? static_cast<double>(numerator_) / static_cast<double>(denominator_)
                    : approximate_;
}

void ExactSum::accumulate(const Weight& weight, int sign) {
  HOBNOB_CHECK(weight.denominator > 0, "weight without a denominator");
  approximate_ += sign * weight.value();
  if (!is_exact()) {
    return;
  }
  // gcd(D, d) = gcd(D mod d, d), which is 32-bit work.
  const auto rest = static_cast<std::uint32_t>(denominator_ % weight.denominator);
  const Int128 grow = weight.denominator / std::gcd(rest, weight.denominator);
  Int128 denominator = 0;
  Int128 scaled = 0;
  Int128 added = 0;
  if (__builtin_mul_overflow(denominator_, grow, &denominator) ||
      __builtin_mul_overflow(numerator_, grow, &scaled) ||
      __builtin_mul_overflow(denominator / weight.denominator, sign * Int128{weight.numerator},
                             &added) ||
      __builtin_add_overflow(scaled, added, &numerator_)) {
    denominator_ = 0;
    return;
  }
  denominator_ = denominator;
}

}  // namespace hobnob
