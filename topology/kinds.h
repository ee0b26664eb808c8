#pragma once

#include <cstdint>
#include <memory>

#include "topology/schedule.h"

// The implementations that make_schedule() chooses from.

namespace hobnob {

std::unique_ptr<Schedule> make_ring();
std::unique_ptr<Schedule> make_complete();
// i ~ j when j - i = +-2^l modulo n, 2^l < n: about 2 log2 n neighbours.
std::unique_ptr<Schedule> make_exponential();
// Random pairs, new ones every round, that change little when the view does.
std::unique_ptr<Schedule> make_trie_pairs(std::uint64_t seed);

}  // namespace hobnob
