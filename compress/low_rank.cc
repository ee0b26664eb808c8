#include "compress/low_rank.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/hash.h"

namespace hobnob {

namespace {

constexpr std::size_t kLanes = 16;  // of every sum, whatever the machine has

float dot(std::span<const float> a, std::span<const float> b) {
  std::array<float, kLanes> sums{};
  std::size_t k = 0;
  for (; k + kLanes <= a.size(); k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += a[k + lane] * b[k + lane];
    }
  }
  for (std::size_t lane = 0; k < a.size(); ++k, ++lane) {
    sums[lane] += a[k] * b[k];
  }
  for (std::size_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::size_t lane = 0; lane < step; ++lane) {
      sums[lane] += sums[lane + step];
    }
  }
  return sums[0];
}

// to += factor * from
void add(float factor, std::span<const float> from, std::span<float> to) {
  for (std::size_t k = 0; k < from.size(); ++k) {
    to[k] += factor * from[k];
  }
}

// Row i of the matrix, as far as it has values.
std::span<const float> row(const Matrix& matrix, std::size_t i) {
  const std::size_t start = i * matrix.columns;
  return matrix.values.subspan(start, std::min(matrix.columns, matrix.values.size() - start));
}

// P (rank, rows) = Q D^T.
std::vector<float> times_rows(const Matrix& matrix, std::span<const float> q, std::size_t rank) {
  std::vector<float> p(rank * matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    const auto values = row(matrix, i);
    for (std::size_t k = 0; k < rank; ++k) {
      p[k * matrix.rows + i] = dot(values, q.subspan(k * matrix.columns, values.size()));
    }
  }
  return p;
}

// Q (rank, columns) = P D.
std::vector<float> times_columns(const Matrix& matrix, std::span<const float> p, std::size_t rank) {
  std::vector<float> q(rank * matrix.columns);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    const auto values = row(matrix, i);
    for (std::size_t k = 0; k < rank; ++k) {
      add(p[k * matrix.rows + i], values, std::span(q).subspan(k * matrix.columns, values.size()));
    }
  }
  return q;
}

float norm(std::span<const float> v) {
  return std::sqrt(dot(v, v));
}

// Divides by the largest magnitude, to a power of two, so that squares neither vanish nor overflow.
// False: all are zero.
bool bring_near_one(std::span<float> v) {
  float largest = 0.0F;
  for (const float value : v) {
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0.0F) {
    return false;
  }
  const int exponent = std::ilogb(largest);
  for (float& value : v) {
    value = std::ldexp(value, -exponent);
  }
  return true;
}

// Gram-Schmidt on the rows of v (rank, size), each twice: once is not enough in float32 (Giraud et
// al., Numer. Math. 101, 2005). What is left of a row that depends on those before becomes zero.
void orthonormalise(std::span<float> v, std::size_t rank, std::size_t size) {
  constexpr float kDependent = 1e-5F;
  for (std::size_t k = 0; k < rank; ++k) {
    const auto own = v.subspan(k * size, size);
    if (!bring_near_one(own)) {
      continue;
    }
    const float before = norm(own);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t other = 0; other < k; ++other) {
        const auto unit = v.subspan(other * size, size);
        add(-dot(own, unit), unit, own);
      }
    }
    const float length = norm(own);
    const float factor = length > kDependent * before ? 1.0F / length : 0.0F;
    for (float& value : own) {
      value *= factor;
    }
  }
}

// Cholesky in float64 of the Gram matrix of P's rows (rank, rank), lower half; rows of zeros get a
// one, so that what belongs to them comes out as zero.
std::vector<double> factor_gram(std::span<const float> p, std::size_t rank) {
  const std::size_t rows = p.size() / rank;
  std::vector<double> lower(rank * rank);
  for (std::size_t a = 0; a < rank; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = static_cast<double>(dot(p.subspan(a * rows, rows), p.subspan(b * rows, rows)));
      for (std::size_t k = 0; k < b; ++k) {
        sum -= lower[a * rank + k] * lower[b * rank + k];
      }
      if (a == b) {
        // Rows that quantization made equal leave nothing; a large pivot then silences the second.
        lower[a * rank + a] = sum > 1e-6 ? std::sqrt(sum) : 1e6;
      } else {
        lower[a * rank + b] = sum / lower[b * rank + b];
      }
    }
  }
  return lower;
}

}  // namespace

std::vector<float> left_factor(const Matrix& matrix, std::size_t rank, std::uint64_t key) {
  std::vector<float> q(rank * matrix.columns);
  for (std::size_t k = 0; k < q.size(); ++k) {
    // Uniform in [-1, 1).
    q[k] = static_cast<float>(static_cast<std::int32_t>(mix64(key + k) >> 32U)) * 0x1p-31F;
  }
  std::vector<float> p;
  for (int step = 0; step < 2; ++step) {
    if (step > 0) {
      q = times_columns(matrix, p, rank);
      // Lengths do not matter, and squares of them might overflow.
      for (std::size_t k = 0; k < rank; ++k) {
        bring_near_one(std::span(q).subspan(k * matrix.columns, matrix.columns));
      }
    }
    p = times_rows(matrix, q, rank);
    orthonormalise(p, rank, matrix.rows);
  }
  return p;
}

std::vector<float> right_factor(const Matrix& matrix, std::span<const float> p, std::size_t rank) {
  std::vector<float> q = times_columns(matrix, p, rank);
  const std::vector<double> lower = factor_gram(p, rank);
  std::vector<double> x(rank);
  for (std::size_t j = 0; j < matrix.columns; ++j) {
    for (std::size_t a = 0; a < rank; ++a) {
      double sum = static_cast<double>(q[a * matrix.columns + j]);
      for (std::size_t k = 0; k < a; ++k) {
        sum -= lower[a * rank + k] * x[k];
      }
      x[a] = sum / lower[a * rank + a];
    }
    for (std::size_t a = rank; a-- > 0;) {
      for (std::size_t k = a + 1; k < rank; ++k) {
        x[a] -= lower[k * rank + a] * x[k];
      }
      x[a] /= lower[a * rank + a];
      q[a * matrix.columns + j] = static_cast<float>(x[a]);
    }
  }
  return q;
}

}  // namespace hobnob
