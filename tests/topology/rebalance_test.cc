#include "topology/rebalance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/rng.h"
#include "tests/topology/random_pipeline.h"
#include "topology/pipeline_scenario.h"
#include "topology/placement.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t served_stages(const PipelineRates& rates, const Assignment& assignment) {
  const std::vector<Rate> sums = stage_rates(rates, assignment);
  return sums.size() - static_cast<std::size_t>(std::ranges::count(sums, Rate{}));
}

// One epoch: plans, checks what every plan must keep, and carries it out.
std::vector<StageMove> run_epoch(const PipelineRates& rates,
                                 Assignment& assignment,
                                 const RebalancePolicy& policy = {}) {
  const std::vector<StageMove> moves = plan_moves(rates, assignment, policy);
  EXPECT_EQ(moves, plan_moves(rates, assignment, policy));
  EXPECT_LE(moves.size(), policy.max_movers);
  const std::vector<Rate> before = stage_rates(rates, assignment);
  for (const StageMove& move : moves) {
    EXPECT_EQ(move.from, assignment[move.peer]);
    EXPECT_NE(move.from, move.to);
    EXPECT_GT(rates.rate(move.peer, move.to), Rate{});
    assignment[move.peer] = move.to;
  }
  const std::vector<Rate> after = stage_rates(rates, assignment);
  EXPECT_GE(std::ranges::min(after), std::ranges::min(before));
  for (std::size_t s = 0; s < before.size(); ++s) {
    EXPECT_TRUE(before[s] == Rate{} || after[s] > Rate{}) << "stage " << s << " was emptied";
  }
  return moves;
}

double rate_of(const PipelineRates& rates, const Assignment& assignment) {
  return throughput(rates, assignment).per_second();
}

// Specification, scenario C: peers 0, 1 (speed 8) and 4 (speed 4) die.
struct Survivors {
  Pipeline pipeline;
  std::vector<PeerResources> peers;
  Assignment assignment;
};

Survivors survivors_of_c() {
  const PipelineScenario c = pipeline_example("c").value();
  Survivors left{.pipeline = c.pipeline, .peers = {}, .assignment = {}};
  for (std::size_t p = 0; p < c.peers.size(); ++p) {
    if (p != 0 && p != 1 && p != 4) {
      left.peers.push_back(c.peers[p]);
      left.assignment.push_back(c.current[p]);
    }
  }
  return left;
}

TEST(PlanMoves, MendsScenarioCAfterDeathsInFiveMoves) {
  Survivors c = survivors_of_c();
  const PipelineRates rates(c.peers, c.pipeline);
  EXPECT_EQ(rate_of(rates, c.assignment), 3.0);
  // Survivors 0, 4, 5 and 10 are the peers 2, 7, 8 and 13 of the specification, 12 is 15.
  const std::vector<StageMove> first{{.peer = 0, .from = 2, .to = 0},
                                     {.peer = 4, .from = 3, .to = 1},
                                     {.peer = 5, .from = 0, .to = 2},
                                     {.peer = 10, .from = 1, .to = 0}};
  EXPECT_EQ(run_epoch(rates, c.assignment), first);
  EXPECT_EQ(rate_of(rates, c.assignment), 9.0);
  const std::vector<StageMove> second{{.peer = 12, .from = 3, .to = 2}};
  EXPECT_EQ(run_epoch(rates, c.assignment), second);
  EXPECT_EQ(rate_of(rates, c.assignment), 10.0);
  EXPECT_TRUE(run_epoch(rates, c.assignment).empty());
}

TEST(PlanMoves, FollowsJoinersOfScenarioCToTheOptimum) {
  // Joiners break ties by their ids, so many ids: the weakest stage may be each of the four.
  for (std::uint64_t id = 100; id < 150; ++id) {
    SCOPED_TRACE(id);
    Survivors c = survivors_of_c();
    const PipelineRates before(c.peers, c.pipeline);
    run_epoch(before, c.assignment);
    run_epoch(before, c.assignment);
    for (const double speed : {4.0, 2.0, 2.0}) {
      c.peers.push_back({.id = {.high = id, .low = c.peers.size()}, .speed = speed});
      c.assignment.push_back(kIdle);
      const PipelineRates rates(c.peers, c.pipeline);
      c.assignment.back() = choose_stage(rates, c.assignment, c.peers.size() - 1).value();
    }
    const PipelineRates rates(c.peers, c.pipeline);
    EXPECT_EQ(rate_of(rates, c.assignment), 10.0);
    run_epoch(rates, c.assignment);
    EXPECT_EQ(rate_of(rates, c.assignment), 12.0);
    EXPECT_TRUE(run_epoch(rates, c.assignment).empty());
  }
}

TEST(PlanMoves, ReachesTheOptimumOfAFromEveryOrderOfArrival) {
  PipelineScenario a = pipeline_example("a").value();
  Rng rng({.seed = 1, .stream = 2});
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    for (std::size_t k = a.peers.size(); k > 1; --k) {
      std::swap(a.peers[k - 1].speed, a.peers[rng.below(k)].speed);
    }
    const PipelineRates rates(a.peers, a.pipeline);
    Assignment assignment(a.peers.size(), kIdle);
    for (std::size_t p = 0; p < a.peers.size(); ++p) {
      assignment[p] = choose_stage(rates, assignment, p).value();
    }
    while (!run_epoch(rates, assignment).empty()) {
    }
    ASSERT_EQ(rate_of(rates, assignment), 8.0);
  }
}

TEST(PlanMoves, ComesFromARandomPlacementToTheBoundWithinFourEpochs) {
  double share = 0.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates({.seed = seed, .is_limited = false});
    const double bound = dual_bound(rates, 1000).per_second;
    Assignment assignment = random_assignment(rates, seed);
    std::size_t moves = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {
      moves += run_epoch(rates, assignment).size();
    }
    EXPECT_GE(rate_of(rates, assignment), 0.9 * bound);  // seed 6: nobody can reach it
    EXPECT_LE(moves, 16U);
    share += rate_of(rates, assignment) / bound / 20.0;
  }
  EXPECT_GE(share, 0.96);
}

TEST(PlanMoves, ComesToRestAndNeverRepeatsAnAssignment) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates({.peers = 48, .seed = seed});
    Assignment assignment = random_assignment(rates, seed);
    std::set<Assignment> seen{assignment};
    int epochs = 0;
    while (!run_epoch(rates, assignment, {.min_gain_percent = 0, .sync = seconds(0)}).empty()) {
      ASSERT_TRUE(seen.insert(assignment).second);
      ASSERT_LT(++epochs, 100);
    }
    for (int epoch = 0; epoch < 5; ++epoch) {
      ASSERT_TRUE(run_epoch(rates, assignment, {.min_gain_percent = 0}).empty());
    }
  }
}

// A swarm whose peers leave, join and drift.
class Churn {
 public:
  explicit Churn(std::uint64_t seed)
      : rng_({.seed = seed, .stream = 0xC4}),
        pipeline_(random_stages({.seed = seed, .is_limited = false})),
        peers_(random_peers({.seed = seed, .is_limited = false})),
        assignment_(place(rates())) {}

  PipelineRates rates() const { return {peers_, pipeline_}; }

  Assignment& assignment() { return assignment_; }

  // With probability a quarter each: somebody leaves, somebody joins. All speeds drift by 2 %.
  void change() {
    if (rng_.below(4) == 0) {
      const auto gone = static_cast<std::ptrdiff_t>(rng_.below(peers_.size()));
      peers_.erase(peers_.begin() + gone);
      assignment_.erase(assignment_.begin() + gone);
    }
    if (rng_.below(4) == 0) {
      const PeerId id{.high = 0, .low = peers_.back().id.low + 1};
      peers_.push_back({.id = id, .speed = std::exp(rng_.normal())});
      assignment_.push_back(kIdle);
      assignment_.back() = choose_stage(rates(), assignment_, peers_.size() - 1).value();
    }
    for (PeerResources& peer : peers_) {
      peer.speed *= std::exp(0.02 * rng_.normal());
    }
  }

 private:
  Rng rng_;
  Pipeline pipeline_;
  std::vector<PeerResources> peers_;
  Assignment assignment_;
};

TEST(PlanMoves, HoldsTheBalanceThroughTwoHundredEpochsOfChurn) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    Churn swarm(seed);
    double share_of_bound = 0.0;
    std::size_t moves = 0;
    for (int epoch = 0; epoch < 200; ++epoch) {
      swarm.change();
      const PipelineRates rates = swarm.rates();
      moves += run_epoch(rates, swarm.assignment()).size();  // checks every plan
      ASSERT_EQ(served_stages(rates, swarm.assignment()), 8U);
      share_of_bound += rate_of(rates, swarm.assignment()) / dual_bound(rates, 50).per_second;
    }
    EXPECT_GE(share_of_bound / 200.0, 0.95);
    EXPECT_LE(moves, 450U);

    // The churn ends: a few more moves, nobody twice, then rest.
    const PipelineRates rates = swarm.rates();
    std::set<std::uint32_t> moved;
    for (int epoch = 0; epoch < 20; ++epoch) {
      for (const StageMove& move : run_epoch(rates, swarm.assignment())) {
        EXPECT_LT(epoch, 10);
        EXPECT_TRUE(moved.insert(move.peer).second) << "peer " << move.peer << " moved again";
      }
    }
  }
}

// Twelve moves mend it, the first eleven alone gain nothing.
TEST(PlanMoves, MendsManyEquallyWeakStages) {
  std::vector<PeerResources> peers;
  Assignment assignment;
  for (std::uint32_t p = 0; p < 28; ++p) {
    peers.push_back({.id = {.high = 0, .low = p + 1}});
    assignment.push_back(p < 12 ? p : 12 + p % 2);
  }
  const PipelineRates rates(peers, Pipeline{.stages = std::vector<StageCost>(14)});
  EXPECT_EQ(rate_of(rates, assignment), 1.0);
  std::vector<std::size_t> movers;
  for (int epoch = 0; epoch < 4; ++epoch) {
    movers.push_back(run_epoch(rates, assignment).size());
  }
  EXPECT_EQ(rate_of(rates, assignment), 2.0);
  EXPECT_EQ(movers, (std::vector<std::size_t>{4, 4, 4, 0}));
}

// Stage 2 fits only the peer on stage 1, which fits the one on stage 0 too.
TEST(PlanMoves, RevivesAStageThroughAChainOfMoves) {
  const Pipeline pipeline{
      .stages = {{.memory_bytes = 1.0}, {.memory_bytes = 2.0}, {.memory_bytes = 3.0}}};
  const PipelineRates rates({{.id = {0, 1}, .memory_bytes = 1.0},
                             {.id = {0, 2}, .memory_bytes = 2.0},
                             {.id = {0, 3}, .speed = 9.0, .memory_bytes = 3.0}},
                            pipeline);
  Assignment assignment{0, 0, 1};
  const std::vector<StageMove> moves = run_epoch(rates, assignment);
  EXPECT_EQ(moves.size(), 2U);
  EXPECT_EQ(rate_of(rates, assignment), 1.0);
}

// With two movers an epoch the stage nobody is spared from comes last, so none stands empty.
TEST(PlanMoves, CarriesOutALongChainInTheOrderThatEmptiesNothing) {
  Pipeline pipeline;
  std::vector<PeerResources> peers;
  for (std::uint64_t k = 0; k < 4; ++k) {
    const auto size = static_cast<double>(k + 1);
    pipeline.stages.push_back({.memory_bytes = size});
    peers.push_back({.id = {.high = 0, .low = k + 1}, .memory_bytes = size});
  }
  const PipelineRates rates(peers, pipeline);
  Assignment assignment{0, 0, 1, 2};
  EXPECT_EQ(run_epoch(rates, assignment, {.max_movers = 2}).size(), 2U);
  EXPECT_EQ(assignment, (Assignment{0, 1, 2, 2}));
  EXPECT_EQ(run_epoch(rates, assignment, {.max_movers = 2}).size(), 1U);
  EXPECT_EQ(rate_of(rates, assignment), 1.0);
}

// Stage 1 has grown out of peer 1's memory.
TEST(PlanMoves, RevivesAStageWithAPeerThatIsOfNoUseWhereItIs) {
  const PipelineRates rates({{.id = {0, 1}, .memory_bytes = 1.0}, {.id = {0, 2}}},
                            Pipeline{.stages = {StageCost{}, {.memory_bytes = 2.0}}});
  Assignment assignment{1, 1};
  EXPECT_EQ(run_epoch(rates, assignment),
            (std::vector<StageMove>{{.peer = 0, .from = 1, .to = 0}}));

  // And both stages stand still, the only useful server on the wrong one.
  const PipelineRates shrunk({{.id = {0, 1}, .memory_bytes = 1.0}, {.id = {0, 2}}},
                             Pipeline{.stages = {{.memory_bytes = 1.0}, {.memory_bytes = 2.0}}});
  assignment = {1, 0};
  EXPECT_EQ(run_epoch(shrunk, assignment).size(), 2U);
  EXPECT_EQ(assignment, (Assignment{0, 1}));
}

TEST(PlanMoves, NeverLeavesAStageToFillAnother) {
  const PipelineRates rates({{.id = {0, 1}, .speed = 1.0}},
                            Pipeline{.stages = {{.work = 2.0}, {.work = 1.0}}});
  EXPECT_TRUE(plan_moves(rates, {0}, {}).empty());
}

TEST(PlanMoves, LetsIdlePeersBe) {
  const PipelineRates rates({{.id = {0, 1}}, {.id = {0, 2}}},
                            Pipeline{.stages = std::vector<StageCost>(2)});
  EXPECT_TRUE(plan_moves(rates, {0, kIdle}, {}).empty());
}

// Stages (3, 1): moving the peer of speed 0.5 gives (2.5, 1.5).
struct Lopsided {
  PipelineRates rates{{{.id = {0, 1}, .speed = 2.5, .down = 1.0},
                       {.id = {0, 2}, .speed = 0.5, .down = 10.0},
                       {.id = {0, 3}, .speed = 1.0, .down = 1.0}},
                      Pipeline{.stages = {{.memory_bytes = 10.0}, {.memory_bytes = 1000.0}}}};
  Assignment assignment{0, 0, 1};
};

TEST(PlanMoves, WantsMoreThanTheLeastGain) {
  const Lopsided pipeline;
  const auto moves = [&pipeline](std::uint32_t percent) {
    return plan_moves(pipeline.rates, pipeline.assignment, {.min_gain_percent = percent});
  };
  EXPECT_EQ(moves(49), (std::vector<StageMove>{{.peer = 1, .from = 0, .to = 1}}));
  EXPECT_TRUE(moves(50).empty());
}

TEST(PlanMoves, MovesOnlyIfTheHorizonPaysForIt) {
  const Lopsided pipeline;
  // 0.5/s more over the horizon against 0.5/s less for 100 s of download and 20 s of sync.
  const auto moves = [&pipeline](milliseconds horizon) {
    return plan_moves(pipeline.rates, pipeline.assignment,
                      {.horizon = horizon, .sync = seconds(20)});
  };
  EXPECT_TRUE(moves(seconds(120)).empty());
  EXPECT_EQ(moves(seconds(120) + milliseconds(1)).size(), 1U);
}

TEST(RebalancePolicy, IsValidatedFieldByField) {
  const auto refuses = [](const RebalancePolicy& policy, const char* field) {
    const Result<void> result = validate(policy);
    return !result.ok() && result.error().message.rfind(field, 0) == 0;
  };
  EXPECT_TRUE(validate(RebalancePolicy{}).ok());
  EXPECT_TRUE(refuses({.min_gain_percent = 101}, "min_gain_percent:"));
  EXPECT_TRUE(refuses({.max_movers = 1}, "max_movers:"));
  EXPECT_TRUE(refuses({.horizon = seconds(-1)}, "horizon:"));
  EXPECT_TRUE(refuses({.sync = std::chrono::hours(9000)}, "sync:"));
}

}  // namespace
}  // namespace hobnob
