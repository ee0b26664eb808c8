#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topology/sparse_matrix.h"

namespace hobnob {

// For every peer of a round the number of peers in its group, or 0. A group is a set of peers that
// all replace their value by the mean of the set; a matched pair is one of two, an idle peer one of
// one.
std::vector<std::uint32_t> group_sizes(const SparseMatrix& matrix);

// Model-sized vectors that a peer sends in a round, on average: one per receiver, but in a group of
// g the cheaper of g - 1 and 2 (g - 1) / g (reduce-scatter and all-gather).
double vectors_per_peer(const SparseMatrix& matrix);

// The most receivers of any peer.
std::size_t max_out_degree(const SparseMatrix& matrix);

// What a round makes of the block `x`, (n, columns) row by row, when some peers are unreachable for
// all of it. Sums over the peers are kept exactly:
//   groups: those who are left average among themselves;
//   other symmetric rounds: an edge with an unreachable end is skipped, both keep their weight;
//   directed rounds: push-sum (Kempe et al. 2003) with acknowledgements. A peer sends 1 / (1 + its
//   receivers) of its value to each and keeps what was not acknowledged. The value then stands for
//   nothing alone: carry a column of ones through the same rounds and divide by it.
std::vector<double> apply_with_unreachable(const SparseMatrix& matrix,
                                           const std::vector<bool>& is_unreachable,
                                           std::span<const double> x,
                                           std::size_t columns);

}  // namespace hobnob
