#pragma once

#include <cstddef>
#include <vector>

namespace hobnob {

// Of a dense real symmetric matrix; for offline analysis, never for a plan.
struct SymmetricEigen {
  std::vector<double> values;   // (n,) ascending
  std::vector<double> vectors;  // (n, n) row k is the unit eigenvector of values[k]; or empty
};

// `matrix` is (n, n), finite, symmetric (only consistency is assumed, both halves are read). Errors
// about 1e-15 of the largest |value|. Householder tridiagonalisation and implicit QL (Golub and Van
// Loan, Matrix Computations, 8.3). O(n^3): about 9 n^3 operations.
SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::size_t n);

// The values alone, about 8/3 n^3 operations.
std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n);

// Eigenvalues of the symmetric tridiagonal matrix with `diagonal` (n) and `off_diagonal` (n - 1),
// in no order, and beside each the square of the last component of its unit eigenvector: what an
// iteration that grows the matrix needs to bound its error. O(n^2).
struct TridiagonalSpectrum {
  std::vector<double> eigenvalues;
  std::vector<double> last_squared;
};

TridiagonalSpectrum tridiagonal_spectrum(std::vector<double> diagonal,
                                         std::vector<double> off_diagonal);

}  // namespace hobnob
