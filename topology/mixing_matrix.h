#pragma once

#include <cstdint>
#include <vector>

namespace hobnob {

// An exact rational in [0, 1]; every peer gets the same float from the one division.
struct Weight {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;

  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }

  // Equal as numbers: 1/2 == 2/4.
  friend bool operator==(const Weight& a, const Weight& b) {
    return std::uint64_t{a.numerator} * b.denominator == std::uint64_t{b.numerator} * a.denominator;
  }

  friend bool operator<(const Weight& a, const Weight& b) {
    return std::uint64_t{a.numerator} * b.denominator < std::uint64_t{b.numerator} * a.denominator;
  }
};

// W of one round, symmetric, stored as its edges; w_ii = 1 - sum_j w_ij is implied.
class MixingMatrix {
 public:
  struct Edge {
    std::uint32_t a = 0;
    std::uint32_t b = 0;  // a < b
    Weight weight;
  };

  MixingMatrix(std::size_t size, std::vector<Edge> edges);

  std::size_t size() const { return size_; }

  const std::vector<Edge>& edges() const { return edges_; }

  // No self weight is negative: with symmetry and the implied diagonal that is doubly stochastic.
  // Checked in integers over the row's common denominator. False too if that denominator does not
  // fit 128 bits.
  bool is_doubly_stochastic() const;

  // y = W x for one column; (n,) float64.
  std::vector<double> apply(const std::vector<double>& x) const;

  // 1 - |second largest eigenvalue| of W, by power iteration on W - J to about 1e-9; 1 for n <= 1.
  // O(iterations x edges).
  double spectral_gap() const;

 private:
  std::size_t size_;
  std::vector<Edge> edges_;
};

}  // namespace hobnob
