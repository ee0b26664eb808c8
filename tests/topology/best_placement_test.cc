#include "topology/best_placement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/random_pipeline.h"
#include "topology/pipeline_scenario.h"
#include "topology/placement.h"

namespace hobnob {
namespace {

// All stages^peers assignments.
Rate brute_force(const PipelineRates& rates) {
  Assignment assignment(rates.peer_count(), 0);
  Rate best;
  for (;;) {
    best = std::max(best, throughput(rates, assignment));
    std::size_t digit = 0;
    while (digit < assignment.size() && ++assignment[digit] == rates.stage_count()) {
      assignment[digit++] = 0;
    }
    if (digit == assignment.size()) {
      return best;
    }
  }
}

TEST(BestPlacement, EqualsBruteForce) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates(
        {.peers = 3 + seed % 5, .stages = 2 + seed % 2, .seed = seed, .is_limited = seed % 3 > 0});
    const BestPlacement best = best_placement(rates);
    EXPECT_TRUE(best.is_optimal);
    EXPECT_EQ(throughput(rates, best.assignment), brute_force(rates));
  }
}

// Few kinds of peers and of stages: both symmetries are at work.
TEST(BestPlacement, EqualsBruteForceWithManyTwins) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng({.seed = seed, .stream = 0x2});
    Pipeline pipeline;
    for (int s = 0; s < 3; ++s) {
      pipeline.stages.push_back({.work = 1.0 + static_cast<double>(rng.below(2)),
                                 .memory_bytes = static_cast<double>(rng.below(2))});
    }
    std::vector<PeerResources> peers;
    for (std::uint64_t id = 1; id <= 8; ++id) {
      peers.push_back({.id = {.high = 0, .low = id},
                       .speed = 1.0 + static_cast<double>(rng.below(3)),
                       .memory_bytes = static_cast<double>(rng.below(2))});
    }
    const PipelineRates rates(peers, pipeline);
    const BestPlacement best = best_placement(rates);
    EXPECT_TRUE(best.is_optimal);
    EXPECT_EQ(throughput(rates, best.assignment), brute_force(rates));
  }
}

// Seeds of 2000 for which local search misses the optimum: nothing is found without the search.
TEST(BestPlacement, FindsWhatLocalSearchMisses) {
  for (const std::uint64_t seed : {100U, 335U, 792U, 877U, 1038U, 1893U}) {
    SCOPED_TRACE(seed);
    Rng rng({.seed = seed, .stream = 3});
    std::vector<PeerResources> peers;
    for (std::uint64_t id = 1; id <= 9; ++id) {
      const double speed = 1.0 + static_cast<double>(rng.below(60));
      peers.push_back({.id = {.high = 0, .low = id}, .speed = speed});
    }
    const PipelineRates rates(peers, Pipeline{.stages = std::vector<StageCost>(3)});
    const BestPlacement best = best_placement(rates);
    EXPECT_TRUE(best.is_optimal);
    EXPECT_EQ(throughput(rates, best.assignment), brute_force(rates));
    EXPECT_LT(throughput(rates, place(rates)), throughput(rates, best.assignment));
  }
}

TEST(BestPlacement, ProvesTheOptimaOfTheExamples) {
  for (const auto& [name, optimum] : std::vector<std::pair<const char*, double>>{
           {"a", 8.0}, {"b", 3.90625}, {"b-int8", 5.0}, {"c", 15.0}}) {
    const PipelineScenario scenario = pipeline_example(name).value();
    const PipelineRates rates(scenario.peers, scenario.pipeline);
    const BestPlacement best = best_placement(rates);
    EXPECT_TRUE(best.is_optimal) << name;
    EXPECT_NEAR(throughput(rates, best.assignment).per_second(), optimum, 1e-8) << name;
  }
}

TEST(BestPlacement, SaysThatItGaveUp) {
  const PipelineScenario d = pipeline_example("d").value();
  const PipelineRates rates(d.peers, d.pipeline);
  const BestPlacement best = best_placement(rates, 10'000);
  EXPECT_FALSE(best.is_optimal);
  EXPECT_GE(throughput(rates, best.assignment), throughput(rates, place(rates)));
}

TEST(BestPlacement, OfNobodyIsNothing) {
  const PipelineRates rates({}, Pipeline{.stages = {StageCost{}}});
  const BestPlacement best = best_placement(rates);
  EXPECT_TRUE(best.is_optimal);
  EXPECT_TRUE(best.assignment.empty());
}

}  // namespace
}  // namespace hobnob
