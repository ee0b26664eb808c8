#include "topology/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "runtime/base/rng.h"
#include "tests/topology/random_pipeline.h"
#include "topology/best_placement.h"
#include "topology/pipeline_scenario.h"
#include "topology/stage_search.h"

namespace hobnob {
namespace {

double placed(const char* example) {
  const PipelineScenario scenario = pipeline_example(example).value();
  const PipelineRates rates(scenario.peers, scenario.pipeline);
  return throughput(rates, place(rates)).per_second();
}

TEST(Place, ReachesTheOptimaOfTheExamples) {
  EXPECT_EQ(placed("a"), 8.0);
  EXPECT_EQ(placed("b"), 3.90625);
  EXPECT_NEAR(placed("b-int8"), 5.0, 1e-8);
  EXPECT_EQ(placed("c"), 15.0);
  EXPECT_GE(placed("d"), 0.999 * 33.88010);
}

TEST(Place, FindsTheOptimumOfAWhoeverHasWhichSpeed) {
  PipelineScenario a = pipeline_example("a").value();
  Rng rng({.seed = 1, .stream = 2});
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    for (std::size_t k = a.peers.size(); k > 1; --k) {
      std::swap(a.peers[k - 1].speed, a.peers[rng.below(k)].speed);
    }
    const PipelineRates rates(a.peers, a.pipeline);
    ASSERT_EQ(throughput(rates, place(rates)).per_second(), 8.0);
  }
}

TEST(Place, IsCloseToTheOptimumOfSmallMixedSwarms) {
  double share = 0.0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates({.peers = 10, .stages = 4, .seed = seed});
    const BestPlacement best = best_placement(rates);
    ASSERT_TRUE(best.is_optimal);
    const Rate optimum = throughput(rates, best.assignment);
    const Rate ours = throughput(rates, place(rates));
    EXPECT_LE(ours, optimum);
    EXPECT_GE(ours.per_second(), 0.93 * optimum.per_second());
    share += ours.per_second() / optimum.per_second() / 30.0;
  }
  EXPECT_GE(share, 0.99);
}

TEST(Place, IsCloseToTheBoundOfManyUnlimitedPeers) {
  double share = 0.0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates({.seed = seed, .is_limited = false});
    const double bound = dual_bound(rates, 1000).per_second;
    const double reached = throughput(rates, place(rates)).per_second() / bound;
    EXPECT_GE(reached, 0.96);  // seed 6: one peer alone is worth more than two stages
    share += reached / 10.0;
  }
  EXPECT_GE(share, 0.99);
}

// Peer k fits stages 0 to k, so there is one way only, and the fastest peers, who choose first, are
// those that fit everywhere.
TEST(Place, ServesEveryStageIfThereIsAnyWay) {
  constexpr std::size_t kStages = 12;
  Pipeline pipeline;
  std::vector<PeerResources> peers;
  for (std::size_t k = 0; k < kStages; ++k) {
    const auto size = static_cast<double>(k);
    pipeline.stages.push_back({.memory_bytes = size});
    peers.push_back({.id = {.high = 0, .low = k + 1}, .speed = 1.0 + size, .memory_bytes = size});
  }
  const PipelineRates rates(peers, pipeline);
  EXPECT_EQ(throughput(rates, place(rates)).per_second(), 1.0);
}

TEST(Place, LeavesOnlyThoseIdleWhoCanServeNothing) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<PeerResources> peers = random_peers({.peers = 20, .seed = seed});
    peers[7].memory_bytes = 0.0;
    const PipelineRates rates(peers, random_stages({.stages = 5, .seed = seed}));
    const Assignment assignment = place(rates);
    for (std::size_t p = 0; p < peers.size(); ++p) {
      ASSERT_EQ(assignment[p] == kIdle, p == 7) << p;
      EXPECT_TRUE(p == 7 || rates.rate(p, assignment[p]) > Rate{});
    }
  }
}

TEST(Place, TakesNoPeersAndPeersThatAreOfNoUse) {
  const Pipeline pipeline{.stages = {StageCost{}, {.memory_bytes = 2.0}}};
  EXPECT_TRUE(place(PipelineRates({}, pipeline)).empty());
  const PipelineRates rates({{.id = {0, 1}, .memory_bytes = 1.0}}, pipeline);
  EXPECT_EQ(place(rates), Assignment{0});
}

TEST(StageSearch, StopsWhenItsBudgetIsSpent) {
  const PipelineRates rates = random_rates({.seed = 3});
  const Assignment start = random_assignment(rates, 3);
  StageSearch generous(rates, start);
  int steps = 0;
  while (generous.step()) {
    ++steps;
  }
  EXPECT_GT(generous.budget_left(), 0U);

  StageSearch poor(rates, start, 5'000);
  int few_steps = 0;
  while (poor.step()) {
    ++few_steps;
  }
  EXPECT_EQ(poor.budget_left(), 0U);
  EXPECT_GT(few_steps, 0);
  EXPECT_LT(few_steps, steps);
}

TEST(ChooseStage, IsTheWeakestStageTheJoinerCanServe) {
  const Pipeline pipeline{
      .stages = {{.memory_bytes = 4.0}, {.memory_bytes = 1.0}, {.memory_bytes = 1.0}}};
  const PipelineRates rates({{.id = {0, 1}, .speed = 1.0},
                             {.id = {0, 2}, .speed = 5.0},
                             {.id = {0, 3}, .speed = 3.0},
                             {.id = {0, 4}, .memory_bytes = 2.0},
                             {.id = {0, 5}, .memory_bytes = 0.0}},
                            pipeline);
  EXPECT_EQ(choose_stage(rates, {0, 1, 2, kIdle, kIdle}, 3), 2U);
  EXPECT_EQ(choose_stage(rates, {0, 1, 1, kIdle, kIdle}, 3), 2U);
  EXPECT_EQ(choose_stage(rates, {0, 2, 1, kIdle, kIdle}, 3), 1U);
  EXPECT_EQ(choose_stage(rates, {0, 1, 2, kIdle, kIdle}, 4), std::nullopt);
}

TEST(ChooseStage, LooksPastTheStageTheJoinerHasNow) {
  const PipelineRates rates({{.id = {0, 1}, .speed = 4.0}, {.id = {0, 2}, .speed = 1.0}},
                            Pipeline{.stages = {StageCost{}, StageCost{}}});
  EXPECT_EQ(choose_stage(rates, {0, 1}, 0), 0U);
}

TEST(ChooseStage, PeersWhoJoinAtOnceSpread) {
  std::vector<PeerResources> peers;
  for (std::uint64_t id = 1; id <= 400; ++id) {
    peers.push_back({.id = {.high = 0, .low = id}});
  }
  const PipelineRates rates(peers, Pipeline{.stages = std::vector<StageCost>(4)});
  std::vector<int> joiners(4, 0);
  for (std::size_t p = 0; p < peers.size(); ++p) {
    ++joiners[choose_stage(rates, Assignment(400, kIdle), p).value()];
  }
  for (const int count : joiners) {
    EXPECT_NEAR(count, 100, 35);  // four standard deviations
  }
}

}  // namespace
}  // namespace hobnob
