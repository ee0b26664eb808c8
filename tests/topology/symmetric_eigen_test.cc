#include "topology/symmetric_eigen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

using Matrix = std::vector<double>;

Matrix random_symmetric(std::size_t n, std::uint64_t seed, double scale) {
  Rng rng({.seed = seed, .stream = 4});
  Matrix matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      // Many zeros: graphs are sparse, and zeros are where reductions go wrong.
      const double value = rng.below(3) == 0 ? scale * rng.normal() : 0.0;
      matrix[i * n + j] = value;
      matrix[j * n + i] = value;
    }
  }
  return matrix;
}

double row_dot(
    const Matrix& one, std::size_t i, const Matrix& other, std::size_t j, std::size_t n) {
  double sum = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    sum += one[i * n + k] * other[j * n + k];
  }
  return sum;
}

// A v = lambda v, and orthonormal v, both to `tolerance` (of the largest eigenvalue).
void expect_decomposes(const Matrix& matrix, std::size_t n, double tolerance) {
  const SymmetricEigen eigen = symmetric_eigen(matrix, n);
  ASSERT_EQ(eigen.values.size(), n);
  ASSERT_EQ(eigen.vectors.size(), n * n);
  EXPECT_TRUE(std::ranges::is_sorted(eigen.values));
  double scale = 0.0;
  for (const double value : eigen.values) {
    scale = std::max(scale, std::abs(value));
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(row_dot(matrix, i, eigen.vectors, k, n),
                  eigen.values[k] * eigen.vectors[k * n + i], tolerance * scale);
      EXPECT_NEAR(row_dot(eigen.vectors, i, eigen.vectors, k, n), i == k ? 1.0 : 0.0, tolerance);
    }
  }
  const std::vector<double> values = symmetric_eigenvalues(matrix, n);
  ASSERT_EQ(values.size(), n);
  for (std::size_t k = 0; k < n; ++k) {
    EXPECT_NEAR(values[k], eigen.values[k], tolerance * scale);
  }
}

TEST(SymmetricEigen, DecomposesRandomMatricesOfEverySize) {
  for (std::size_t n = 0; n <= 20; ++n) {
    SCOPED_TRACE(n);
    expect_decomposes(random_symmetric(n, n, 1.0), n, 1e-13);
  }
  expect_decomposes(random_symmetric(60, 1, 1.0), 60, 1e-13);
}

TEST(SymmetricEigen, IsIndifferentToTheScale) {
  for (const double scale : {1e-100, 1e-9, 1e9, 1e100}) {
    SCOPED_TRACE(scale);
    expect_decomposes(random_symmetric(12, 3, scale), 12, 1e-13);
  }
}

TEST(SymmetricEigen, DecomposesMatricesWithEqualEigenvalues) {
  for (const std::size_t n : {1U, 2U, 5U, 16U}) {
    SCOPED_TRACE(n);
    Matrix identity(n * n);
    Matrix scattered(n * n);
    for (std::size_t k = 0; k < n; ++k) {
      identity[k * n + k] = 1.0;
      scattered[k * n + (n - 1 - k)] = 1.0;  // eigenvalues +1 and -1
    }
    expect_decomposes(Matrix(n * n), n, 1e-14);
    expect_decomposes(identity, n, 1e-14);
    expect_decomposes(scattered, n, 1e-14);
    expect_decomposes(Matrix(n * n, 1.0), n, 1e-14);
  }
}

TEST(SymmetricEigen, FindsTheSpectrumOfTheRing) {
  constexpr std::size_t kSize = 101;
  Matrix ring(kSize * kSize);
  std::vector<double> expected;
  for (std::size_t k = 0; k < kSize; ++k) {
    ring[k * kSize + (k + 1) % kSize] = 1.0;
    ring[(k + 1) % kSize * kSize + k] = 1.0;
    expected.push_back(2.0 * std::cos(2.0 * std::numbers::pi * static_cast<double>(k) / kSize));
  }
  std::ranges::sort(expected);
  const std::vector<double> values = symmetric_eigenvalues(ring, kSize);
  for (std::size_t k = 0; k < kSize; ++k) {
    EXPECT_NEAR(values[k], expected[k], 1e-13);
  }
}

}  // namespace
}  // namespace hobnob
