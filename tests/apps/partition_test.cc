#include "apps/data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "apps/data/sampler.h"

namespace hobnob {
namespace {

std::vector<std::uint8_t> ten_classes(std::size_t count) {
  std::vector<std::uint8_t> labels(count);
  for (std::size_t k = 0; k < count; ++k) {
    labels[k] = static_cast<std::uint8_t>(k % 10);
  }
  return labels;
}

std::vector<std::vector<std::uint32_t>> all_shards(const std::vector<std::uint8_t>& labels,
                                                   const PartitionConfig& config,
                                                   std::uint64_t seed) {
  std::vector<std::vector<std::uint32_t>> shards;
  for (std::uint32_t shard = 0; shard < config.shards; ++shard) {
    Result<std::vector<std::uint32_t>> part = partition(labels, config, shard, seed);
    EXPECT_TRUE(part.ok());
    shards.push_back(std::move(part).value());
  }
  return shards;
}

void expect_disjoint_and_complete(const std::vector<std::vector<std::uint32_t>>& shards,
                                  std::size_t count) {
  std::vector<int> seen(count);
  for (const auto& shard : shards) {
    EXPECT_FALSE(shard.empty());
    for (const std::uint32_t sample : shard) {
      ASSERT_LT(sample, count);
      ++seen[sample];
    }
  }
  EXPECT_EQ(seen, std::vector<int>(count, 1));
}

// Mean over shards of the share of the most frequent class.
double skew(const std::vector<std::vector<std::uint32_t>>& shards,
            const std::vector<std::uint8_t>& labels) {
  double sum = 0.0;
  for (const auto& shard : shards) {
    std::vector<std::size_t> counts(10);
    for (const std::uint32_t sample : shard) {
      ++counts[labels[sample]];
    }
    sum += static_cast<double>(std::ranges::max(counts)) / static_cast<double>(shard.size());
  }
  return sum / static_cast<double>(shards.size());
}

TEST(Partition, GivesEverythingWithoutShards) {
  const std::vector<std::uint8_t> labels = ten_classes(7);
  for (const std::uint32_t shards : {0U, 1U}) {
    const auto part = partition(labels, {.shards = shards}, 5, 1);
    ASSERT_TRUE(part.ok());
    EXPECT_EQ(part.value(), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  }
}

TEST(Partition, IidShardsAreEqualDisjointAndComplete) {
  const std::vector<std::uint8_t> labels = ten_classes(1003);
  const auto shards = all_shards(labels, {.shards = 8}, 1);
  expect_disjoint_and_complete(shards, labels.size());
  for (const auto& shard : shards) {
    EXPECT_NEAR(static_cast<double>(shard.size()), 1003.0 / 8.0, 1.0);
  }
}

TEST(Partition, DirichletShardsAreDisjointAndComplete) {
  const std::vector<std::uint8_t> labels = ten_classes(2000);
  for (const double alpha : {0.001, 0.1, 1.0, 1000.0}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const auto shards =
          all_shards(labels, {.kind = "dirichlet", .alpha = alpha, .shards = 16}, seed);
      expect_disjoint_and_complete(shards, labels.size());
    }
  }
}

TEST(Partition, DirichletLeavesNoShardEmptyEvenWithOneSampleEach) {
  const std::vector<std::uint8_t> labels = ten_classes(12);
  expect_disjoint_and_complete(
      all_shards(labels, {.kind = "dirichlet", .alpha = 0.01, .shards = 12}, 3), 12);
}

TEST(Partition, SmallerAlphaSkewsMore) {
  const std::vector<std::uint8_t> labels = ten_classes(10'000);
  const double strong =
      skew(all_shards(labels, {.kind = "dirichlet", .alpha = 0.1, .shards = 8}, 1), labels);
  const double weak =
      skew(all_shards(labels, {.kind = "dirichlet", .alpha = 100.0, .shards = 8}, 1), labels);
  EXPECT_GT(strong, 0.4);
  EXPECT_LT(weak, 0.15);
}

TEST(Partition, SameSeedGivesTheSameShardsAndAnotherSeedDoesNot) {
  const std::vector<std::uint8_t> labels = ten_classes(500);
  for (const char* kind : {"iid", "dirichlet"}) {
    const PartitionConfig config{.kind = kind, .shards = 4};
    EXPECT_EQ(all_shards(labels, config, 7), all_shards(labels, config, 7));
    EXPECT_NE(all_shards(labels, config, 7), all_shards(labels, config, 8));
  }
}

TEST(Partition, RefusesWhatItCannotDo) {
  const std::vector<std::uint8_t> labels = ten_classes(20);
  EXPECT_FALSE(partition(labels, {.kind = "odd"}, 0, 1).ok());
  EXPECT_FALSE(partition(labels, {.alpha = 0.0}, 0, 1).ok());
  EXPECT_FALSE(partition(labels, {.shards = 4}, 4, 1).ok());
  EXPECT_FALSE(partition(labels, {.shards = 21}, 0, 1).ok());
  EXPECT_FALSE(partition({}, {}, 0, 1).ok());
}

TEST(Sampler, ShowsEverySampleOnceAnEpochInANewOrder) {
  BatchSampler sampler({10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, 5, {1, 2});
  std::vector<std::vector<std::uint32_t>> epochs(2);
  for (std::uint64_t step = 0; step < 4; ++step) {
    const auto batch = sampler.batch(step);
    epochs[step / 2].insert(epochs[step / 2].end(), batch.begin(), batch.end());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (const auto& epoch : epochs) {
    EXPECT_EQ(std::set<std::uint32_t>(epoch.begin(), epoch.end()).size(), 10U);
  }
}

TEST(Sampler, WrapsAroundWithinABatch) {
  BatchSampler sampler({0, 1, 2}, 4, {1, 2});
  std::vector<int> seen(3);
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (const std::uint32_t sample : sampler.batch(step)) {
      ++seen[sample];
    }
  }
  EXPECT_EQ(seen, (std::vector<int>{4, 4, 4}));
}

TEST(Sampler, ABatchDependsOnItsStepAloneAndOnTheStream) {
  BatchSampler one({0, 1, 2, 3, 4, 5, 6}, 3, {1, 2});
  BatchSampler same({0, 1, 2, 3, 4, 5, 6}, 3, {1, 2});
  BatchSampler other({0, 1, 2, 3, 4, 5, 6}, 3, {1, 3});
  bool differs = false;
  for (const std::uint64_t step : {9U, 2U, 40U, 0U, 9U}) {
    const auto a = one.batch(step);
    const auto b = same.batch(step);
    const auto c = other.batch(step);
    EXPECT_TRUE(std::ranges::equal(a, b));
    differs = differs || !std::ranges::equal(a, c);
    same.batch(step + 17);
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace hobnob
