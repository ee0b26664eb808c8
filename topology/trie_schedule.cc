// Trie pairs: each peer hashes (round, id); pairs are formed inside the binary trie of the hashes,
// and a subtree that holds an odd number of peers sends one of them up to meet its sibling's. A
// join or a leave moves only the pairs on its own path, so peers whose views differ a little still
// agree on nearly all pairs.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "topology/kinds.h"

namespace hobnob {

namespace {

struct Leaf {
  std::uint64_t hash = 0;
  std::uint32_t rank = 0;
};

// Of a word that is not zero.
int highest_bit(std::uint64_t word) {
  return 63 - std::countl_zero(word);
}

// Whom a subtree of an odd number of peers sends up. `leaves` are in rank order and agree in all
// bits above `bit`.
Leaf leftover(std::vector<Leaf> leaves, int bit) {
  for (; leaves.size() > 1 && bit >= 0; --bit) {
    const std::uint64_t mask = std::uint64_t{1} << bit;
    std::size_t ones = 0;
    for (const Leaf& leaf : leaves) {
      ones += (leaf.hash & mask) != 0 ? 1U : 0U;
    }
    // Odd = odd + even: exactly one child has somebody left, and child 1 is it when `ones` is odd.
    const std::uint64_t odd_child = ones % 2 == 1 ? mask : 0;
    std::erase_if(leaves, [&](const Leaf& leaf) { return (leaf.hash & mask) != odd_child; });
  }
  return leaves.back();  // of equal hashes, paired in order of id, the last is alone
}

// The partner of leaves[self], in O(n). The pairing is never built: parities say who climbs how
// far.
std::optional<std::uint32_t> partner(const std::vector<Leaf>& leaves, std::uint32_t self) {
  const std::uint64_t own = leaves[self].hash;
  std::array<std::size_t, 64> siblings{};  // how many peers leave self's path at each bit
  std::vector<std::uint32_t> equals;       // hashes equal to self's, self included
  for (const Leaf& leaf : leaves) {
    const std::uint64_t differing = leaf.hash ^ own;
    if (differing == 0) {
      equals.push_back(leaf.rank);
    } else {
      ++siblings[static_cast<std::size_t>(highest_bit(differing))];
    }
  }
  std::size_t place = 0;
  while (equals[place] != self) {
    ++place;
  }
  if ((place ^ 1U) < equals.size()) {
    return equals[place ^ 1U];
  }
  // Self is alone below; it climbs past even siblings and meets the leftover of the first odd one.
  for (int bit = 0; bit < 64; ++bit) {
    if (siblings[static_cast<std::size_t>(bit)] % 2 == 0) {
      continue;
    }
    std::vector<Leaf> others;
    for (const Leaf& leaf : leaves) {
      if (leaf.hash != own && highest_bit(leaf.hash ^ own) == bit) {
        others.push_back(leaf);
      }
    }
    return leftover(std::move(others), bit - 1).rank;
  }
  return std::nullopt;
}

class TriePairs final : public Schedule {
 public:
  explicit TriePairs(std::uint64_t seed) : seed_(seed) {}

  RoundPlan plan(const MembershipView& view,
                 std::uint32_t self,
                 std::uint64_t epoch,
                 std::uint64_t round) const override {
    HOBNOB_CHECK(self < view.size(), "rank outside the view");
    // Epoch 0 leaves the seed alone; the golden vectors are of epoch 0.
    const std::uint64_t seed = seed_ ^ (epoch == 0 ? 0 : mix64(epoch));
    std::vector<Leaf> leaves;
    leaves.reserve(view.size());
    for (const PeerId& peer : view.peers()) {
      leaves.push_back({.hash = hash3(seed, round, peer.key()),
                        .rank = static_cast<std::uint32_t>(leaves.size())});
    }
    RoundPlan plan;
    if (const auto peer = partner(leaves, self)) {
      plan.partners.push_back({.peer = *peer, .weight = {1, 2}});
    }
    return plan;
  }

 private:
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Schedule> make_trie_pairs(std::uint64_t seed) {
  return std::make_unique<TriePairs>(seed);
}

}  // namespace hobnob
