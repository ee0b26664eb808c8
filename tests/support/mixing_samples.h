#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/rng.h"
#include "topology/mixing_sequence.h"
#include "topology/sparse_matrix.h"

// Schedules in a few lines each, built apart from the shipped ones.

namespace hobnob::samples {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Groups = std::vector<std::vector<std::uint32_t>>;

// Metropolis-Hastings weights on an undirected graph; edges given twice count once.
inline SparseMatrix metropolis(std::size_t size, Edges edges) {
  for (auto& [a, b] : edges) {
    std::tie(a, b) = std::minmax({a, b});
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<double> degree(size, 0.0);
  for (const auto& [a, b] : edges) {
    degree[a] += 1.0;
    degree[b] += 1.0;
  }
  std::vector<SparseMatrix::Entry> entries;
  for (std::uint32_t k = 0; k < size; ++k) {
    entries.push_back({.row = k, .column = k, .value = 1.0});
  }
  for (const auto& [a, b] : edges) {
    const double weight = 1.0 / (1.0 + std::max(degree[a], degree[b]));
    entries.push_back({.row = a, .column = b, .value = weight});
    entries.push_back({.row = b, .column = a, .value = weight});
    entries.push_back({.row = a, .column = a, .value = -weight});
    entries.push_back({.row = b, .column = b, .value = -weight});
  }
  return {size, std::move(entries)};
}

// Everybody in a group takes its mean; whoever is in none is idle.
inline SparseMatrix averaging(std::size_t size, const Groups& groups) {
  std::vector<SparseMatrix::Entry> entries;
  std::vector<bool> is_grouped(size, false);
  for (const auto& group : groups) {
    for (const std::uint32_t row : group) {
      is_grouped[row] = true;
      for (const std::uint32_t column : group) {
        entries.push_back(
            {.row = row, .column = column, .value = 1.0 / static_cast<double>(group.size())});
      }
    }
  }
  for (std::uint32_t k = 0; k < size; ++k) {
    if (!is_grouped[k]) {
      entries.push_back({.row = k, .column = k, .value = 1.0});
    }
  }
  return {size, std::move(entries)};
}

// Equal weights on the own value and on what comes from i - shift.
inline SparseMatrix circulant(std::uint32_t size, const std::vector<std::uint32_t>& shifts) {
  const double weight = 1.0 / (1.0 + static_cast<double>(shifts.size()));
  std::vector<SparseMatrix::Entry> entries;
  for (std::uint32_t row = 0; row < size; ++row) {
    entries.push_back({.row = row, .column = row, .value = weight});
    for (const std::uint32_t shift : shifts) {
      entries.push_back({.row = row, .column = (row + size - shift) % size, .value = weight});
    }
  }
  return {size, std::move(entries)};
}

inline std::uint32_t ceil_log2(std::uint32_t size) {
  std::uint32_t bits = 0;
  while ((std::uint64_t{1} << bits) < size) {
    ++bits;
  }
  return bits;
}

inline MixingSequence fixed(SparseMatrix matrix) {
  const std::size_t size = matrix.size();
  return {size, 1, [matrix = std::move(matrix)](std::uint64_t) { return matrix; }};
}

inline MixingSequence ring(std::uint32_t size) {
  return fixed(circulant(size, {1, size - 1}));
}

inline MixingSequence complete(std::uint32_t size) {
  std::vector<std::uint32_t> all(size);
  std::iota(all.begin(), all.end(), 0U);
  return fixed(averaging(size, {all}));
}

inline MixingSequence star(std::uint32_t size) {
  Edges edges;
  for (std::uint32_t leaf = 1; leaf < size; ++leaf) {
    edges.push_back({0, leaf});
  }
  return fixed(metropolis(size, edges));
}

inline MixingSequence torus(std::uint32_t rows, std::uint32_t columns) {
  Edges edges;
  for (std::uint32_t k = 0; k < rows * columns; ++k) {
    edges.push_back({k, k / columns * columns + (k + 1) % columns});
    edges.push_back({k, (k + columns) % (rows * columns)});
  }
  return fixed(metropolis(rows * columns, edges));
}

inline MixingSequence hypercube(std::uint32_t size) {
  Edges edges;
  for (std::uint32_t k = 0; k < size; ++k) {
    for (std::uint32_t bit = 1; bit < size; bit *= 2) {
      if ((k ^ bit) < size) {
        edges.push_back({k, k ^ bit});
      }
    }
  }
  return fixed(metropolis(size, edges));
}

inline MixingSequence static_exponential(std::uint32_t size) {
  std::vector<std::uint32_t> shifts;
  for (std::uint32_t shift = 1; shift < size; shift *= 2) {
    shifts.push_back(shift);
  }
  return fixed(circulant(size, shifts));
}

inline MixingSequence one_peer_exponential(std::uint32_t size) {
  const std::uint32_t period = ceil_log2(size);
  return {size, period,
          [=](std::uint64_t round) { return circulant(size, {1U << (round % period)}); }};
}

inline MixingSequence one_peer_hypercube(std::uint32_t size) {
  const std::uint32_t period = ceil_log2(size);
  return {size, period, [=](std::uint64_t round) {
            const std::uint32_t bit = 1U << (round % period);
            Groups pairs;
            for (std::uint32_t k = 0; k < size; ++k) {
              if ((k & bit) == 0 && (k | bit) < size) {
                pairs.push_back({k, k | bit});
              }
            }
            return averaging(size, pairs);
          }};
}

// Groups along one digit of the peer's number per round, most significant digit last.
inline MixingSequence grid(const std::vector<std::uint32_t>& dimensions) {
  const std::uint32_t size =
      std::accumulate(dimensions.begin(), dimensions.end(), 1U, std::multiplies<>());
  return {size, dimensions.size(), [=](std::uint64_t round) {
            const std::size_t digit = round % dimensions.size();
            const std::uint32_t stride = std::accumulate(
                dimensions.begin(), dimensions.begin() + static_cast<std::ptrdiff_t>(digit), 1U,
                std::multiplies<>());
            Groups groups;
            for (std::uint32_t k = 0; k < size; ++k) {
              if (k / stride % dimensions[digit] == 0) {
                groups.emplace_back();
                for (std::uint32_t a = 0; a < dimensions[digit]; ++a) {
                  groups.back().push_back(k + a * stride);
                }
              }
            }
            return averaging(size, groups);
          }};
}

inline std::vector<std::uint32_t> shuffled(std::uint32_t size, std::uint64_t stream) {
  Rng rng({.seed = 17, .stream = mix64(stream)});
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t k = size; k > 1; --k) {
    std::swap(order[k - 1], order[rng.below(k)]);
  }
  return order;
}

// A shuffle cut into groups of `group`; the last takes the rest if that is under half a group.
inline MixingSequence random_groups(std::uint32_t size, std::uint32_t group) {
  return {size, 0, [=](std::uint64_t round) {
            Groups groups;
            for (const std::uint32_t peer : shuffled(size, round)) {
              if (groups.empty() || groups.back().size() == group) {
                groups.emplace_back();
              }
              groups.back().push_back(peer);
            }
            if (groups.size() > 1 && 2 * groups.back().size() < group) {
              Groups::value_type& previous = groups[groups.size() - 2];
              previous.insert(previous.end(), groups.back().begin(), groups.back().end());
              groups.pop_back();
            }
            return averaging(size, groups);
          }};
}

// The union of degree / 2 random Hamiltonian cycles.
inline MixingSequence expander(std::uint32_t size, std::uint32_t degree) {
  Edges edges;
  for (std::uint32_t cycle = 0; cycle < degree / 2; ++cycle) {
    const std::vector<std::uint32_t> order = shuffled(size, 1000 + cycle);
    for (std::uint32_t k = 0; k < size; ++k) {
      edges.push_back({order[k], order[(k + 1) % size]});
    }
  }
  return fixed(metropolis(size, edges));
}

// Lower half r with upper half (r + round) mod n/2: matchings in cyclic order, which mix badly.
inline MixingSequence shift_one(std::uint32_t size) {
  const std::uint32_t half = size / 2;
  return {size, half, [=](std::uint64_t round) {
            Groups pairs;
            for (std::uint32_t k = 0; k < half; ++k) {
              pairs.push_back({k, half + (k + static_cast<std::uint32_t>(round)) % half});
            }
            return averaging(size, pairs);
          }};
}

}  // namespace hobnob::samples
