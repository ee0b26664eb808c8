#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topology/view.h"

namespace hobnob {

// Ordered as the trie is: by hash, equal hashes by rank.
struct TrieLeaf {
  std::uint64_t hash = 0;
  std::uint32_t rank = 0;

  auto operator<=>(const TrieLeaf&) const = default;
};

// hash3(seed, round, id) of every peer, in rank order. O(n).
std::vector<TrieLeaf> trie_leaves(const MembershipView& view,
                                  std::uint64_t seed,
                                  std::uint64_t round);

// Groups of `g` >= 2, formed in the binary trie of the hashes, bit 63 first: at every node those
// whom child 0 and then child 1 left over queue up, the first g of the queue are a group, and the
// fewer than g others go up. Who is left at the root is the last, smaller group. Equal hashes queue
// in the order of rank. A join or a leave moves only the groups on its own path, so peers whose
// views differ a little still agree on nearly all groups.
//
// All of them, members in queue order, one of a single peer included. Leaves in any order.
// O(n log n).
std::vector<std::vector<std::uint32_t>> trie_groups(std::vector<TrieLeaf> leaves, std::uint32_t g);
// The one that leaves[self] is in. Leaves in rank order. O(n) expected over the hashes: only the
// subtrees that self meets on its way up are built, and the chance to get up to one of m leaves is
// below g / m.
std::vector<std::uint32_t> trie_group(const std::vector<TrieLeaf>& leaves,
                                      std::size_t self,
                                      std::uint32_t g);

// Buckets of at most `most` >= 1: a subtree with more is cut into its children's. They change even
// less when the view does, but have only 0.69 `most` members on average, and some a single one.
std::vector<std::vector<std::uint32_t>> trie_buckets(std::vector<TrieLeaf> leaves,
                                                     std::uint32_t most);
// The one that leaves[self] is in. Leaves in rank order. O(n).
std::vector<std::uint32_t> trie_bucket(const std::vector<TrieLeaf>& leaves,
                                       std::size_t self,
                                       std::uint32_t most);

}  // namespace hobnob
