#include "topology/graph_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "topology/graph_text.h"
#include "topology/rational.h"

namespace hobnob {

namespace {

using Entry = GraphText::Entry;

Error refusal(const std::string& name, const std::string& problem) {
  return make_error(ErrorCode::kInvalidArgument, "%s: %s", name.c_str(), problem.c_str());
}

std::string fraction(const Weight& weight) {
  return format("%u/%u", weight.numerator, weight.denominator);
}

std::pair<std::uint32_t, std::uint32_t> ends_of(const Entry& entry) {
  return {entry.from, entry.to};
}

// Sorts by (from, to), an undirected edge as from < to, and drops repetitions that agree.
Result<void> merge_repetitions(GraphText& text, const std::string& name) {
  std::vector<Entry>& entries = text.entries;
  if (!text.is_directed && !text.is_adjacency) {
    for (Entry& entry : entries) {
      std::tie(entry.from, entry.to) = std::minmax({entry.from, entry.to});
    }
  }
  std::ranges::stable_sort(entries, {}, ends_of);
  const auto repeats = [](const Entry& one, const Entry& other) {
    return ends_of(one) == ends_of(other);
  };
  const auto differs = [&](const Entry& one, const Entry& other) {
    return repeats(one, other) && !(one.weight == other.weight);
  };
  if (const auto one = std::ranges::adjacent_find(entries, differs); one != entries.end()) {
    return refusal(name, format("edge %u %u has weight %s in line %u and %s in line %u; keep one",
                                one->from, one->to, fraction(one->weight).c_str(), one->line,
                                fraction(one[1].weight).c_str(), one[1].line));
  }
  entries.erase(std::unique(entries.begin(), entries.end(), repeats), entries.end());
  return {};
}

// Every edge of an undirected adjacency is in both rows with one weight; keeps from < to.
Result<void> merge_directions(std::vector<Entry>& entries, const std::string& name) {
  for (const Entry& entry : entries) {
    const std::pair back{entry.to, entry.from};
    const auto other = std::ranges::lower_bound(entries, back, {}, ends_of);
    if (other == entries.end() || ends_of(*other) != back) {
      return refusal(name, format("node %u lists %u in line %u, and node %u does not list %u; add "
                                  "it, or begin with the line \"directed\"",
                                  entry.from, entry.to, entry.line, entry.to, entry.from));
    }
    if (!(other->weight == entry.weight)) {
      return refusal(name, format("edge %u %u has weight %s in line %u and %s in line %u; an "
                                  "undirected edge has one",
                                  entry.from, entry.to, fraction(entry.weight).c_str(), entry.line,
                                  fraction(other->weight).c_str(), other->line));
    }
  }
  std::erase_if(entries, [](const Entry& entry) { return entry.from > entry.to; });
  return {};
}

Result<void> check_connected(const Graph& graph, const std::string& name) {
  if (graph.size() <= 1) {
    return {};
  }
  std::vector<bool> is_joined(graph.size());
  for (const Graph::Edge& edge : graph.edges()) {
    is_joined[edge.a] = true;
    is_joined[edge.b] = true;
  }
  if (const auto alone = std::ranges::find(is_joined, false); alone != is_joined.end()) {
    return refusal(name,
                   format("node %td has no edge; node numbers run from 0 to %zu without a gap",
                          alone - is_joined.begin(), graph.size() - 1));
  }
  if (const auto rank = graph.unreached()) {
    return refusal(name,
                   format("node %u cannot be reached from node 0; every node must be", *rank));
  }
  if (const auto rank = graph.is_directed() ? graph.reversed().unreached() : std::nullopt) {
    return refusal(
        name, format("node 0 cannot be reached from node %u; it must be from every node", *rank));
  }
  return {};
}

// Undirected: no row above 1. Directed: what a node keeps and sends is 1.
Result<void> check_sums(const GraphFile& file, const std::string& name) {
  const bool is_directed = file.graph.is_directed();
  std::vector<ExactSum> sums(file.graph.size());
  const std::vector<Graph::Edge> edges = file.graph.edges();
  for (std::size_t k = 0; k < edges.size(); ++k) {
    sums[edges[k].a].add(file.weights[k]);
    if (!is_directed) {
      sums[edges[k].b].add(file.weights[k]);
    }
  }
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    ExactSum& sum = sums[rank];
    if (is_directed) {
      sum.add(file.self_weights[rank]);
    }
    if (!sum.is_exact()) {
      return refusal(name, format("weights of node %zu have no common denominator below 2^127; use "
                                  "fractions with equal denominators",
                                  rank));
    }
    if (is_directed && !sum.is_one()) {
      return refusal(name, format("shares that node %zu sends and keeps sum to %.9g, not 1 (column "
                                  "%zu of W); what it keeps is a line \"%zu %zu weight\"",
                                  rank, sum.value(), rank, rank, rank));
    }
    if (sum.numerator() > sum.denominator()) {
      return refusal(name, format("weights of node %zu sum to %.9g, more than 1 (row %zu of W)",
                                  rank, sum.value(), rank));
    }
  }
  return {};
}

// The graph of sorted entries.
GraphFile file_of(const GraphText& text) {
  GraphFile file;
  if (text.is_directed && text.has_weights) {
    file.self_weights.resize(text.size);
  }
  std::vector<Graph::Edge> edges;
  for (const Entry& entry : text.entries) {
    if (entry.from == entry.to) {
      file.self_weights[entry.from] = entry.weight;
      continue;
    }
    edges.push_back({.a = entry.from, .b = entry.to});
    if (text.has_weights) {
      file.weights.push_back(entry.weight);
    }
  }
  file.graph = text.is_directed ? Graph::directed(text.size, std::move(edges))
                                : Graph::undirected(text.size, std::move(edges));
  return file;
}

}  // namespace

Result<GraphFile> parse_graph(std::string_view text, std::string_view name) {
  const std::string label(name);
  if (text.size() > kMaxGraphTextBytes) {
    return refusal(label,
                   format("%zu bytes; a graph has at most %zu", text.size(), kMaxGraphTextBytes));
  }
  Result<GraphText> read = read_graph_text(text, label);
  if (!read.ok()) {
    return read.error();
  }
  GraphText& content = read.value();
  if (content.size == 0) {
    return refusal(label, "no edges; write one \"i j\" a line, nodes numbered from 0");
  }
  if (const Result<void> merged = merge_repetitions(content, label); !merged.ok()) {
    return merged.error();
  }
  if (content.is_adjacency && !content.is_directed) {
    if (const Result<void> merged = merge_directions(content.entries, label); !merged.ok()) {
      return merged.error();
    }
  }
  GraphFile file = file_of(content);
  if (const Result<void> connected = check_connected(file.graph, label); !connected.ok()) {
    return connected.error();
  }
  if (content.has_weights) {
    if (const Result<void> sums = check_sums(file, label); !sums.ok()) {
      return sums.error();
    }
  }
  return file;
}

}  // namespace hobnob
