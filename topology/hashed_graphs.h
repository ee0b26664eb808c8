#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topology/graph.h"
#include "topology/graph_kinds.h"
#include "topology/view.h"

// The graphs whose edges are drawn by hash, for graph_kinds.cc to choose from: each whole, and from
// the place of one rank. Edges and neighbours come in any order, perhaps twice, perhaps with self.

namespace hobnob {

// One rank of one graph. Borrows.
struct Place {
  const GraphConfig& config;
  const MembershipView& view;
  std::uint32_t self = 0;

  std::uint64_t size() const { return view.size(); }

  // The rank `hop` places further, or back, around the ring of all ranks; hop <= size.
  std::uint32_t after(std::uint64_t hop) const {
    return static_cast<std::uint32_t>((self + hop) % size());
  }

  std::uint32_t before(std::uint64_t hop) const {
    return static_cast<std::uint32_t>((self + size() - hop) % size());
  }
};

// 0 .. size - 1.
std::vector<std::uint32_t> all_ranks(std::size_t size);

std::vector<std::uint32_t> expander_neighbours(const Place& at);
std::vector<Graph::Edge> expander_edges(const GraphConfig& config, const MembershipView& view);

std::vector<std::uint32_t> erdos_renyi_neighbours(const Place& at);
std::vector<Graph::Edge> erdos_renyi_edges(const GraphConfig& config, const MembershipView& view);

std::vector<std::uint32_t> small_world_neighbours(const Place& at);
std::vector<Graph::Edge> small_world_edges(const GraphConfig& config, const MembershipView& view);

}  // namespace hobnob
