#include "runtime/base/nearest_word.h"

#include <algorithm>
#include <numeric>

namespace hobnob {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_word(std::string_view word, const std::vector<std::string>& known) {
  std::string text = "unknown \"" + std::string(word) + "\" (known: ";
  for (std::size_t k = 0; k < known.size(); ++k) {
    text += (k == 0 ? "" : ", ") + known[k];
  }
  const std::string near = nearest_word(word, known);
  return text + ")" + (near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace hobnob
