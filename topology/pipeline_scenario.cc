#include "topology/pipeline_scenario.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "runtime/base/object_reader.h"

namespace hobnob {

namespace {

constexpr std::size_t kMaxNameBytes = 64;
// Far beyond any machine; between them no quotient overflows or vanishes.
constexpr double kLeast = 1e-9;
constexpr double kMost = 1e18;

std::string indexed(const char* key, std::size_t index) {
  return format("%s[%zu]", key, index);
}

// The members of a list that must be there, hold something and not too much.
Json::Array read_list(ObjectReader& reader, const char* key, std::size_t most) {
  Json list = reader.any(key);
  if (list.is_null()) {
    reader.fail(key, "missing; it must be a list of at least one object");
    return {};
  }
  if (!list.is_array()) {
    reader.fail(key, "expected a list [...]");
    return {};
  }
  if (list.array().empty() || list.array().size() > most) {
    reader.fail(key, format("%zu entries; give 1 to %zu", list.array().size(), most));
    return {};
  }
  return list.array();
}

double required(ObjectReader& reader, const char* key) {
  if (!reader.has(key)) {
    reader.fail(key, "missing; give a positive number");
  }
  return reader.number(key, 1.0, kLeast, kMost);
}

StageCost read_stage(ObjectReader& reader) {
  StageCost stage;
  stage.work = required(reader, "work");
  stage.memory_bytes = reader.number("memory_bytes", 0.0, 0.0, kMost);
  stage.activation_bytes = reader.number("activation_bytes", 0.0, 0.0, kMost);
  return stage;
}

PeerResources read_peer(ObjectReader& reader) {
  const auto limit = [&reader](const char* key, double low) {
    return reader.has(key) ? reader.number(key, kMost, low, kMost) : PeerResources::kUnlimited;
  };
  PeerResources peer;
  peer.speed = required(reader, "speed");
  peer.memory_bytes = limit("memory_bytes", 0.0);
  peer.up = limit("up", kLeast);
  peer.down = limit("down", kLeast);
  return peer;
}

// Names are printed: one line, not too long.
std::string read_name(ObjectReader& reader, std::size_t index) {
  std::string name = reader.text("name", format("p%zu", index));
  const bool is_control = std::ranges::any_of(name, [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code < 0x20 || code == 0x7F;
  });
  if (name.empty() || name.size() > kMaxNameBytes || is_control) {
    reader.fail("name",
                format("expected 1 to %zu bytes without control characters", kMaxNameBytes));
  }
  return name;
}

std::uint32_t read_current(ObjectReader& reader,
                           const PeerResources& peer,
                           const Pipeline& pipeline) {
  if (!reader.has("stage")) {
    return kIdle;
  }
  const auto last = static_cast<std::int64_t>(pipeline.stages.size()) - 1;
  const auto stage = static_cast<std::size_t>(reader.integer("stage", 0, 0, last));
  const double needed = pipeline.stages[stage].memory_bytes;
  if (needed > peer.memory_bytes) {
    reader.fail("stage", format("stage %zu needs %g bytes of memory, the peer has %g", stage,
                                needed, peer.memory_bytes));
  }
  return static_cast<std::uint32_t>(stage);
}

void read_stages(ObjectReader& reader, Pipeline& pipeline) {
  std::size_t index = 0;
  for (const Json& each : read_list(reader, "stages", kMaxPipelineStages)) {
    ObjectReader stage(each, indexed("stages", index++));
    pipeline.stages.push_back(read_stage(stage));
    reader.adopt(stage.finish());
  }
}

// After the stages.
void read_peers(ObjectReader& reader, PipelineScenario& scenario) {
  std::set<std::string> seen;
  std::size_t index = 0;
  for (const Json& each : read_list(reader, "peers", kMaxPipelinePeers)) {
    ObjectReader peer(each, indexed("peers", index));
    PeerResources resources = read_peer(peer);
    resources.id = {.high = 0, .low = index + 1};
    scenario.current.push_back(read_current(peer, resources, scenario.pipeline));
    scenario.peers.push_back(resources);
    scenario.names.push_back(read_name(peer, index));
    if (!seen.insert(scenario.names.back()).second) {
      peer.fail("name", "\"" + scenario.names.back() + "\" is another peer's name; rename one");
    }
    reader.adopt(peer.finish());
    ++index;
  }
}

std::chrono::milliseconds read_seconds(ObjectReader& reader,
                                       const char* key,
                                       std::chrono::milliseconds fallback) {
  constexpr double kYear = 365.0 * 24.0 * 3600.0;
  const double seconds =
      reader.number(key, std::chrono::duration<double>(fallback).count(), 0.0, kYear);
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

RebalancePolicy read_policy(ObjectReader& reader) {
  RebalancePolicy policy;
  policy.min_gain_percent = static_cast<std::uint32_t>(
      reader.integer("min_gain_percent", policy.min_gain_percent, 0, 100));
  policy.max_movers = static_cast<std::uint32_t>(
      reader.integer("max_movers", policy.max_movers, 2, kMaxPipelinePeers));
  policy.horizon = read_seconds(reader, "horizon_s", policy.horizon);
  policy.sync = read_seconds(reader, "sync_s", policy.sync);
  return policy;
}

// Peers of one kind, appended `count` times.
void add_peers(PipelineScenario& scenario, std::size_t count, PeerResources kind) {
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t index = scenario.peers.size();
    kind.id = {.high = 0, .low = index + 1};
    scenario.peers.push_back(kind);
    scenario.names.push_back(format("p%zu", index));
    scenario.current.push_back(kIdle);
  }
}

PipelineScenario example_a() {
  PipelineScenario scenario;
  scenario.pipeline.stages.assign(4, StageCost{});
  for (const double speed : {8.0, 8.0, 4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 1.0, 1.0}) {
    add_peers(scenario, 1, {.speed = speed});
  }
  return scenario;
}

PipelineScenario example_b(double activation_scale) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  const double wide = 8.0 * kMega * activation_scale;
  const double narrow = 0.01 * kMega * activation_scale;  // token ids in, a loss out
  PipelineScenario scenario;
  scenario.pipeline = {
      .stages = {{.work = 1.0, .memory_bytes = 6.0 * kGiga, .activation_bytes = wide},
                 {.work = 2.0, .memory_bytes = 10.0 * kGiga, .activation_bytes = wide},
                 {.work = 2.0, .memory_bytes = 10.0 * kGiga, .activation_bytes = wide},
                 {.work = 2.0, .memory_bytes = 10.0 * kGiga, .activation_bytes = wide},
                 {.work = 3.0, .memory_bytes = 14.0 * kGiga, .activation_bytes = narrow}},
      .input_bytes = narrow};
  const auto kind = [](double speed, double gigabytes, double megabytes_per_second) {
    return PeerResources{.speed = speed,
                         .memory_bytes = gigabytes * kGiga,
                         .up = megabytes_per_second * kMega,
                         .down = megabytes_per_second * kMega};
  };
  add_peers(scenario, 2, kind(10.0, 40.0, 125.0));
  add_peers(scenario, 4, kind(4.5, 24.0, 25.0));
  add_peers(scenario, 5, kind(2.0, 16.0, 12.5));
  add_peers(scenario, 3, kind(1.0, 6.0, 6.25));
  return scenario;
}

PipelineScenario example_c() {
  PipelineScenario scenario;
  scenario.pipeline.stages.assign(4, StageCost{});
  for (const double speed : {8.0, 4.0, 2.0, 1.0}) {
    add_peers(scenario, 4, {.speed = speed});
  }
  for (std::uint32_t p = 0; p < scenario.current.size(); ++p) {
    scenario.current[p] = p % 4;
  }
  return scenario;
}

PipelineScenario example_d() {
  PipelineScenario scenario;
  for (int s = 0; s < 8; ++s) {
    scenario.pipeline.stages.push_back({.work = 1.0 + s / 14.0});
  }
  for (int p = 0; p < 64; ++p) {
    add_peers(scenario, 1, {.speed = std::exp2((37 * p % 64) / 16.0)});
  }
  return scenario;
}

}  // namespace

Result<PipelineScenario> parse_pipeline_scenario(std::string_view text, std::string_view source) {
  const Result<Json> json = parse_json(text, source);
  if (!json.ok()) {
    return json.error();
  }
  ObjectReader reader(json.value(), "");
  PipelineScenario scenario;
  scenario.pipeline.input_bytes = reader.number("input_bytes", 0.0, 0.0, kMost);
  read_stages(reader, scenario.pipeline);
  if (!scenario.pipeline.stages.empty()) {
    read_peers(reader, scenario);
  }
  ObjectReader rebalance(reader.object("rebalance"), "rebalance");
  scenario.policy = read_policy(rebalance);
  reader.adopt(rebalance.finish());
  const Result<void> end = reader.finish();
  if (!end.ok()) {
    return make_error(ErrorCode::kInvalidArgument, "%s: %s", std::string(source).c_str(),
                      end.error().message.c_str());
  }
  return scenario;
}

const std::vector<std::string>& pipeline_example_names() {
  static const std::vector<std::string> names{"a", "b", "b-int8", "c", "d"};
  return names;
}

Result<PipelineScenario> pipeline_example(std::string_view name) {
  if (name == "a") {
    return example_a();
  }
  if (name == "b") {
    return example_b(1.0);
  }
  if (name == "b-int8") {
    return example_b(0.5);
  }
  if (name == "c") {
    return example_c();
  }
  if (name == "d") {
    return example_d();
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "pipeline example \"%s\": unknown; give a, b, b-int8, c or d",
                    std::string(name).c_str());
}

}  // namespace hobnob
