// What a peer's plan takes from the heap at its highest, for every kind: linear in the number of
// peers. This program counts every allocation.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "topology/schedule.h"

namespace {

std::atomic<std::size_t> live{0};
std::atomic<std::size_t> highest{0};

constexpr std::size_t kHeader = alignof(std::max_align_t);

void* counted(std::size_t size) {
  auto* memory = static_cast<char*>(std::malloc(size + kHeader));
  if (memory == nullptr) {
    std::abort();
  }
  *reinterpret_cast<std::size_t*>(memory) = size;
  const std::size_t now = live += size;
  if (now > highest) {
    highest = now;
  }
  return memory + kHeader;
}

void release(void* memory) {
  if (memory != nullptr) {
    char* start = static_cast<char*>(memory) - kHeader;
    live -= *reinterpret_cast<std::size_t*>(start);
    std::free(start);
  }
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}

void* operator new[](std::size_t size) {
  return counted(size);
}

void operator delete(void* memory) noexcept {
  release(memory);
}

void operator delete[](void* memory) noexcept {
  release(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  release(memory);
}

void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  release(memory);
}

namespace hobnob {
namespace {

// Bytes at the highest, over what was there before.
std::size_t plan_bytes(const std::string& kind, std::uint32_t peers) {
  const MembershipView view = MembershipView::numbered(peers);
  const auto schedule = make_schedule({.kind = kind});
  const std::size_t before = live;
  highest = before;
  schedule->plan(view, peers / 3, 0, 5);
  return highest - before;
}

TEST(PlanMemory, IsLinearInTheNumberOfPeers) {
  for (const std::string& kind : topology_kinds()) {
    if (kind == "file") {
      continue;  // its graph comes with the job
    }
    const std::size_t small = plan_bytes(kind, 2000);
    const std::size_t large = plan_bytes(kind, 32'000);
    // Vectors double as they grow, so that 16 times the peers may take up to 32 times the bytes;
    // n^2 would be 256 times. And no more than a few words for each peer.
    EXPECT_LE(large, 33 * small + 65536) << kind << ": " << small << " and " << large << " bytes";
    EXPECT_LE(large, 32'000U * 256U) << kind;
  }
}

}  // namespace
}  // namespace hobnob
