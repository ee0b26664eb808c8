#include "gossip/fragment.h"

#include <gtest/gtest.h>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

std::vector<TensorInfo> tensors_of(const std::vector<std::size_t>& counts) {
  std::vector<TensorInfo> tensors;
  std::size_t offset = 0;
  for (const std::size_t count : counts) {
    tensors.push_back({.name = "t", .shape = {count}, .offset = offset, .count = count});
    offset += count;
  }
  return tensors;
}

TEST(Fragment, SmallTensorsShareOne) {
  const std::vector<Fragment> expected{{0, 9}};
  EXPECT_EQ(cut_fragments(tensors_of({4, 3, 2}), 10), expected);
}

TEST(Fragment, CutsComeAtTensorBoundaries) {
  const std::vector<Fragment> expected{{0, 9}, {9, 8}, {17, 3}};
  EXPECT_EQ(cut_fragments(tensors_of({4, 5, 8, 3}), 10), expected);
}

TEST(Fragment, TensorUpToTwiceTheTargetStaysWhole) {
  const std::vector<Fragment> expected{{0, 20}};
  EXPECT_EQ(cut_fragments(tensors_of({20}), 10), expected);
}

TEST(Fragment, LongTensorIsCutIntoEqualParts) {
  const std::vector<Fragment> expected{{0, 2}, {2, 8}, {10, 8}, {18, 9}, {27, 1}};
  EXPECT_EQ(cut_fragments(tensors_of({2, 25, 1}), 10), expected);
}

TEST(Fragment, EmptyTensorsMakeNoFragment) {
  const std::vector<Fragment> expected{{0, 5}};
  EXPECT_EQ(cut_fragments(tensors_of({0, 5, 0}), 10), expected);
  EXPECT_TRUE(cut_fragments({}, 10).empty());
}

TEST(Fragment, AnyCutCoversTheVectorInOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng({.seed = seed, .stream = 1});
    std::vector<std::size_t> counts(1 + rng.below(12));
    std::size_t total = 0;
    for (std::size_t& count : counts) {
      count = rng.below(300);
      total += count;
    }
    const std::size_t target = 1 + rng.below(100);
    std::size_t at = 0;
    for (const Fragment& fragment : cut_fragments(tensors_of(counts), target)) {
      EXPECT_EQ(fragment.offset, at);
      EXPECT_GT(fragment.count, 0U);
      EXPECT_LE(fragment.count, 2 * target);
      at += fragment.count;
    }
    EXPECT_EQ(at, total);
  }
}

}  // namespace
}  // namespace hobnob
