#pragma once

#include <cstdint>
#include <vector>

#include "topology/rational.h"

namespace hobnob {

// One round of CECA-2P (Ding et al., "DSGD-CECA", 2023, arXiv 2306.00256): the exact mean of any n
// in ceil(log2 n) rounds of one message sent and one received. Two buffers per peer: after some
// rounds, with k growing from 0 to n - 1, `wide` is the mean of x_i, x_(i-1), ... x_(i-k) and
// `narrow` the mean of x_(i-1) ... x_(i-k), both x_i at the start (k = 0, narrow empty).
//
// Each peer i sends one of its buffers to i + shift and gets m, the same buffer of i - shift:
//   wide   <- (1 - wide_in) wide + wide_in m
//   narrow <- (1 - narrow_in) narrow + narrow_in m
// Every gradient step has to be added to both. Not doubly stochastic on either buffer by itself
// unless n is a power of 2, so a lost message costs weight.
struct CecaRound {
  std::uint32_t shift = 1;
  bool sends_wide = true;
  Weight wide_in;
  Weight narrow_in;
};

// All rounds for `size` peers; none for size <= 1. They follow the bits of size - 1 from the top.
std::vector<CecaRound> ceca_rounds(std::uint32_t size);

// Runs the rounds on all `size` peers with what each buffer holds the mean of as its state: an
// interval of items modulo `size`. True when every message continues the interval it is merged
// with, every weight is the message's share of the items (so that the merged value is the mean of
// the union), and each `wide` ends with each item exactly once. O(n log n).
bool ceca_averages_exactly(std::uint32_t size);

}  // namespace hobnob
