#include "topology/trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <span>

#include "runtime/base/hash.h"

namespace hobnob {

namespace {

using Ranks = std::vector<std::uint32_t>;
constexpr int kBits = 64;

// The highest bit of a word that is not zero.
int top_bit(std::uint64_t word) {
  return kBits - 1 - std::countl_zero(word);
}

// Of sorted leaves with different hashes: how many are in child 0 of the node where they part.
std::size_t split(std::span<const TrieLeaf> leaves) {
  const std::uint64_t mask = std::uint64_t{1} << top_bit(leaves.front().hash ^ leaves.back().hash);
  const auto first = std::ranges::partition_point(
      leaves, [&](const TrieLeaf& leaf) { return (leaf.hash & mask) == 0; });
  return static_cast<std::size_t>(first - leaves.begin());
}

void cut_front(Ranks& queue, std::uint32_t count) {
  queue.erase(queue.begin(), queue.begin() + count);
}

// Who of sorted leaves is left over; the groups go to `formed`. At most 64 calls deep: the leaves
// of a call agree in one bit more.
Ranks climb(std::span<const TrieLeaf> leaves, std::uint32_t g, std::vector<Ranks>& formed) {
  Ranks queue;
  if (leaves.empty()) {
    return queue;
  }
  if (leaves.front().hash == leaves.back().hash) {
    for (const TrieLeaf& leaf : leaves) {
      queue.push_back(leaf.rank);
    }
  } else {
    const std::size_t zeros = split(leaves);
    queue = climb(leaves.first(zeros), g, formed);
    std::ranges::copy(climb(leaves.subspan(zeros), g, formed), std::back_inserter(queue));
  }
  while (queue.size() >= g) {
    formed.emplace_back(queue.begin(), queue.begin() + g);
    cut_front(queue, g);
  }
  return queue;
}

void cut(std::span<const TrieLeaf> leaves, std::uint32_t most, std::vector<Ranks>& buckets) {
  const bool are_equal = leaves.empty() || leaves.front().hash == leaves.back().hash;
  if (leaves.size() > most && !are_equal) {
    const std::size_t zeros = split(leaves);
    cut(leaves.first(zeros), most, buckets);
    cut(leaves.subspan(zeros), most, buckets);
    return;
  }
  for (std::size_t start = 0; start < leaves.size(); start += most) {
    Ranks& bucket = buckets.emplace_back();
    for (std::size_t k = start; k < std::min<std::size_t>(start + most, leaves.size()); ++k) {
      bucket.push_back(leaves[k].rank);
    }
  }
}

// What one peer's way from its leaf to the root passes.
struct Path {
  Ranks equals;           // hashes equal to self's, self included, in order of rank
  std::size_t place = 0;  // of self among them
  std::array<std::size_t, kBits> siblings{};  // leaves that part from the path at each bit
};

Path path_of(const std::vector<TrieLeaf>& leaves, std::size_t self) {
  Path path;
  const std::uint64_t own = leaves[self].hash;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const std::uint64_t differing = leaves[k].hash ^ own;
    if (differing != 0) {
      ++path.siblings[static_cast<std::size_t>(top_bit(differing))];
      continue;
    }
    if (k == self) {
      path.place = path.equals.size();
    }
    path.equals.push_back(leaves[k].rank);
  }
  return path;
}

// Members start .. start + g - 1 of the ranks, fewer at the end.
Ranks chunk(const Ranks& ranks, std::size_t start, std::uint32_t g) {
  const std::size_t end = std::min<std::size_t>(start + g, ranks.size());
  return {ranks.begin() + static_cast<std::ptrdiff_t>(start),
          ranks.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Who is left over in the subtree that parts from leaves[self]'s path at `bit`.
Ranks siblings_left(const std::vector<TrieLeaf>& leaves,
                    std::uint64_t own,
                    int bit,
                    std::uint32_t g) {
  std::vector<TrieLeaf> siblings;
  for (const TrieLeaf& leaf : leaves) {
    if (leaf.hash != own && top_bit(leaf.hash ^ own) == bit) {
      siblings.push_back(leaf);
    }
  }
  std::ranges::sort(siblings);
  std::vector<Ranks> formed;
  return climb(siblings, g, formed);
}

}  // namespace

std::vector<TrieLeaf> trie_leaves(const MembershipView& view,
                                  std::uint64_t seed,
                                  std::uint64_t round) {
  std::vector<TrieLeaf> leaves;
  leaves.reserve(view.size());
  for (const PeerId& peer : view.peers()) {
    leaves.push_back({.hash = hash3(seed, round, peer.key()),
                      .rank = static_cast<std::uint32_t>(leaves.size())});
  }
  return leaves;
}

std::vector<Ranks> trie_groups(std::vector<TrieLeaf> leaves, std::uint32_t g) {
  std::ranges::sort(leaves);
  std::vector<Ranks> formed;
  Ranks last = climb(leaves, g, formed);
  if (!last.empty()) {
    formed.push_back(std::move(last));
  }
  return formed;
}

Ranks trie_group(const std::vector<TrieLeaf>& leaves, std::size_t self, std::uint32_t g) {
  const Path path = path_of(leaves, self);
  const std::size_t start = path.place / g * g;
  Ranks queue = chunk(path.equals, start, g);  // the one that self is in
  const std::uint64_t own = leaves[self].hash;
  for (int bit = 0; bit < kBits && queue.size() < g; ++bit) {
    // As many of a subtree are left over as do not fill a group.
    if (path.siblings[static_cast<std::size_t>(bit)] % g == 0) {
      continue;
    }
    Ranks others = siblings_left(leaves, own, bit, g);
    if ((own >> bit & 1U) != 0) {
      queue.swap(others);
    }
    queue.insert(queue.end(), others.begin(), others.end());
    if (queue.size() < g) {
      continue;
    }
    const std::uint32_t rank = leaves[self].rank;
    if (std::find(queue.begin(), queue.begin() + g, rank) != queue.begin() + g) {
      queue.resize(g);
    } else {
      cut_front(queue, g);
    }
  }
  return queue;
}

std::vector<Ranks> trie_buckets(std::vector<TrieLeaf> leaves, std::uint32_t most) {
  std::ranges::sort(leaves);
  std::vector<Ranks> buckets;
  cut(leaves, most, buckets);
  return buckets;
}

Ranks trie_bucket(const std::vector<TrieLeaf>& leaves, std::size_t self, std::uint32_t most) {
  const Path path = path_of(leaves, self);
  std::size_t size = path.equals.size();
  if (size > most) {
    return chunk(path.equals, path.place / most * most, most);
  }
  // The largest subtree around self that fits, and with it the first bit that may differ.
  int bits = 0;
  for (int bit = 0; bit < kBits; ++bit) {
    size += path.siblings[static_cast<std::size_t>(bit)];
    if (size > most) {
      break;
    }
    bits = bit + 1;
  }
  Ranks bucket;
  for (const TrieLeaf& leaf : leaves) {
    const std::uint64_t differing = leaf.hash ^ leaves[self].hash;
    if (differing == 0 || top_bit(differing) < bits) {
      bucket.push_back(leaf.rank);
    }
  }
  return bucket;
}

}  // namespace hobnob
