#pragma once

#include <span>

#include "topology/mixing_matrix.h"

namespace hobnob {

// Whether the rounds, first to last, multiply to exactly J = 11'/n: every peer then holds the exact
// mean of all, as rationals. False of no rounds.
//
// A proof, not a sample. Let D be the product of the rounds' common denominators. An entry of the
// product is N / D with 0 <= N <= D, since all rounds are row stochastic (checked), so n N - D is
// an integer of magnitude at most n D; it is zero as soon as it is zero modulo primes whose product
// exceeds n D. The product is computed modulo as many 61-bit primes as that takes.
//
// False too when a round is not row stochastic, or more than kMaxPrimes would be needed.
// O(primes n m) over all rounds' m entries; (n, n) of memory.
bool averages_exactly(std::span<const MixingMatrix> rounds);

}  // namespace hobnob
