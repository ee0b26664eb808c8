#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Low-rank approximation of a matrix in float32, the same bits on every machine: sums have a fixed
// order.

namespace hobnob {

struct Matrix {
  std::span<const float> values;  // (rows, columns) row by row; zeros follow when it ends early
  std::size_t rows = 0;
  std::size_t columns = 0;
};

// An orthonormal P (rank, rows), row k being column k, close to the matrix's main left singular
// vectors: two steps of subspace iteration from Q of the key (Halko, Martinsson, Tropp 0909.4061,
// algorithm 4.4). A row is zero where the matrix has a lower rank. Values are below 2^97.
std::vector<float> left_factor(const Matrix& matrix, std::size_t rank, std::uint64_t key);

// Q (rank, columns) with the least |D - P^T Q|: Q = (P P^T)^-1 P D, of any P (rank, rows).
std::vector<float> right_factor(const Matrix& matrix, std::span<const float> p, std::size_t rank);

}  // namespace hobnob
