#include "apps/hobnob/job.h"

#include <filesystem>

#include "apps/hobnob/codec_spec.h"
#include "apps/hobnob/read_file.h"
#include "apps/hobnob/topology_spec.h"
#include "runtime/base/bytes.h"
#include "runtime/base/hash.h"
#include "runtime/base/object_reader.h"
#include "runtime/wire/messages.h"

namespace hobnob {

namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

std::string name_of(ClockMode mode) {
  return mode == ClockMode::kSync ? "sync" : mode == ClockMode::kAsync ? "async" : "hybrid";
}

Json list_of(const std::vector<std::size_t>& values) {
  Json list(Json::Array{});
  for (const std::size_t value : values) {
    list.push(Json(static_cast<std::int64_t>(value)));
  }
  return list;
}

Json matrix_of(const Rows& rows) {
  Json matrix(Json::Array{});
  for (const auto& row : rows) {
    Json line(Json::Array{});
    for (const double value : row) {
      line.push(Json(value));
    }
    matrix.push(std::move(line));
  }
  return matrix;
}

Result<void> read_target(const Json& json, Target& target) {
  if (json.is_null()) {
    return {};
  }
  ObjectReader reader(json, "target");
  target.metric = reader.choice("metric", "accuracy", {"accuracy"});
  target.at_least = reader.number("at_least", 0.0, 0.0, 1.0);
  return reader.finish();
}

Result<void> read_workload(const Json& json, WorkloadConfig& workload) {
  ObjectReader reader(json, "workload");
  workload.kind = reader.choice("kind", "mlp", {"mlp", "softmax", "quadratic"});
  workload.layers.clear();
  for (const std::int64_t width : reader.integers("layers", 1, 1 << 20)) {
    workload.layers.push_back(static_cast<std::size_t>(width));
  }
  workload.batch = static_cast<std::size_t>(reader.integer("batch", 32, 1, 1 << 20));
  workload.curvature = reader.matrix("curvature");
  workload.target = reader.matrix("target");
  if (workload.kind == "quadratic" && workload.curvature.empty()) {
    reader.fail("curvature",
                "a quadratic needs it: a row of curvatures per peer, [[1, 2], [2, 1]]");
  }
  if (workload.curvature.size() != workload.target.size()) {
    reader.fail("target", "needs as many rows as curvature");
  }
  return reader.finish();
}

Result<void> read_partition(const Json& json, PartitionConfig& partition) {
  ObjectReader reader(json, "data.partition");
  partition.kind = reader.choice("kind", "iid", {"iid", "dirichlet"});
  partition.alpha = reader.number("alpha", 0.5, 1e-3, 1e6);
  partition.shards = static_cast<std::uint32_t>(reader.integer("shards", 0, 0, 4096));
  return reader.finish();
}

Result<void> read_data(const Json& json, const std::string& workload, DataConfig& data) {
  ObjectReader reader(json, "data");
  const bool has_samples = workload != "quadratic";
  data.kind = reader.choice("kind", has_samples ? "idx" : "none", {"idx", "synthetic", "none"});
  data.path = reader.text("path", data.path);
  reader.adopt(read_partition(reader.object("partition"), data.partition));
  if (has_samples != (data.kind != "none")) {
    reader.fail("kind",
                "\"" + data.kind + "\" does not go with workload.kind \"" + workload + "\"");
  }
  return reader.finish();
}

Result<void> read_optimizer(const Json& json, OptimizerConfig& optimizer) {
  ObjectReader reader(json, "optimizer");
  optimizer.kind = reader.choice("kind", "sgd", {"sgd", "adamw", "lion"});
  optimizer.learning_rate = reader.number("learning_rate", 0.05, 1e-12, 1e3);
  optimizer.schedule = reader.choice("schedule", "constant", {"constant", "linear", "cosine"});
  optimizer.warmup = static_cast<std::uint64_t>(reader.integer("warmup", 0, 0, kBillion));
  optimizer.momentum = reader.number("momentum", 0.0, 0.0, 0.9999);
  optimizer.nesterov = reader.boolean("nesterov", false);
  optimizer.beta1 = reader.number("beta1", 0.9, 0.0, 0.9999);
  optimizer.beta2 = reader.number("beta2", 0.999, 0.0, 0.999999);
  optimizer.epsilon = reader.number("epsilon", 1e-8, 1e-30, 1.0);
  optimizer.weight_decay = reader.number("weight_decay", 0.0, 0.0, 10.0);
  optimizer.clip = reader.number("clip", 0.0, 0.0, 1e9);
  optimizer.prox = reader.number("prox", 0.0, 0.0, 1e6);
  return reader.finish();
}

bool may_be_silent_for_long(const TriggerConfig& trigger) {
  return trigger.kind == "norm" || trigger.kind == "rate" || trigger.kind == "slope";
}

Result<void> read_trigger(const Json& json, TriggerConfig& trigger) {
  ObjectReader reader(json, "gossip.trigger");
  trigger.kind = reader.choice("kind", "always", {"always", "every", "norm", "rate", "slope"});
  if (trigger.kind == "every") {
    trigger.period = static_cast<std::uint64_t>(reader.integer("period", 10, 1, kBillion));
  } else if (trigger.kind == "norm") {
    trigger.threshold = reader.number("threshold", 0.1, 0.0, 1e12);
    trigger.schedule =
        reader.choice("schedule", "constant", {"constant", "sqrt", "inverse", "geometric", "step"});
    if (trigger.schedule == "geometric") {
      trigger.ratio = reader.number("ratio", 0.99, 1e-6, 1.0);
    }
  } else if (trigger.kind == "rate") {
    trigger.target = reader.number("target", 0.2, 1e-6, 1.0);
  } else if (trigger.kind == "slope") {
    trigger.horizon = reader.number("horizon", 0.95, 1e-6, 1.0);
  }
  if (may_be_silent_for_long(trigger)) {
    trigger.max_silence =
        static_cast<std::uint64_t>(reader.integer("max_silence", 50, 1, kBillion));
  }
  return reader.finish();
}

Json write_trigger(const TriggerConfig& trigger) {
  Json json;
  json.set("kind", trigger.kind);
  if (trigger.kind == "every") {
    json.set("period", trigger.period);
  } else if (trigger.kind == "norm") {
    json.set("threshold", trigger.threshold).set("schedule", trigger.schedule);
    if (trigger.schedule == "geometric") {
      json.set("ratio", trigger.ratio);
    }
  } else if (trigger.kind == "rate") {
    json.set("target", trigger.target);
  } else if (trigger.kind == "slope") {
    json.set("horizon", trigger.horizon);
  }
  if (may_be_silent_for_long(trigger)) {
    json.set("max_silence", trigger.max_silence);
  }
  return json;
}

Result<void> read_outer(const Json& json, OuterConfig& outer) {
  ObjectReader reader(json, "gossip.outer");
  outer.kind =
      reader.choice("kind", "identity", {"identity", "heavy-ball", "nesterov", "quasi-global"});
  if (outer.kind != "identity") {
    outer.momentum = reader.number("momentum", 0.9, 0.0, 0.9999);
  }
  if (outer.kind == "heavy-ball" || outer.kind == "nesterov") {
    outer.rate = reader.number("rate", 1.0, 1e-6, 10.0);
  }
  if (outer.kind == "quasi-global") {
    outer.decay = reader.number("decay", 0.9, 0.0, 0.9999);
  }
  return reader.finish();
}

Json write_outer(const OuterConfig& outer) {
  Json json;
  json.set("kind", outer.kind);
  if (outer.kind != "identity") {
    json.set("momentum", outer.momentum);
  }
  if (outer.kind == "heavy-ball" || outer.kind == "nesterov") {
    json.set("rate", outer.rate);
  }
  if (outer.kind == "quasi-global") {
    json.set("decay", outer.decay);
  }
  return json;
}

Result<void> read_gossip(const Json& json, GossipConfig& gossip) {
  ObjectReader reader(json, "gossip");
  const std::string mode = reader.choice("mode", "hybrid", {"sync", "hybrid", "async"});
  gossip.mode = mode == "sync"    ? ClockMode::kSync
                : mode == "async" ? ClockMode::kAsync
                                  : ClockMode::kHybrid;
  gossip.order =
      reader.choice("order", "atc", {"atc", "cta"}) == "atc" ? RoundOrder::kAtc : RoundOrder::kCta;
  gossip.local_steps = static_cast<std::uint32_t>(reader.integer("local_steps", 1, 1, 1 << 20));
  gossip.gamma = reader.number("gamma", 1.0, 1e-6, 1.0);
  gossip.clip = reader.number("clip", 0.0, 0.0, 1e12);
  reader.adopt(read_topology(reader.object("topology"), gossip.topology));
  reader.adopt(read_codec(reader.object("codec"), gossip.codec));
  gossip.channel =
      reader.choice("channel", "edge-replica", {"edge-replica", "snapshot", "error-feedback"});
  reader.adopt(read_trigger(reader.object("trigger"), gossip.trigger));
  reader.adopt(read_outer(reader.object("outer"), gossip.outer));
  reader.choice("correction", "none", {"none"});
  gossip.deadline = std::chrono::milliseconds(reader.integer("deadline_ms", 0, 0, 3'600'000));
  gossip.fragment_values =
      static_cast<std::size_t>(reader.integer("fragment_values", 1 << 20, 1, 1 << 28));
  gossip.max_edges = static_cast<std::size_t>(reader.integer("max_edges", 64, 1, 4096));
  gossip.rejoin_lag = static_cast<std::uint64_t>(reader.integer("rejoin_lag", 200, 1, kBillion));
  return reader.finish();
}

Json write_gossip(const GossipConfig& gossip) {
  Json json;
  json.set("mode", name_of(gossip.mode));
  json.set("order", gossip.order == RoundOrder::kAtc ? "atc" : "cta");
  json.set("local_steps", static_cast<std::int64_t>(gossip.local_steps));
  json.set("gamma", gossip.gamma).set("clip", gossip.clip);
  json.set("topology", write_topology(gossip.topology));
  json.set("codec", write_codec(gossip.codec));
  json.set("channel", gossip.channel);
  json.set("trigger", write_trigger(gossip.trigger));
  json.set("correction", "none");
  json.set("outer", write_outer(gossip.outer));
  json.set("deadline_ms",
           static_cast<std::int64_t>(gossip.deadline / std::chrono::milliseconds(1)));
  json.set("fragment_values", static_cast<std::int64_t>(gossip.fragment_values));
  json.set("max_edges", static_cast<std::int64_t>(gossip.max_edges));
  json.set("rejoin_lag", gossip.rejoin_lag);
  return json;
}

Json write_job(const Job& job) {
  Json json;
  json.set("name", job.name).set("seed", job.seed).set("rounds", job.rounds);
  json.set("evaluate_every", job.evaluate_every);
  json.set("target",
           job.target.metric.empty()
               ? Json()
               : Json().set("metric", job.target.metric).set("at_least", job.target.at_least));
  Json workload;
  workload.set("kind", job.workload.kind);
  if (job.workload.kind == "quadratic") {
    workload.set("curvature", matrix_of(job.workload.curvature))
        .set("target", matrix_of(job.workload.target));
  } else {
    workload.set("layers", list_of(job.workload.layers));
    workload.set("batch", static_cast<std::int64_t>(job.workload.batch));
  }
  json.set("workload", std::move(workload));
  Json partition;
  partition.set("kind", job.data.partition.kind).set("alpha", job.data.partition.alpha);
  partition.set("shards", static_cast<std::int64_t>(job.data.partition.shards));
  json.set("data", Json()
                       .set("kind", job.data.kind)
                       .set("path", job.data.path)
                       .set("partition", std::move(partition)));
  const OptimizerConfig& o = job.optimizer;
  Json optimizer;
  optimizer.set("kind", o.kind).set("learning_rate", o.learning_rate).set("schedule", o.schedule);
  optimizer.set("warmup", o.warmup);
  optimizer.set("momentum", o.momentum).set("nesterov", o.nesterov);
  optimizer.set("beta1", o.beta1).set("beta2", o.beta2).set("epsilon", o.epsilon);
  optimizer.set("weight_decay", o.weight_decay).set("clip", o.clip).set("prox", o.prox);
  json.set("optimizer", std::move(optimizer));
  json.set("gossip", write_gossip(job.gossip));
  json.set("pipeline", Json());
  return json;
}

Result<void> read_all(ObjectReader& reader, Job& job) {
  job.name = reader.text("name", "unnamed");
  if (job.name.size() > 64) {
    reader.fail("name", "longer than 64 characters");
  }
  job.seed = static_cast<std::uint64_t>(reader.integer("seed", 1, 0, INT64_MAX));
  job.rounds = static_cast<std::uint64_t>(reader.integer("rounds", 1000, 1, kBillion));
  job.evaluate_every = static_cast<std::uint64_t>(reader.integer("evaluate_every", 0, 0, kBillion));
  reader.adopt(read_target(reader.any("target"), job.target));
  reader.adopt(read_workload(reader.object("workload"), job.workload));
  reader.adopt(read_data(reader.object("data"), job.workload.kind, job.data));
  reader.adopt(read_optimizer(reader.object("optimizer"), job.optimizer));
  reader.adopt(read_gossip(reader.object("gossip"), job.gossip));
  if (!reader.any("pipeline").is_null()) {
    reader.fail("pipeline", "pipelines are not in this build; write null or remove the key");
  }
  return reader.finish();
}

}  // namespace

std::uint64_t Job::hash() const {
  const std::uint64_t hash = hash_bytes(as_bytes(document.canonical()));
  return hash == 0 ? 1 : hash;  // 0 marks a guest on the wire
}

void Job::refresh_document() {
  document = write_job(*this);
}

namespace {

Result<Job> job_of(const Json& json, std::string_view name) {
  Job job;
  ObjectReader reader(json, "");
  Result<void> read = read_all(reader, job);
  job.gossip.topology.seed = job.seed;
  if (read.ok()) {
    read = validate(job.gossip);
  }
  if (read.ok()) {
    read = validate(job.optimizer);
  }
  if (read.ok()) {
    read = validate(job.data.partition);
  }
  if (!read.ok()) {
    return make_error(ErrorCode::kInvalidArgument, "%s: %s", std::string(name).c_str(),
                      read.error().message.c_str());
  }
  job.refresh_document();
  const std::size_t bytes = job.document.dump().size();
  if (bytes > kMaxJobBytes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: %zu bytes with its defaults; a swarm hands out jobs of at most %zu",
                      std::string(name).c_str(), bytes, kMaxJobBytes);
  }
  return job;
}

}  // namespace

Result<Job> parse_job(std::string_view text, std::string_view name) {
  const Result<Json> json = parse_json(text, name);
  return json.ok() ? job_of(json.value(), name) : Result<Job>(json.error());
}

Result<Job> read_job(const std::string& path) {
  const Result<std::string> text = read_file(path, "job", Json::kMaxTextBytes);
  if (!text.ok()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s; `hobnob job example fashion-mlp` prints one to start from",
                      text.error().message.c_str());
  }
  Result<Json> json = parse_json(text.value(), path);
  if (!json.ok()) {
    return json.error();
  }
  const Json* gossip = json.value().is_object() ? json.value().find("gossip") : nullptr;
  const Json* topology =
      gossip != nullptr && gossip->is_object() ? gossip->find("topology") : nullptr;
  if (topology != nullptr) {
    const Result<Json> whole =
        with_graph_text(*topology, std::filesystem::path(path).parent_path());
    if (!whole.ok()) {
      return make_error(ErrorCode::kInvalidArgument, "%s: gossip.topology.path: %s", path.c_str(),
                        whole.error().message.c_str());
    }
    json.value().set("gossip", Json(*gossip).set("topology", whole.value()));
  }
  return job_of(json.value(), path);
}

}  // namespace hobnob
