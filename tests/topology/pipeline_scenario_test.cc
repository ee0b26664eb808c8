#include "topology/pipeline_scenario.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/base/json.h"

namespace hobnob {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string problem(std::string_view text) {
  const Result<PipelineScenario> scenario = parse_pipeline_scenario(text, "s.json");
  return scenario.ok() ? "" : scenario.error().message;
}

// A scenario with one stage and one peer that have these members besides the required ones.
std::string one_peer(const std::string& members) {
  return R"({"stages": [{"work": 1}], "peers": [{"speed": 1)" + members + "}]}";
}

std::string one_stage(const std::string& members) {
  return R"({"stages": [{"work": 1)" + members + R"(}], "peers": [{"speed": 1}]})";
}

TEST(PipelineScenario, ReadsEveryKey) {
  const Result<PipelineScenario> read = parse_pipeline_scenario(R"({
    "input_bytes": 100,
    "stages": [{"work": 1, "memory_bytes": 6e9, "activation_bytes": 8e6}, {"work": 2.5}],
    "peers": [{"name": "tower", "speed": 10, "memory_bytes": 8e9, "up": 1.25e6, "down": 1.25e8,
               "stage": 1},
              {"speed": 0.5}],
    "rebalance": {"min_gain_percent": 5, "max_movers": 2, "horizon_s": 600, "sync_s": 0.5}})",
                                                                "s.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const PipelineScenario& scenario = read.value();
  EXPECT_EQ(scenario.pipeline.input_bytes, 100.0);
  ASSERT_EQ(scenario.pipeline.stages.size(), 2U);
  EXPECT_EQ(scenario.pipeline.stages[0].memory_bytes, 6e9);
  EXPECT_EQ(scenario.pipeline.stages[0].activation_bytes, 8e6);
  EXPECT_EQ(scenario.pipeline.stages[1].work, 2.5);
  EXPECT_EQ(scenario.pipeline.stages[1].memory_bytes, 0.0);
  ASSERT_EQ(scenario.peers.size(), 2U);
  EXPECT_EQ(scenario.peers[0].id, (PeerId{.high = 0, .low = 1}));
  EXPECT_EQ(scenario.peers[0].speed, 10.0);
  EXPECT_EQ(scenario.peers[0].memory_bytes, 8e9);
  EXPECT_EQ(scenario.peers[0].up, 1.25e6);
  EXPECT_EQ(scenario.peers[0].down, 1.25e8);
  EXPECT_EQ(scenario.peers[1].memory_bytes, kInfinity);
  EXPECT_EQ(scenario.peers[1].up, kInfinity);
  EXPECT_EQ(scenario.names, (std::vector<std::string>{"tower", "p1"}));
  EXPECT_EQ(scenario.current, (Assignment{1, kIdle}));
  EXPECT_EQ(scenario.policy.min_gain_percent, 5U);
  EXPECT_EQ(scenario.policy.max_movers, 2U);
  EXPECT_EQ(scenario.policy.horizon, std::chrono::minutes(10));
  EXPECT_EQ(scenario.policy.sync, std::chrono::milliseconds(500));
}

TEST(PipelineScenario, WhatItAcceptsIsValid) {
  const Result<PipelineScenario> read = parse_pipeline_scenario(
      one_peer(R"(, "memory_bytes": 0, "up": 1e-9, "down": 1e18)"), "s.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(validate(read.value().pipeline).ok());
  EXPECT_TRUE(validate(read.value().peers[0]).ok());
  EXPECT_TRUE(validate(read.value().policy).ok());
  EXPECT_EQ(PipelineRates(read.value().peers, read.value().pipeline).peer_count(), 1U);
}

struct BadScenario {
  std::string text;
  const char* says;  // the beginning of the message, after the source
};

TEST(PipelineScenario, EveryErrorNamesSourceAndKey) {
  const std::vector<BadScenario> table{
      {"[]", "document: "},
      {"{}", "stages: missing"},
      {R"({"stages": []})", "stages: 0 entries"},
      {R"({"stages": 3})", "stages: expected a list"},
      {R"({"stages": [3]})", "stages[0]: expected an object"},
      {R"({"stages": [{"work": 1}]})", "peers: missing"},
      {R"({"stages": [{}], "peers": [{"speed": 1}]})", "stages[0].work: missing"},
      {R"({"stages": [{"work": 1}], "peers": [{}]})", "peers[0].speed: missing"},
      {R"({"stages": [{"work": 0}], "peers": [{"speed": 1}]})", "stages[0].work: 0 is out of"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1}, {"speed": -2}]})",
       "peers[1].speed: -2 is out of"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": "fast"}]})",
       "peers[0].speed: expected a number"},
      {one_stage(R"(, "memory_bytes": -1)"), "stages[0].memory_bytes: -1 is out of"},
      {one_stage(R"(, "activation_bytes": 1e19)"), "stages[0].activation_bytes: 1e+19 is out"},
      {one_stage(R"(, "activation_byte": 1)"),
       "stages[0].activation_byte: unknown key; did you mean \"stages[0].activation_bytes\"?"},
      {one_peer(R"(, "up": 0)"), "peers[0].up: 0 is out of"},
      {one_peer(R"(, "down": -1)"), "peers[0].down: -1 is out of"},
      {one_peer(R"(, "stage": 1)"), "peers[0].stage: 1 is out of range [0, 0]"},
      {one_peer(R"(, "stage": 0.5)"), "peers[0].stage: expected a whole number"},
      {one_peer(R"(, "name": "")"), "peers[0].name: expected 1 to 64 bytes"},
      {one_peer(R"(, "name": "a\u001b[2J")"), "peers[0].name: expected 1 to 64 bytes"},
      {one_peer(R"(, "memory_byte": 1)"),
       "peers[0].memory_byte: unknown key; did you mean \"peers[0].memory_bytes\"?"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1, "name": "p1"}, {"speed": 1}]})",
       "peers[1].name: \"p1\" is another peer's name"},
      {R"({"stages": [{"work": 1, "memory_bytes": 8}],
           "peers": [{"speed": 1, "memory_bytes": 4, "stage": 0}]})",
       "peers[0].stage: stage 0 needs 8 bytes of memory, the peer has 4"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1}], "rebalance": {"max_movers": 1}})",
       "rebalance.max_movers: 1 is out of"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1}], "rebalance": {"horizon": 1}})",
       "rebalance.horizon: unknown key; did you mean \"rebalance.horizon_s\"?"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1}], "rebalance": {"sync_s": 1e9}})",
       "rebalance.sync_s: 1e+09 is out of"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1}], "stage": 1})",
       "stage: unknown key; did you mean \"stages\"?"},
      {R"({"stages": [{"work": 1}], "peers": [{"speed": 1}], "input_bytes": -1})",
       "input_bytes: -1 is out of"}};
  for (const BadScenario& bad : table) {
    EXPECT_EQ(problem(bad.text).rfind("s.json: " + std::string(bad.says), 0), 0U)
        << bad.text << "\n  gives " << problem(bad.text);
  }
}

TEST(PipelineScenario, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "{\"stages\": [NaN]}", "{\"input_bytes\": 1e999}",
                           "{\"stages\": 1, \"stages\": 1}"}) {
    EXPECT_EQ(problem(text).rfind("s.json:1: ", 0), 0U) << text << " gives " << problem(text);
  }
}

TEST(PipelineScenario, CountsAreBounded) {
  const auto many = [](std::size_t stages, std::size_t peers) {
    Json json;
    json.set("stages", Json(Json::Array(stages, Json().set("work", 1.0))));
    json.set("peers", Json(Json::Array(peers, Json().set("speed", 1.0))));
    return json.dump();
  };
  EXPECT_EQ(problem(many(kMaxPipelineStages, 1)), "");
  EXPECT_EQ(problem(many(kMaxPipelineStages + 1, 1)), "s.json: stages: 257 entries; give 1 to 256");
  EXPECT_EQ(problem(many(1, kMaxPipelinePeers)), "");
  EXPECT_EQ(problem(many(1, kMaxPipelinePeers + 1)), "s.json: peers: 4097 entries; give 1 to 4096");
}

TEST(PipelineScenario, EveryTruncationIsRefused) {
  const std::string text = R"({"stages": [{"work": 1}], "peers": [{"speed": 1}]})";
  ASSERT_EQ(problem(text), "");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(problem(text.substr(0, length)), "") << length;
  }
}

TEST(PipelineExample, IsKnownByNameAndValid) {
  for (const std::string& name : pipeline_example_names()) {
    const PipelineScenario example = pipeline_example(name).value();
    EXPECT_TRUE(validate(example.pipeline).ok()) << name;
    EXPECT_EQ(example.names.size(), example.peers.size());
    EXPECT_EQ(example.current.size(), example.peers.size());
  }
  const Result<PipelineScenario> unknown = pipeline_example("e");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "pipeline example \"e\": unknown; give a, b, b-int8, c or d");
}

}  // namespace
}  // namespace hobnob
