#include "topology/graph.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

Graph::Graph(std::size_t size, bool is_directed, std::vector<Edge> arcs)
    : size_(size), is_directed_(is_directed), offsets_(size + 1) {
  std::erase_if(arcs, [](const Edge& arc) { return arc.a == arc.b; });
  std::ranges::sort(arcs);
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  targets_.reserve(arcs.size());
  for (const Edge& arc : arcs) {
    HOBNOB_CHECK(arc.a < size && arc.b < size, "edge outside the graph");
    ++offsets_[arc.a + 1];
    targets_.push_back(arc.b);
  }
  for (std::size_t rank = 0; rank < size; ++rank) {
    offsets_[rank + 1] += offsets_[rank];
  }
}

Graph Graph::undirected(std::size_t size, std::vector<Edge> edges) {
  const std::size_t count = edges.size();
  edges.reserve(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    edges.push_back({.a = edges[k].b, .b = edges[k].a});
  }
  return {size, false, std::move(edges)};
}

Graph Graph::directed(std::size_t size, std::vector<Edge> arcs) {
  return {size, true, std::move(arcs)};
}

std::span<const std::uint32_t> Graph::neighbours(std::uint32_t rank) const {
  HOBNOB_CHECK(rank < size_, "rank outside the graph");
  return std::span(targets_).subspan(offsets_[rank], offsets_[rank + 1] - offsets_[rank]);
}

std::size_t Graph::max_degree() const {
  std::size_t most = 0;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    most = std::max(most, degree(rank));
  }
  return most;
}

std::vector<Graph::Edge> Graph::edges() const {
  std::vector<Edge> edges;
  edges.reserve(edge_count());
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    for (const std::uint32_t target : neighbours(rank)) {
      if (is_directed_ || rank < target) {
        edges.push_back({.a = rank, .b = target});
      }
    }
  }
  return edges;
}

bool Graph::is_symmetric() const {
  return !is_directed_ || *this == reversed();
}

bool Graph::is_connected() const {
  return !unreached() && (!is_directed_ || !reversed().unreached());
}

std::optional<std::uint32_t> Graph::unreached() const {
  if (size_ == 0) {
    return std::nullopt;
  }
  std::vector<bool> is_reached(size_);
  std::vector<std::uint32_t> frontier{0};
  is_reached[0] = true;
  while (!frontier.empty()) {
    const std::uint32_t rank = frontier.back();
    frontier.pop_back();
    for (const std::uint32_t target : neighbours(rank)) {
      if (!is_reached[target]) {
        is_reached[target] = true;
        frontier.push_back(target);
      }
    }
  }
  const auto missing = std::ranges::find(is_reached, false);
  if (missing == is_reached.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(missing - is_reached.begin());
}

Graph Graph::reversed() const {
  std::vector<Edge> arcs;
  arcs.reserve(targets_.size());
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    for (const std::uint32_t target : neighbours(rank)) {
      arcs.push_back({.a = target, .b = rank});
    }
  }
  return {size_, is_directed_, std::move(arcs)};
}

}  // namespace hobnob
