#include "topology/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/rng.h"
#include "tests/topology/random_pipeline.h"
#include "topology/pipeline_scenario.h"

namespace hobnob {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Rate, RoundsDownAndClips) {
  EXPECT_EQ(Rate::of(0.78125).per_second(), 0.78125);
  EXPECT_LT(Rate::of(0.1).per_second(), 0.1);
  EXPECT_NEAR(Rate::of(0.1).per_second(), 0.1, 0x1.0p-30);
  EXPECT_EQ(Rate::of(-1.0), Rate{});
  EXPECT_EQ(Rate::of(kNan), Rate{});
  EXPECT_EQ(Rate::of(kInfinity).units, Rate::kMaxUnits);
}

TEST(Rate, HasRoomForTheSumOfAllPeers) {
  Rate sum;
  for (std::size_t p = 0; p < kMaxPipelinePeers; ++p) {
    const Rate before = sum;
    sum += Rate{Rate::kMaxUnits};
    ASSERT_GT(sum, before);
  }
}

// Specification, scenario B: the rates of its four kinds of peers.
TEST(PipelineRates, AreBoundedByComputeLinkAndMemory) {
  const PipelineScenario b = pipeline_example("b").value();
  const PipelineRates rates(b.peers, b.pipeline);
  const std::vector<std::pair<std::size_t, std::vector<double>>> table{
      {0, {10.0, 5.0, 5.0, 5.0, 3.3333}},
      {2, {3.1211, 1.5625, 1.5625, 1.5625, 1.5}},
      {6, {1.5605, 0.78125, 0.78125, 0.78125, 0.6667}},
      {11, {0.7803, 0.0, 0.0, 0.0, 0.0}}};
  for (const auto& [peer, row] : table) {
    for (std::size_t s = 0; s < row.size(); ++s) {
      EXPECT_NEAR(rates.rate(peer, s).per_second(), row[s], 5e-5) << peer << " at " << s;
    }
  }
}

TEST(PipelineRates, TakeTheSlowerDirectionOfTheLink) {
  const Pipeline pipeline{.stages = {{.activation_bytes = 3.0}, {.activation_bytes = 5.0}},
                          .input_bytes = 1.0};
  const PipelineRates rates({{.id = {0, 1}, .speed = 100.0, .up = 8.0, .down = 16.0},
                             {.id = {0, 2}, .speed = 100.0, .up = 16.0, .down = 8.0}},
                            pipeline);
  for (std::size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(rates.rate(p, 0).per_second(), 2.0);  // 8 / (1 + 3)
    EXPECT_EQ(rates.rate(p, 1).per_second(), 1.0);  // 8 / (3 + 5)
  }
}

TEST(PipelineRates, LoadTimeIsTheDownloadRoundedUp) {
  const Pipeline pipeline{.stages = {{.memory_bytes = 1000.0}}};
  const PipelineRates rates({{.id = {0, 1}, .down = 3.0},
                             {.id = {0, 2}},
                             {.id = {0, 3}, .down = std::numeric_limits<double>::denorm_min()}},
                            pipeline);
  EXPECT_EQ(rates.load_time(0, 0), std::chrono::milliseconds(333'334));
  EXPECT_EQ(rates.load_time(1, 0), std::chrono::milliseconds(0));
  EXPECT_GT(rates.load_time(2, 0), std::chrono::hours(1'000));
}

TEST(PipelineRates, WhatPeersSayIsValidatedFieldByField) {
  const auto message = [](const PeerResources& peer) {
    const Result<void> result = validate(peer);
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_EQ(message({}), "");
  for (const double bad : {0.0, -1.0, kNan, kInfinity}) {
    EXPECT_EQ(message({.speed = bad}).rfind("speed:", 0), 0U) << bad;
  }
  EXPECT_EQ(message({.memory_bytes = kNan}).rfind("memory_bytes:", 0), 0U);
  EXPECT_EQ(message({.memory_bytes = -1.0}).rfind("memory_bytes:", 0), 0U);
  EXPECT_EQ(message({.up = 0.0}).rfind("up:", 0), 0U);
  EXPECT_EQ(message({.down = kNan}).rfind("down:", 0), 0U);
}

TEST(PipelineRates, PipelinesAreValidatedFieldByField) {
  const auto refuses = [](const Pipeline& pipeline, const char* field) {
    const Result<void> result = validate(pipeline);
    return !result.ok() && result.error().message.rfind(field, 0) == 0;
  };
  EXPECT_TRUE(validate(Pipeline{.stages = {StageCost{}}}).ok());
  EXPECT_TRUE(refuses({}, "stages:"));
  EXPECT_TRUE(refuses({.stages = std::vector<StageCost>(kMaxPipelineStages + 1)}, "stages:"));
  EXPECT_TRUE(refuses({.stages = {{.work = 0.0}}}, "work:"));
  EXPECT_TRUE(refuses({.stages = {{.work = kNan}}}, "work:"));
  EXPECT_TRUE(refuses({.stages = {{.memory_bytes = -1.0}}}, "memory_bytes:"));
  EXPECT_TRUE(refuses({.stages = {{.activation_bytes = kInfinity}}}, "activation_bytes:"));
  EXPECT_TRUE(refuses({.stages = {StageCost{}}, .input_bytes = kNan}, "input_bytes:"));
}

TEST(Throughput, IsThatOfTheWeakestStage) {
  const PipelineScenario c = pipeline_example("c").value();
  const PipelineRates rates(c.peers, c.pipeline);
  EXPECT_EQ(throughput(rates, c.current).per_second(), 15.0);
  Assignment fewer = c.current;
  fewer[5] = kIdle;  // speed 4, stage 1
  EXPECT_EQ(throughput(rates, fewer).per_second(), 11.0);
  EXPECT_EQ(throughput(rates, Assignment(16, kIdle)), Rate{});
}

// Linear programs: A, C, D in closed form, B and B at half the bytes by a simplex solver.
TEST(DualBound, ComesCloseToTheLinearProgramFromAbove) {
  const std::vector<std::pair<const char*, double>> optima{
      {"a", 9.0}, {"b", 4.695779}, {"b-int8", 5.1}, {"c", 15.0}, {"d", 33.880096}};
  for (const auto& [name, optimum] : optima) {
    const PipelineScenario scenario = pipeline_example(name).value();
    const DualBound bound = dual_bound(PipelineRates(scenario.peers, scenario.pipeline));
    EXPECT_GE(bound.per_second, optimum - 1e-5) << name;
    EXPECT_LE(bound.per_second, optimum * 1.0002) << name;
  }
}

TEST(DualBound, IsProvenByItsPrices) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates({.peers = 12, .stages = 4, .seed = seed});
    const DualBound bound = dual_bound(rates, 200);
    double sum = 0.0;
    for (const double price : bound.prices) {
      EXPECT_GE(price, 0.0);
      sum += price;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_EQ(dual_value(rates, bound.prices), bound.per_second);
  }
}

TEST(DualBound, NoAssignmentExceedsAnyPrices) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const PipelineRates rates = random_rates({.peers = 12, .stages = 4, .seed = seed});
    Rng rng({.seed = seed, .stream = 0xD0A1});
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<double> prices(4);
      double sum = 0.0;
      for (double& price : prices) {
        price = rng.uniform();
        sum += price;
      }
      for (double& price : prices) {
        price /= sum;
      }
      Assignment assignment(12);
      for (std::uint32_t& stage : assignment) {
        stage = static_cast<std::uint32_t>(rng.below(4));
      }
      EXPECT_LE(throughput(rates, assignment).per_second(),
                dual_value(rates, prices) * (1.0 + 1e-12));
    }
  }
}

TEST(DualBound, IsZeroIfNobodyCanServeAStage) {
  const Pipeline pipeline{.stages = {StageCost{}, {.memory_bytes = 2.0}}};
  const PipelineRates rates({{.id = {0, 1}, .memory_bytes = 1.0}}, pipeline);
  EXPECT_EQ(dual_bound(rates).per_second, 0.0);
  EXPECT_EQ(dual_bound(PipelineRates({}, pipeline)).per_second, 0.0);
}

}  // namespace
}  // namespace hobnob
