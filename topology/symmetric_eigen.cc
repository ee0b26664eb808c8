#include "topology/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

// Rows are contiguous, so every inner loop below runs along one.
struct Matrix {
  std::vector<double> values;
  std::size_t n = 0;

  std::span<double> row(std::size_t k) { return std::span(values).subspan(k * n, n); }
};

struct Tridiagonal {
  std::vector<double> diagonal;  // (n,)
  std::vector<double> beside;    // (n,) beside[k] couples k and k + 1; the last is 0
};

// to += factor from
void add(std::span<double> to, double factor, std::span<const double> from) {
  for (std::size_t k = 0; k < to.size(); ++k) {
    to[k] += factor * from[k];
  }
}

double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

// H = I - scale v v^T maps v's old content to (+-norm, 0, ..., 0).
struct Reflection {
  double scale = 0.0;
  double image = 0.0;  // the first entry of the result
};

Reflection reflect(std::span<double> v) {
  // Below this the scale would overflow.
  constexpr double kNothing =
      std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
  const double tail = dot(v.subspan(1), v.subspan(1));
  const double first = v[0];
  if (tail < kNothing) {
    return {.scale = 0.0, .image = first};
  }
  const double image = -std::copysign(std::sqrt(first * first + tail), first);
  v[0] = first - image;
  return {.scale = 2.0 / (v[0] * v[0] + tail), .image = image};
}

// T = Q^T A Q. Leaves the vector of reflection k in a.row(k), columns k + 1 .., and its scale in
// scales[k].
Tridiagonal tridiagonalise(Matrix& a, std::vector<double>& scales) {
  const std::size_t n = a.n;
  Tridiagonal t{.diagonal = std::vector<double>(n), .beside = std::vector<double>(n)};
  scales.assign(n, 0.0);
  std::vector<double> storage(n);
  for (std::size_t k = 0; k < n; ++k) {
    t.diagonal[k] = a.row(k)[k];
    if (k + 1 == n) {
      break;
    }
    const std::span<double> v = a.row(k).subspan(k + 1);
    const Reflection reflection = reflect(v);
    t.beside[k] = reflection.image;
    scales[k] = reflection.scale;
    if (reflection.scale == 0.0) {
      continue;
    }
    // The block becomes A - v w^T - w v^T, w = p - (scale / 2) (p^T v) v, p = scale A v.
    const std::span<double> w = std::span(storage).subspan(k + 1);
    std::ranges::fill(w, 0.0);
    for (std::size_t i = 0; i < v.size(); ++i) {
      add(w, reflection.scale * v[i], a.row(k + 1 + i).subspan(k + 1));
    }
    add(w, -0.5 * reflection.scale * dot(w, v), v);
    for (std::size_t i = 0; i < v.size(); ++i) {
      const std::span<double> row = a.row(k + 1 + i).subspan(k + 1);
      add(row, -v[i], w);
      add(row, -w[i], v);
    }
  }
  return t;
}

// Q^T, the product of the reflections, last one first.
Matrix rotation_of(Matrix& a, const std::vector<double>& scales) {
  const std::size_t n = a.n;
  Matrix q{.values = std::vector<double>(n * n), .n = n};
  for (std::size_t k = 0; k < n; ++k) {
    q.row(k)[k] = 1.0;
  }
  std::vector<double> storage(n);
  for (std::size_t k = n; k-- > 0;) {
    if (scales[k] == 0.0) {
      continue;
    }
    const std::span<const double> v = a.row(k).subspan(k + 1);
    const std::span<double> u = std::span(storage).subspan(k + 1);
    std::ranges::fill(u, 0.0);
    for (std::size_t i = 0; i < v.size(); ++i) {
      add(u, v[i], q.row(k + 1 + i).subspan(k + 1));
    }
    for (std::size_t i = 0; i < v.size(); ++i) {
      add(q.row(k + 1 + i).subspan(k + 1), -scales[k] * v[i], u);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::swap(q.row(i)[j], q.row(j)[i]);
    }
  }
  return q;
}

// One implicitly shifted QL sweep over the block first .. last; `rotate(k, cosine, sine)` is told
// of each rotation of k and k + 1.
template <typename Rotate>
void sweep(Tridiagonal& t, std::size_t first, std::size_t last, const Rotate& rotate) {
  std::vector<double>& d = t.diagonal;
  std::vector<double>& e = t.beside;
  const double slope = (d[first + 1] - d[first]) / (2.0 * e[first]);
  const double root = std::copysign(std::hypot(slope, 1.0), slope);
  double g = d[last] - d[first] + e[first] / (slope + root);
  double sine = 1.0;
  double cosine = 1.0;
  double shift = 0.0;
  for (std::size_t k = last; k-- > first;) {
    const double f = sine * e[k];
    const double b = cosine * e[k];
    const double r = std::hypot(f, g);
    e[k + 1] = r;
    if (r == 0.0) {  // the block falls apart here
      d[k + 1] -= shift;
      e[last] = 0.0;
      return;
    }
    sine = f / r;
    cosine = g / r;
    g = d[k + 1] - shift;
    const double turn = (d[k] - g) * sine + 2.0 * cosine * b;
    shift = sine * turn;
    d[k + 1] = g + shift;
    g = cosine * turn - b;
    rotate(k, cosine, sine);
  }
  d[first] -= shift;
  e[first] = g;
  e[last] = 0.0;
}

// T's eigenvalues, into its diagonal.
template <typename Rotate>
void diagonalise(Tridiagonal& t, const Rotate& rotate) {
  constexpr int kMaxSweeps = 100;  // of one eigenvalue; two or three are usual
  const std::size_t n = t.diagonal.size();
  double scale = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    scale = std::max(scale, std::abs(t.diagonal[k]) + std::abs(t.beside[k]));
  }
  const double negligible = std::numeric_limits<double>::epsilon() * scale;
  for (std::size_t first = 0; first < n; ++first) {
    for (int count = 0;; ++count) {
      std::size_t last = first;
      while (last + 1 < n && std::abs(t.beside[last]) > negligible) {
        ++last;
      }
      if (last == first) {
        break;
      }
      HOBNOB_CHECK(count < kMaxSweeps, "eigenvalues of a matrix that is not finite");
      sweep(t, first, last, rotate);
    }
  }
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::size_t n) {
  HOBNOB_CHECK(matrix.size() == n * n, "matrix of another size");
  Matrix a{.values = std::move(matrix), .n = n};
  std::vector<double> scales;
  Tridiagonal t = tridiagonalise(a, scales);
  Matrix vectors = rotation_of(a, scales);
  diagonalise(t, [&](std::size_t k, double cosine, double sine) {
    const std::span<double> low = vectors.row(k);
    const std::span<double> high = vectors.row(k + 1);
    for (std::size_t column = 0; column < n; ++column) {
      const double old = high[column];
      high[column] = sine * low[column] + cosine * old;
      low[column] = cosine * low[column] - sine * old;
    }
  });
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return t.diagonal[k]; });
  SymmetricEigen eigen;
  eigen.vectors.reserve(n * n);
  for (const std::size_t k : order) {
    eigen.values.push_back(t.diagonal[k]);
    const std::span<const double> vector = vectors.row(k);
    eigen.vectors.insert(eigen.vectors.end(), vector.begin(), vector.end());
  }
  return eigen;
}

std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n) {
  HOBNOB_CHECK(matrix.size() == n * n, "matrix of another size");
  Matrix a{.values = std::move(matrix), .n = n};
  std::vector<double> scales;
  Tridiagonal t = tridiagonalise(a, scales);
  diagonalise(t, [](std::size_t, double, double) {});
  std::ranges::sort(t.diagonal);
  return std::move(t.diagonal);
}

TridiagonalSpectrum tridiagonal_spectrum(std::vector<double> diagonal,
                                         std::vector<double> off_diagonal) {
  const std::size_t n = diagonal.size();
  HOBNOB_CHECK(n == 0 || off_diagonal.size() == n - 1, "off-diagonal of another length");
  off_diagonal.resize(n);
  Tridiagonal t{.diagonal = std::move(diagonal), .beside = std::move(off_diagonal)};
  std::vector<double> last_row(n, 0.0);  // of the product of all rotations
  if (n > 0) {
    last_row.back() = 1.0;
  }
  diagonalise(t, [&](std::size_t k, double cosine, double sine) {
    const double old = last_row[k + 1];
    last_row[k + 1] = sine * last_row[k] + cosine * old;
    last_row[k] = cosine * last_row[k] - sine * old;
  });
  TridiagonalSpectrum spectrum{.eigenvalues = std::move(t.diagonal), .last_squared = {}};
  for (const double component : last_row) {
    spectrum.last_squared.push_back(component * component);
  }
  return spectrum;
}

}  // namespace hobnob
