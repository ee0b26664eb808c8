#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hobnob {

// The candidate with the least edit distance to `word`, or empty when none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

// unknown "rng" (known: ring, torus); did you mean ring?
std::string unknown_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace hobnob
