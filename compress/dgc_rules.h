#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compress/top_k_select.h"
#include "runtime/compute/vector.h"

// Deep Gradient Compression (Lin et al. 1712.01887): how its gradients are chosen, how dense they
// are in the first epochs, and the masking that its momentum correction needs.

namespace hobnob {

// select_dgc never chooses more.
constexpr std::size_t dgc_limit(std::size_t k) {
  return k + k * 3 / 10;
}

// About k values of large magnitude. The threshold is that of a strided sample of 1 % of the values
// (and of at least 2 count / k), multiplied by 1.3 or 0.8 up to ten times while more than 1.3 k or
// fewer than 0.8 k values reach it. If that does not do (ties, few that are not zero): exactly the
// k largest. `start` is where the sample begins, modulo its stride.
ChosenValues select_dgc(const Delta& delta, std::size_t k, std::uint64_t start);

// density^((epoch + 1) / (warmup_epochs + 1)), and `density` from epoch `warmup_epochs` on.
double dgc_density(double density, std::size_t epoch, std::size_t warmup_epochs);

// Sets target (count,) to zero where bit k of `mask` (64 to a word) is set: momentum and
// accumulated gradient of what was sent (section 3.2, "momentum factor masking").
void clear_marked(std::span<const std::uint64_t> mask, Vec target);

}  // namespace hobnob
