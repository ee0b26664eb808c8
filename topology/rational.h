#pragma once

#include <cstdint>
#include <string>

namespace hobnob {

// An exact rational in [0, 1]; every peer gets the same float from the one division.
struct Weight {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;

  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }

  // "1/3".
  std::string text() const;

  bool is_zero() const { return numerator == 0; }

  // Equal as numbers: 1/2 == 2/4.
  friend bool operator==(const Weight& a, const Weight& b) {
    return std::uint64_t{a.numerator} * b.denominator == std::uint64_t{b.numerator} * a.denominator;
  }

  friend bool operator<(const Weight& a, const Weight& b) {
    return std::uint64_t{a.numerator} * b.denominator < std::uint64_t{b.numerator} * a.denominator;
  }
};

// numerator / denominator in lowest terms. What does not fit 32 bits then is a bug.
Weight make_weight(std::uint64_t numerator, std::uint64_t denominator);

// (a + b) / 2 in lowest terms. A denominator above 32 bits is a bug: schedules keep theirs small.
Weight half_sum(const Weight& a, const Weight& b);

__extension__ using Int128 = __int128;

// A sum of weights with either sign over one 128-bit denominator. Exact until that overflows; then
// is_exact() is false for good, every question about it is answered "no", and value() is close.
class ExactSum {
 public:
  ExactSum() = default;

  explicit ExactSum(const Weight& weight) { add(weight); }

  void add(const Weight& weight) { accumulate(weight, 1); }

  void subtract(const Weight& weight) { accumulate(weight, -1); }

  bool is_exact() const { return denominator_ > 0; }

  bool is_one() const { return is_exact() && numerator_ == denominator_; }

  // Not below zero.
  bool is_weight() const { return is_exact() && numerator_ >= 0; }

  double value() const;

  // Of an exact sum; not in lowest terms. The denominator is the least common multiple of those
  // that were added.
  Int128 numerator() const { return numerator_; }

  Int128 denominator() const { return denominator_; }

 private:
  void accumulate(const Weight& weight, int sign);

  Int128 numerator_ = 0;
  Int128 denominator_ = 1;  // 0: not exact
  double approximate_ = 0.0;
};

}  // namespace hobnob
