// The same undirected graph of ranks in every round, with Metropolis-Hastings weights.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/check.h"
#include "topology/kinds.h"

namespace hobnob {

namespace {

// The neighbours of rank `self` among `size` >= 2 ranks: any order, perhaps with `self` or one
// twice.
using Neighbours = std::vector<std::uint32_t> (*)(std::uint32_t self, std::uint32_t size);

std::vector<std::uint32_t> ring_neighbours(std::uint32_t self, std::uint32_t size) {
  return {self == 0 ? size - 1 : self - 1, self == size - 1 ? 0 : self + 1};
}

std::vector<std::uint32_t> complete_neighbours(std::uint32_t /*self*/, std::uint32_t size) {
  std::vector<std::uint32_t> all(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    all[rank] = rank;
  }
  return all;
}

std::vector<std::uint32_t> exponential_neighbours(std::uint32_t self, std::uint32_t size) {
  std::vector<std::uint32_t> hops;
  for (std::uint64_t hop = 1; hop < size; hop *= 2) {
    hops.push_back(static_cast<std::uint32_t>((self + hop) % size));
    hops.push_back(static_cast<std::uint32_t>((self + size - hop) % size));
  }
  return hops;
}

class StaticSchedule final : public Schedule {
 public:
  explicit StaticSchedule(Neighbours neighbours) : neighbours_(neighbours) {}

  RoundPlan plan(const MembershipView& view,
                 std::uint32_t self,
                 std::uint64_t /*epoch*/,
                 std::uint64_t /*round*/) const override {
    HOBNOB_CHECK(self < view.size(), "rank outside the view");
    if (view.size() == 1) {
      return {};
    }
    std::vector<std::uint32_t> peers = neighbours_(self, static_cast<std::uint32_t>(view.size()));
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    std::erase(peers, self);

    const Weight proposal{1, 1 + static_cast<std::uint32_t>(peers.size())};
    RoundPlan plan;
    plan.partners.reserve(peers.size());
    for (const std::uint32_t peer : peers) {
      plan.partners.push_back({.peer = peer, .weight = proposal});
    }
    return plan;
  }

 private:
  const Neighbours neighbours_;
};

}  // namespace

std::unique_ptr<Schedule> make_ring() {
  return std::make_unique<StaticSchedule>(ring_neighbours);
}

std::unique_ptr<Schedule> make_complete() {
  return std::make_unique<StaticSchedule>(complete_neighbours);
}

std::unique_ptr<Schedule> make_exponential() {
  return std::make_unique<StaticSchedule>(exponential_neighbours);
}

}  // namespace hobnob
