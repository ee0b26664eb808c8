#include "apps/hobnob/job.h"

#include <gtest/gtest.h>

#include <fstream>

#include "apps/hobnob/job_presets.h"
#include "runtime/base/bytes.h"

namespace hobnob {
namespace {

constexpr const char* kQuadratic = R"({
  "workload": {"kind": "quadratic", "curvature": [[1, 2], [2, 1]], "target": [[0, 1], [1, 0]]}
})";

// What parse_job says of this text; "" if it takes it.
std::string refusal(const std::string& text) {
  const Result<Job> job = parse_job(text, "job.json");
  if (job.ok()) {
    return "";
  }
  EXPECT_EQ(job.error().code, ErrorCode::kInvalidArgument);
  return job.error().message;
}

void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  const std::string message = refusal(text);
  EXPECT_FALSE(message.empty()) << text;
  EXPECT_EQ(message.rfind("job.json:", 0), 0U) << message;
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
}

// The member at this path of a document, or null.
const Json* at_path(const Json& document, const std::string& path) {
  const Json* at = &document;
  std::size_t begin = 0;
  while (at != nullptr && begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = at->is_object() ? at->find(path.substr(begin, end - begin)) : nullptr;
    begin = end + 1;
  }
  return at;
}

TEST(Job, EveryExampleIsAGoodJobAndItsDocumentIsTheSameJob) {
  for (const char* name : {"fashion-mlp", "fashion-softmax", "quadratic"}) {
    SCOPED_TRACE(name);
    const Result<std::string> text = example_job(name);
    ASSERT_TRUE(text.ok());
    const Result<Job> job = parse_job(text.value(), name);
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job.value().name, name);
    for (const std::string& again : {job.value().document.dump(), job.value().document.dump(2),
                                     job.value().document.canonical()}) {
      const Result<Job> copy = parse_job(again, name);
      ASSERT_TRUE(copy.ok()) << copy.error().message;
      EXPECT_EQ(copy.value().document, job.value().document);
      EXPECT_EQ(copy.value().hash(), job.value().hash());
    }
  }
}

TEST(Job, ValuesReachTheirFields) {
  const Result<Job> job = parse_job(R"({
    "name": "n", "seed": 7, "rounds": 30, "evaluate_every": 10,
    "target": {"metric": "accuracy", "at_least": 0.5},
    "workload": {"kind": "mlp", "layers": [16, 8, 4], "batch": 5},
    "data": {"kind": "synthetic", "partition": {"kind": "dirichlet", "alpha": 0.25, "shards": 3}},
    "optimizer": {"kind": "adamw", "learning_rate": 0.125, "weight_decay": 0.5},
    "gossip": {"mode": "async", "order": "cta", "local_steps": 4, "gamma": 0.75,
               "topology": {"kind": "ring"}, "codec": {"kind": "bf16"}, "channel": "snapshot",
               "deadline_ms": 120, "fragment_values": 99, "max_edges": 5, "rejoin_lag": 17}
  })",
                                    "job.json");
  ASSERT_TRUE(job.ok()) << job.error().message;
  const Job& value = job.value();
  EXPECT_EQ(value.seed, 7U);
  EXPECT_EQ(value.rounds, 30U);
  EXPECT_EQ(value.target.at_least, 0.5);
  EXPECT_EQ(value.workload.layers, (std::vector<std::size_t>{16, 8, 4}));
  EXPECT_EQ(value.data.partition.shards, 3U);
  EXPECT_EQ(value.optimizer.kind, "adamw");
  EXPECT_EQ(value.optimizer.weight_decay, 0.5);
  EXPECT_EQ(value.gossip.mode, ClockMode::kAsync);
  EXPECT_EQ(value.gossip.order, RoundOrder::kCta);
  EXPECT_EQ(value.gossip.local_steps, 4U);
  EXPECT_EQ(value.gossip.topology.kind, "ring");
  EXPECT_EQ(value.gossip.topology.seed, 7U);
  EXPECT_EQ(value.gossip.codec.kind, "bf16");
  EXPECT_EQ(value.gossip.real_deadline(), std::chrono::milliseconds(120));
  EXPECT_EQ(value.gossip.max_edges, 5U);
  EXPECT_EQ(value.gossip.rejoin_lag, 17U);
}

TEST(Job, DefaultsAreFilledInAndCountForTheHash) {
  const Result<Job> terse = parse_job(kQuadratic, "a");
  ASSERT_TRUE(terse.ok()) << terse.error().message;
  const Result<Job> stated = parse_job(R"({
    "gossip": {"mode": "hybrid"}, "rounds": 1000, "seed": 1,
    "workload": {"target": [[0, 1], [1, 0]], "curvature": [[1, 2], [2, 1]], "kind": "quadratic"}
  })",
                                       "b");
  ASSERT_TRUE(stated.ok()) << stated.error().message;
  EXPECT_EQ(terse.value().hash(), stated.value().hash());
  EXPECT_NE(terse.value().hash(), 0U);
  EXPECT_EQ(terse.value().gossip.real_deadline(), std::chrono::milliseconds(300));
}

TEST(Job, TopologyKeysReachTheirFieldsAndTheDocument) {
  const auto topology = [](const std::string& keys) {
    return parse_job(R"({"gossip": {"topology": )" + keys + "}}", "job.json");
  };
  const Result<Job> grid = topology(R"({"kind": "grid", "dims": [4, 8]})");
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  EXPECT_EQ(grid.value().gossip.topology.dims, (std::vector<std::uint32_t>{4, 8}));
  EXPECT_EQ(at_path(grid.value().document, "gossip.topology")->canonical(),
            R"({"dims":[4,8],"kind":"grid"})");
  const Result<Job> levels = topology(R"({"kind": "two-level", "g": 4, "cross_every": 9})");
  ASSERT_TRUE(levels.ok()) << levels.error().message;
  EXPECT_EQ(levels.value().gossip.topology.g, 4U);
  EXPECT_EQ(at_path(levels.value().document, "gossip.topology")->canonical(),
            R"({"cross_every":9,"crossing":0,"g":4,"kind":"two-level"})");
  EXPECT_TRUE(topology(R"({"kind": "one-peer-exponential", "relabel": true})")
                  .value()
                  .gossip.topology.relabel);
  // What was written reads back the same.
  for (const std::string& kind : topology_kinds()) {
    const std::string graph = kind == "file" ? R"(, "graph": "0 1 1/2")" : "";
    const Result<Job> job = topology(R"({"kind": ")" + kind + R"(")" + graph + "}");
    ASSERT_TRUE(job.ok()) << job.error().message;
    const Result<Job> again = parse_job(job.value().document.dump(), "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value().hash(), job.value().hash());
  }
}

TEST(Job, AGraphFileIsReadIntoTheDocument) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/ring.edges") << "0 1\n1 2\n2 0\n";
  const std::string path = folder + "/graph-job.json";
  std::ofstream(path) << R"({"gossip": {"topology": {"kind": "file", "path": ")" + folder +
                             R"(/ring.edges"}}})";
  const Result<Job> job = read_job(path);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(at_path(job.value().document, "gossip.topology")->canonical(),
            R"({"graph":"0 1\n1 2\n2 0\n","kind":"file"})");
  // Whoever gets it from the swarm reads no file.
  expect_refused(R"({"gossip": {"topology": {"kind": "file", "path": "/etc/hostname"}}})",
                 {"gossip.topology.path"});
  std::ofstream(path) << R"({"gossip": {"topology": {"kind": "file", "path": "/nowhere"}}})";
  const Result<Job> missing = read_job(path);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/nowhere"), std::string::npos);
  EXPECT_NE(missing.error().message.find("gossip.topology.path"), std::string::npos);
}

TEST(Job, TopologyKeysOfAnotherKindAreRefused) {
  expect_refused(R"({"gossip": {"topology": {"kind": "ring", "g": 4}}})", {"gossip.topology.g"});
  expect_refused(R"({"gossip": {"topology": {"kind": "base-k", "g": 4}}})", {"gossip.topology.g"});
  expect_refused(R"({"gossip": {"topology": {"kind": "trie-groups", "g": 1}}})",
                 {"gossip.topology.g: must be 2..64, got 1"});
  expect_refused(R"({"gossip": {"topology": {"kind": "trie-groups", "g": 99999999999}}})",
                 {"gossip.topology.g"});
  expect_refused(R"({"gossip": {"topology": {"kind": "grid", "dims": [4, 1]}}})",
                 {"gossip.topology.dims"});
  expect_refused(R"({"gossip": {"topology": {"kind": "round-robin", "shuffled": 1}}})",
                 {"gossip.topology.shuffled"});
}

TEST(Job, OuterKeysReachTheirFieldsAndNoOthers) {
  const Result<Job> job = parse_job(
      R"({"optimizer": {"kind": "sgd", "momentum": 0.5, "nesterov": true, "clip": 2, "prox": 0.1, "warmup": 7},
          "gossip": {"outer": {"kind": "nesterov", "momentum": 0.8, "rate": 0.7}}})",
      "job.json");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job.value().gossip.outer.kind, "nesterov");
  EXPECT_EQ(job.value().gossip.outer.rate, 0.7);
  EXPECT_TRUE(job.value().optimizer.nesterov);
  EXPECT_EQ(job.value().optimizer.warmup, 7U);
  EXPECT_EQ(at_path(job.value().document, "gossip.outer")->canonical(),
            R"({"kind":"nesterov","momentum":0.8,"rate":0.7})");
  EXPECT_EQ(parse_job(job.value().document.dump(), "again").value().hash(), job.value().hash());
  expect_refused(R"({"gossip": {"outer": {"kind": "identity", "rate": 0.7}}})",
                 {"gossip.outer.rate"});
  expect_refused(R"({"gossip": {"outer": {"kind": "quasi-global", "rate": 0.7}}})",
                 {"gossip.outer.rate"});
  expect_refused(R"({"gossip": {"outer": {"kind": "nestrov"}}})", {"did you mean \"nesterov\""});
  expect_refused(R"({"optimizer": {"kind": "adamw", "nesterov": true}})",
                 {"optimizer.nesterov", "optimizer.kind adamw", "set optimizer.kind to sgd"});
}

TEST(Job, AnyChangedValueChangesTheHash) {
  const Job job = parse_job(kQuadratic, "a").value();
  for (
      const char* other :
      {R"({"seed": 2, "workload": {"kind": "quadratic", "curvature": [[1, 2], [2, 1]], "target": [[0, 1], [1, 0]]}})",
       R"({"workload": {"kind": "quadratic", "curvature": [[1, 2], [2, 1]], "target": [[0, 1], [1, 1e-9]]}})",
       R"({"gossip": {"gamma": 0.5}, "workload": {"kind": "quadratic", "curvature": [[1, 2], [2, 1]], "target": [[0, 1], [1, 0]]}})"}) {
    const Result<Job> changed = parse_job(other, "b");
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    EXPECT_NE(changed.value().hash(), job.hash());
    EXPECT_FALSE(first_difference(changed.value().document, job.document).empty());
  }
}

TEST(Job, AnUnknownKeySuggestsTheNearest) {
  expect_refused(R"({"rouds": 3})", {"rouds", "did you mean \"rounds\""});
  expect_refused(R"({"gossip": {"fragment_value": 3}})",
                 {"gossip.fragment_value", "did you mean \"gossip.fragment_values\""});
  expect_refused(R"({"gossip": {"codec": {"blok": 256}}})",
                 {"gossip.codec.blok", "\"gossip.codec.block\""});
  expect_refused(R"({"gossip": {"topology": {"kind": "rnig"}}})", {"did you mean \"ring\""});
}

TEST(Job, AWrongTypeIsNamed) {
  expect_refused(R"({"rounds": "many"})", {"rounds"});
  expect_refused(R"({"rounds": 1.5})", {"rounds"});
  expect_refused(R"({"name": 3})", {"name"});
  expect_refused(R"({"gossip": []})", {"gossip"});
  expect_refused(R"({"gossip": {"codec": "int8"}})", {"gossip.codec"});
  expect_refused(R"({"workload": {"layers": [1, "x"]}})", {"workload.layers"});
  expect_refused(R"({"optimizer": {"learning_rate": null}})", {"optimizer.learning_rate"});
  expect_refused("[1]", {});
  expect_refused("{\"rounds\": 1", {});
  expect_refused("", {});
}

TEST(Job, AValueOutOfRangeIsNamed) {
  expect_refused(R"({"rounds": 0})", {"rounds"});
  expect_refused(R"({"seed": -1})", {"seed"});
  expect_refused(R"({"optimizer": {"momentum": 1}})", {"optimizer.momentum"});
  expect_refused(R"({"optimizer": {"learning_rate": 0}})", {"optimizer.learning_rate"});
  expect_refused(R"({"gossip": {"gamma": 1.5}})", {"gossip.gamma"});
  expect_refused(R"({"gossip": {"local_steps": 0}})", {"gossip.local_steps"});
  expect_refused(R"({"target": {"at_least": 2}})", {"target.at_least"});
  expect_refused(R"({"gossip": {"codec": {"block": 128}}})", {"gossip.codec.block"});
  expect_refused(R"({"name": ")" + std::string(65, 'x') + R"("})", {"name"});
}

TEST(Job, SnapshotWithInt8IsRefusedNamingBothKeys) {
  expect_refused(R"({"gossip": {"channel": "snapshot", "codec": {"kind": "int8"}}})",
                 {"gossip.channel", "gossip.codec", "edge-replica"});
  expect_refused(R"({"gossip": {"channel": "snapshot"}})", {"gossip.codec"});  // int8 by default
}

TEST(Job, WarnsOfAGammaThatTheCodecCannotCarry) {
  const auto warned = [](const char* kind, double density, double gamma) {
    return warning(GossipConfig{.gamma = gamma, .codec = {.kind = kind, .density = density}});
  };
  EXPECT_EQ(warned("int8", 0.01, 1.0), "");
  EXPECT_EQ(warned("eq", 0.01, 1.0), "");
  EXPECT_EQ(warned("top-k", 0.01, 0.05), "");
  EXPECT_EQ(warned("power-sgd", 0.01, 0.2), "");
  const std::string text = warned("top-k", 0.01, 1.0);
  for (const char* part : {"gossip.gamma 1", "top-k", "to 0.05 or less"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_NE(warned("stc", 0.1, 1.0), "");
  EXPECT_NE(warned("power-sgd", 0.01, 1.0), "");
}

TEST(Job, WarnsOfAGammaThatSilenceTurnsIntoOvershoot) {
  const auto warned = [](double target, double gamma) {
    return warning(GossipConfig{.gamma = gamma, .trigger = {.kind = "rate", .target = target}});
  };
  EXPECT_EQ(warned(0.4, 1.0), "");
  EXPECT_EQ(warned(0.1, 0.25), "");
  const std::string text = warned(0.1, 1.0);
  for (const char* part : {"gossip.gamma 1", "gossip.trigger.target 0.1", "to 0.25 or less"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Job, TriggerKeysReachTheirFieldsAndNoOthers) {
  const Result<Job> job = parse_job(
      R"({"gossip": {"trigger": {"kind": "norm", "threshold": 3, "schedule": "geometric", "ratio": 0.9}}})",
      "job.json");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(
      at_path(job.value().document, "gossip.trigger")->canonical(),
      R"({"kind":"norm","max_silence":50,"ratio":0.9,"schedule":"geometric","threshold":3.0})");
  for (const char* trigger :
       {R"({"kind": "every", "period": 3})", R"({"kind": "rate", "target": 0.1, "max_silence": 9})",
        R"({"kind": "slope", "horizon": 0.5})", R"({"kind": "norm", "schedule": "step"})"}) {
    const Result<Job> one =
        parse_job(std::string(R"({"gossip": {"trigger": )") + trigger + "}}", "job.json");
    ASSERT_TRUE(one.ok()) << one.error().message;
    EXPECT_EQ(parse_job(one.value().document.dump(), "again").value().hash(), one.value().hash());
  }
  expect_refused(R"({"gossip": {"trigger": {"kind": "always", "target": 0.1}}})",
                 {"gossip.trigger.target"});
  expect_refused(R"({"gossip": {"trigger": {"kind": "norm", "ratio": 0.1}}})",
                 {"gossip.trigger.ratio"});
  expect_refused(R"({"gossip": {"trigger": {"kind": "rate", "target": 0}}})",
                 {"gossip.trigger.target"});
  expect_refused(R"({"gossip": {"trigger": {"kind": "slope", "horizon": 1.1}}})",
                 {"gossip.trigger.horizon"});
  expect_refused(
      R"({"gossip": {"trigger": {"kind": "norm"}, "channel": "snapshot", "codec": {"kind": "raw"}}})",
      {"gossip.trigger.kind norm", "gossip.channel snapshot", "use channel edge-replica"});
}

TEST(Job, AQuadraticNeedsItsMatrices) {
  expect_refused(R"({"workload": {"kind": "quadratic"}})", {"workload.curvature"});
  expect_refused(R"({"workload": {"kind": "quadratic", "curvature": [[1, 2]]}})",
                 {"workload.target"});
  expect_refused(
      R"({"workload": {"kind": "quadratic", "curvature": [[1, 2], [1]], "target": [[1, 2], [1, 1]]}})",
      {"workload.curvature"});
}

TEST(Job, DataMustGoWithTheWorkload) {
  expect_refused(R"({"workload": {"kind": "mlp"}, "data": {"kind": "none"}})", {"data.kind"});
  expect_refused(
      R"({"workload": {"kind": "quadratic", "curvature": [[1]], "target": [[1]]}, "data": {"kind": "idx"}})",
      {"data.kind"});
}

TEST(Job, PipelinesAreNotInThisBuild) {
  EXPECT_EQ(refusal(R"({"pipeline": null})"), "");
  expect_refused(R"({"pipeline": {"stages": 2}})", {"pipeline"});
}

TEST(Job, AnUnknownExampleNamesTheNearestAndAll) {
  const Result<std::string> job = example_job("fashion-mpl");
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(job.error().message.find("did you mean \"fashion-mlp\""), std::string::npos);
  EXPECT_NE(job.error().message.find("--list"), std::string::npos);
}

TEST(Job, EveryPresetIsAGoodJobOfItsName) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    const Result<Job> job = parse_job(example_job(preset.name).value(), preset.name);
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job.value().name, preset.name);
    EXPECT_EQ(warning(job.value().gossip), "");
    EXPECT_EQ(job.value().workload.kind, "mlp");
    for (const char* text : {preset.paper, preset.sends, preset.state, preset.when}) {
      EXPECT_FALSE(std::string(text).empty());
    }
  }
}

TEST(Job, MergingReplacesObjectsOfAnotherKindAndKeepsTheRest) {
  const Json document =
      parse_json(R"({"a": {"x": 1, "y": 2}, "b": {"kind": "p", "q": 3}})", "d").value();
  const Json edits = parse_json(R"({"a": {"y": 5}, "b": {"kind": "r"}, "c": 4})", "e").value();
  EXPECT_EQ(merged(document, edits).canonical(), R"({"a":{"x":1,"y":5},"b":{"kind":"r"},"c":4})");
}

TEST(Job, AMissingFileIsAnErrorThatSaysHowToStart) {
  const Result<Job> job = read_job("/no/such/job.json");
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().message.find("/no/such/job.json"), std::string::npos);
  EXPECT_NE(job.error().message.find("job example"), std::string::npos);
  EXPECT_FALSE(read_job("/").ok()) << "a folder is not a job";
}

TEST(Job, TheSchemaKnowsEveryKeyOfADocument) {
  const Json schema = job_schema();
  ASSERT_NE(schema.find("schema"), nullptr);
  EXPECT_EQ(schema.find("schema")->text(), "hobnob.job-schema/1");
  std::string all;
  for (const Json& key : schema.find("keys")->array()) {
    all += "\n" + key.find("key")->text();
    EXPECT_FALSE(key.find("type")->text().empty());
  }
  const Job job = parse_job(example_job("fashion-mlp").value(), "job").value();
  for (const auto& [key, member] : job.document.find("gossip")->object()) {
    EXPECT_NE(all.find("\ngossip." + key), std::string::npos) << key;
  }
  for (const std::string& kind : topology_kinds()) {
    for (const std::string& key : topology_keys(kind)) {
      EXPECT_NE(all.find("\ngossip.topology." + key), std::string::npos) << key;
    }
  }
  EXPECT_NE(at_path(job.document, "gossip.codec.block"), nullptr);
  EXPECT_EQ(at_path(job.document, "gossip.codec.blok"), nullptr);
}

}  // namespace
}  // namespace hobnob
