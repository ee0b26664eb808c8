#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "topology/mixing_matrix.h"

// The lines of a user's graph as numbers, for graph_file.cc, which says what they mean together.

namespace hobnob {

struct GraphText {
  struct Entry {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Weight weight;  // 0 / 1: none
    std::uint32_t line = 0;
  };

  std::vector<Entry> entries;  // in order of the text
  std::uint32_t size = 0;      // the largest number plus one
  bool is_directed = false;
  bool is_adjacency = false;
  bool has_weights = false;
};

// Refuses, with the line: what is no number, a node from kMaxGraphNodes on, more than
// kMaxGraphEdges entries, weights on a part of the entries only, a self loop where there is no
// diagonal, a second row of one node, two forms mixed. O(text).
Result<GraphText> read_graph_text(std::string_view text, const std::string& name);

// A fraction or a short decimal in (0, 1], in lowest terms; 0 / 1 when `token` is none.
Weight parse_weight(std::string_view token);

}  // namespace hobnob
