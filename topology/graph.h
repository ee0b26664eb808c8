#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hobnob {

// What a user may name in a file or ask for as a whole; bounds memory before it is reserved.
inline constexpr std::size_t kMaxGraphNodes = 100'000;
inline constexpr std::size_t kMaxGraphEdges = 4'000'000;

// A simple graph of the ranks 0 .. size - 1, undirected or directed, in compressed rows with sorted
// neighbours. Immutable value.
class Graph {
 public:
  struct Edge {
    std::uint32_t a = 0;
    std::uint32_t b = 0;  // undirected: a < b; directed: a sends to b

    auto operator<=>(const Edge&) const = default;
  };

  // No ranks.
  Graph() = default;

  // Ends in any order, edges in any order; self loops and repetitions are dropped. O(m log m).
  static Graph undirected(std::size_t size, std::vector<Edge> edges);
  static Graph directed(std::size_t size, std::vector<Edge> arcs);

  std::size_t size() const { return size_; }

  bool is_directed() const { return is_directed_; }

  // Ascending; whom `rank` sends to when directed.
  std::span<const std::uint32_t> neighbours(std::uint32_t rank) const;

  // Of neighbours(rank).
  std::size_t degree(std::uint32_t rank) const { return neighbours(rank).size(); }

  std::size_t max_degree() const;

  // m: every undirected edge counts once.
  std::size_t edge_count() const { return is_directed_ ? targets_.size() : targets_.size() / 2; }

  // All edges in ascending order; vectors "per edge" are aligned with it. O(m).
  std::vector<Edge> edges() const;

  // Every arc has its reverse.
  bool is_symmetric() const;

  // Directed: strongly. True for no ranks and for one. O(n + m).
  bool is_connected() const;

  // The least rank that no path from rank 0 reaches. O(n + m).
  std::optional<std::uint32_t> unreached() const;

  // Every arc turned around.
  Graph reversed() const;

  bool operator==(const Graph&) const = default;

 private:
  Graph(std::size_t size, bool is_directed, std::vector<Edge> arcs);

  std::size_t size_ = 0;
  bool is_directed_ = false;
  std::vector<std::size_t> offsets_{0};  // size_ + 1: row of rank r is targets_[offsets_[r] ..]
  std::vector<std::uint32_t> targets_;   // both directions of an undirected edge
};

}  // namespace hobnob
