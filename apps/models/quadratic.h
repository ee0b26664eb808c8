#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gossip/workload.h"
#include "runtime/base/result.h"

namespace hobnob {

using Rows = std::vector<std::vector<double>>;

// Peer i minimises f_i(x) = 1/2 sum_k A_ik (x_k - B_ik)^2, in float64, with exact gradients, from x
// = 0. Knows all rows, so that evaluate() is the mean of all f_i and optimum() its minimiser. A =
// curvature, B = target, both (peers, d); A >= 0, and every column of A has a positive sum. Fails
// when they are not so, or `row` is not in them.
Result<std::unique_ptr<Workload>> make_quadratic(Rows curvature, Rows target, std::size_t row);

}  // namespace hobnob
