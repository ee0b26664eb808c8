#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "topology/graph.h"
#include "topology/mixing_matrix.h"

namespace hobnob {

inline constexpr std::size_t kMaxGraphTextBytes = 32U << 20U;

// A graph as a user wrote it, perhaps with weights.
struct GraphFile {
  Graph graph;
  // Per edge of graph.edges(), or empty when the text has none. Undirected: rows sum to at most 1,
  // the rest is w_ii. Directed: what `a` sends to `b`, W[b][a].
  std::vector<Weight> weights;
  // (n,) the diagonal of a directed graph with weights: each node's own and sent shares sum to 1.
  std::vector<Weight> self_weights;
};

// The user's graph of ranks 0 .. n - 1, n the largest number plus one; `name` of the text is in the
// errors. One of two forms, `#` starts a comment:
//   edge list   "i j" or "i j weight" a line, one line per edge
//   adjacency   "i: j k l" or "i: j=weight k=weight" a line, every edge in the rows of both ends
// "directed" as the first line makes every edge an arc from i to j; then weights are the shares
// that i sends, "i i weight" (or "i: i=weight") is the share it keeps, and they sum to 1. A weight
// is a fraction such as 1/3 or a decimal of up to 9 places, above 0 and at most 1; all edges have
// one or none has. The graph must be connected (strongly when directed). Every refusal is one
// sentence with the line or the nodes. O(text log text); memory in proportion to the text, after
// its limits.
Result<GraphFile> parse_graph(std::string_view text, std::string_view name);

}  // namespace hobnob
