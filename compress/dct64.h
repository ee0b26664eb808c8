#pragma once

#include <cstddef>

// The orthonormal discrete cosine transform of 64 values, DCT-II, and its inverse:
//
//   X_k = sum_n C_kn x_n    C_kn = sqrt(1/32) cos(pi (2n + 1) k / 128), and 1/8 for k = 0
//
// The same bits on every machine: the cosines are constants, and each sum has one order. Even and
// odd k are taken apart (sums and differences of x_n and x_63-n), and the even ones again, down to
// one value; each odd half is a matrix product that begins with the product of its first input and
// adds the others in turn, every product and every sum rounded.

namespace hobnob {

constexpr std::size_t kDctCount = 64;

// coefficients (64 x chunks,) of values (64 x chunks,), in natural order. Not in place.
void dct64_forward(const float* values, float* coefficients, std::size_t chunks);
void dct64_inverse(const float* coefficients, float* values, std::size_t chunks);

}  // namespace hobnob
