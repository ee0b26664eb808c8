#include "topology/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/base/rng.h"
#include "tests/topology/pipeline_sim.h"
#include "topology/pipeline_scenario.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

PeerId peer(std::uint64_t low) {
  return {.high = 0, .low = low};
}

IwrrRouter router_to(const std::vector<milliseconds>& services, std::uint64_t sender = 100) {
  IwrrRouter router(peer(sender));
  for (std::size_t k = 0; k < services.size(); ++k) {
    router.announce(peer(k), services[k]);
  }
  return router;
}

// How often each server is chosen.
std::vector<int> choices(IwrrRouter& router, int count) {
  std::vector<int> chosen(router.server_count() + 1, 0);
  for (int k = 0; k < count; ++k) {
    ++chosen.at(router.choose()->low);
  }
  chosen.pop_back();
  return chosen;
}

double estimate(const IwrrRouter& router, std::uint64_t server) {
  return std::chrono::duration<double>(router.service_per_work(peer(server)).value()).count();
}

TEST(IwrrRouter, HasNobodyToChooseAtFirst) {
  EXPECT_EQ(IwrrRouter(peer(1)).choose(), std::nullopt);
}

TEST(IwrrRouter, SharesAreTheSpeedShares) {
  IwrrRouter router =
      router_to({milliseconds(125), milliseconds(250), milliseconds(500), milliseconds(1000)});
  const std::vector<int> chosen = choices(router, 1500);
  const std::vector<int> speeds{800, 400, 200, 100};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(chosen[k], speeds[k], 1);
  }
}

// "Interleaved": 1, 2, 1, 3, ... and not all of the fastest one's first.
TEST(IwrrRouter, SpreadsAServersChoicesEvenly) {
  IwrrRouter router = router_to({milliseconds(100), milliseconds(100), milliseconds(200)});
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(choices(router, 5), (std::vector<int>{2, 2, 1}));
  }
}

TEST(IwrrRouter, LearnsSharesFromJitteryReports) {
  const std::vector<double> speeds{8.0, 4.0, 2.0, 1.0};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng({.seed = seed, .stream = 1});
    IwrrRouter router = router_to(std::vector<milliseconds>(4, milliseconds(1000)));
    std::vector<double> chosen(4, 0.0);
    constexpr int kCount = 30000;
    for (int k = 0; k < kCount; ++k) {
      const PeerId server = router.choose().value();
      chosen[server.low] += 1.0 / kCount;
      const double service = std::exp(0.3 * rng.normal() - 0.045) / speeds[server.low];
      const nanoseconds time(std::llround(service * 1e9));
      router.observe(server, {.service = time, .round_trip = time});
    }
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(chosen[k] / (speeds[k] / 15.0), 1.0, 0.02) << k;
    }
  }
}

TEST(IwrrRouter, ChargesByWork) {
  IwrrRouter router = router_to({milliseconds(100), milliseconds(100)});
  const PeerId heavy = router.choose(3.0).value();
  for (int k = 0; k < 2; ++k) {
    EXPECT_NE(router.choose().value(), heavy);
  }
}

TEST(IwrrRouter, TheFirstReportReplacesWhatWasAdvertised) {
  IwrrRouter router = router_to({milliseconds(1)});
  EXPECT_NEAR(estimate(router, 0), 1e-3, 1e-9);
  router.observe(peer(0), {.work = 2.0, .service = seconds(8), .round_trip = seconds(9)});
  EXPECT_NEAR(estimate(router, 0), 4.0, 1e-6);
  router.observe(peer(0), {.service = seconds(2), .round_trip = seconds(9)});
  // Bias-corrected: (0.9 * 0.1 * 4 + 0.1 * 2) / (1 - 0.81).
  EXPECT_NEAR(estimate(router, 0), 0.56 / 0.19, 1e-6);
}

TEST(IwrrRouter, ARoundTripAboveThreeTimesTheUsualCounts) {
  const auto after = [](milliseconds round_trip) {
    IwrrRouter router = router_to({milliseconds(100)});
    for (int k = 0; k < 50; ++k) {
      router.observe(peer(0), {.service = milliseconds(100), .round_trip = milliseconds(500)});
    }
    router.observe(peer(0), {.service = milliseconds(100), .round_trip = round_trip});
    return estimate(router, 0);
  };
  EXPECT_NEAR(after(milliseconds(1400)), 0.1, 1e-6);
  EXPECT_NEAR(after(milliseconds(2000)), 0.9 * 0.1 + 0.1 * 0.4, 1e-3);
  // One stall of an hour is not worth more than ten times the usual.
  EXPECT_NEAR(after(std::chrono::hours(1)), 0.9 * 0.1 + 0.1 * 1.0, 2e-3);
}

TEST(IwrrRouter, IgnoresNonsenseReports) {
  IwrrRouter router = router_to({milliseconds(100)});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double work : {0.0, -1.0, infinity, std::nan("")}) {
    router.observe(peer(0), {.work = work, .service = seconds(1), .round_trip = seconds(1)});
  }
  router.observe(peer(0), {.service = seconds(0), .round_trip = seconds(1)});
  router.observe(peer(0), {.service = seconds(1), .round_trip = seconds(-1)});
  router.observe(peer(7), {.service = seconds(1), .round_trip = seconds(1)});
  EXPECT_NEAR(estimate(router, 0), 0.1, 1e-9);
  EXPECT_EQ(router.service_per_work(peer(7)), std::nullopt);
}

TEST(IwrrRouter, ANewServerIsTriedAtOnceButNotFlooded) {
  IwrrRouter router = router_to({milliseconds(100), milliseconds(100)});
  choices(router, 1000);
  router.announce(peer(2), milliseconds(100));
  router.announce(peer(2), milliseconds(1));  // known: changes nothing
  EXPECT_EQ(choices(router, 3)[2], 1);
  EXPECT_NEAR(choices(router, 300)[2], 100, 1);
}

TEST(IwrrRouter, AWithdrawnServerIsNotChosenUntilItIsAnnouncedAgain) {
  IwrrRouter router = router_to({milliseconds(100), milliseconds(100)});
  router.observe(peer(0), {.service = seconds(9), .round_trip = seconds(9)});
  router.withdraw(peer(0));
  EXPECT_EQ(router.server_count(), 1U);
  for (int k = 0; k < 100; ++k) {
    ASSERT_EQ(router.choose(), peer(1));
  }
  router.announce(peer(0), milliseconds(100));
  EXPECT_NEAR(estimate(router, 0), 0.1, 1e-9);
  const std::vector<int> chosen = choices(router, 100);
  EXPECT_NEAR(chosen[0], 50, 1);
}

TEST(IwrrRouter, SendersStartWithDifferentServers) {
  std::map<PeerId, int> first;
  for (std::uint64_t sender = 0; sender < 400; ++sender) {
    IwrrRouter router = router_to(std::vector<milliseconds>(4, milliseconds(100)), sender);
    ++first[router.choose().value()];
  }
  ASSERT_EQ(first.size(), 4U);
  for (const auto& [server, count] : first) {
    EXPECT_NEAR(count, 100, 35);  // four standard deviations
  }
}

struct Running {
  PipelineScenario scenario;
  PipelineRates rates;
  Assignment assignment;
  double optimum = 0.0;
};

Running running(const char* example, Assignment assignment) {
  PipelineScenario scenario = pipeline_example(example).value();
  PipelineRates rates(scenario.peers, scenario.pipeline);
  const double optimum = throughput(rates, assignment).per_second();
  return {std::move(scenario), std::move(rates), std::move(assignment), optimum};
}

// Optimal assignments: of A one of many, of B the specification's, of C its own.
std::vector<Running> running_examples() {
  return {running("a", {0, 1, 2, 2, 3, 3, 3, 2, 0, 1}),
          running("b", {1, 2, 0, 3, 3, 4, 3, 4, 4, 4, 4, 0, 0, 0}),
          running("c", pipeline_example("c").value().current)};
}

TEST(PipelineRouting, ReachesTheOptimumWithFourMicrobatchesPerPeer) {
  for (const Running& pipeline : running_examples()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(::testing::Message() << pipeline.optimum << " seed " << seed);
      PipelineSim sim(pipeline.rates, pipeline.assignment,
                      {.in_flight = 4 * pipeline.rates.peer_count(), .seed = seed});
      sim.run_until(60.0);
      EXPECT_GE(sim.throughput_until(360.0), 0.95 * pipeline.optimum);
    }
  }
}

TEST(PipelineRouting, AtRandomWastesAThirdOrMore) {
  for (const Running& pipeline : running_examples()) {
    SCOPED_TRACE(pipeline.optimum);
    PipelineSim sim(pipeline.rates, pipeline.assignment,
                    {.routing = PipelineSimConfig::Routing::kUniformRandom, .in_flight = 64});
    sim.run_until(200.0);
    EXPECT_LE(sim.throughput_until(1200.0), 0.65 * pipeline.optimum);
  }
}

TEST(PipelineRouting, FollowsASlowdownWithinHalfAMinute) {
  const Running c = running_examples()[2];
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    PipelineSim sim(c.rates, c.assignment, {.in_flight = 64, .seed = seed});
    sim.run_until(100.0);
    sim.slow_down(0, 4.0);  // a peer of speed 8: its stage has 9 left of 15
    sim.run_until(130.0);
    EXPECT_GE(sim.throughput_until(190.0), 0.9 * 9.0);
  }
}

}  // namespace
}  // namespace hobnob
