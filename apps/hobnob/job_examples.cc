#include "apps/hobnob/job.h"
#include "apps/hobnob/job_presets.h"
#include "compress/codec_config.h"
#include "runtime/base/nearest_word.h"

namespace hobnob {

namespace {

constexpr const char* kFashionMlp = R"({
  "name": "fashion-mlp",
  "seed": 1,
  "rounds": 3000,
  "evaluate_every": 200,
  "target": {"metric": "accuracy", "at_least": 0.88},
  "workload": {"kind": "mlp", "layers": [784, 256, 10], "batch": 64},
  "data": {"kind": "idx", "path": "/usr/share/datasets/fashion-mnist", "partition": {"kind": "iid"}},
  "optimizer": {"kind": "adamw", "learning_rate": 0.002, "schedule": "linear"},
  "gossip": {
    "mode": "hybrid",
    "order": "atc",
    "topology": {"kind": "trie-pairs"},
    "codec": {"kind": "int8", "block": 256},
    "channel": "edge-replica"
  }
}
)";

constexpr const char* kFashionSoftmax = R"({
  "name": "fashion-softmax",
  "seed": 1,
  "rounds": 1500,
  "evaluate_every": 250,
  "target": {"metric": "accuracy", "at_least": 0.80},
  "workload": {"kind": "softmax", "batch": 64},
  "data": {"kind": "idx", "path": "/usr/share/datasets/fashion-mnist",
           "partition": {"kind": "dirichlet", "alpha": 0.5}},
  "optimizer": {"kind": "adamw", "learning_rate": 0.003, "schedule": "linear"},
  "gossip": {"topology": {"kind": "ring"}, "codec": {"kind": "bf16"}, "channel": "snapshot"}
}
)";

// Problem P1 of the algorithm tests: 8 peers, 6 values, a known optimum.
std::string quadratic() {
  std::string curvature;
  std::string target;
  for (int i = 0; i < 8; ++i) {
    std::string a;
    std::string b;
    for (int k = 0; k < 6; ++k) {
      a += format("%s%g", k == 0 ? "" : ", ", 1.0 + ((3 * i + 5 * k) % 7) / 2.0);
      b += format("%s%d", k == 0 ? "" : ", ", (7 * i + 3 * k) % 11 - 5);
    }
    curvature += format("%s[%s]", i == 0 ? "" : ",\n                   ", a.c_str());
    target += format("%s[%s]", i == 0 ? "" : ",\n                ", b.c_str());
  }
  return format(R"({
  "name": "quadratic",
  "rounds": 4000,
  "workload": {
    "kind": "quadratic",
    "curvature": [%s],
    "target": [%s]
  },
  "optimizer": {"kind": "sgd", "learning_rate": 0.05},
  "gossip": {
    "mode": "sync",
    "order": "atc",
    "topology": {"kind": "ring"},
    "codec": {"kind": "raw"},
    "channel": "snapshot"
  }
}
)",
                curvature.c_str(), target.c_str());
}

struct Key {
  const char* path;
  std::string type;
  const char* fallback;
  const char* meaning;
};

std::vector<Key> training_keys() {
  return {
      {"name", "text", "\"unnamed\"", "shown in status and summaries"},
      {"seed", "integer >= 0", "1", "of initial values, batches and schedules"},
      {"rounds", "integer 1..1e9", "1000", "the swarm's clock at which training ends"},
      {"evaluate_every", "rounds", "0", "test-set evaluation during training; 0: only at the end"},
      {"target.metric", "accuracy", "none", "what `hobnob swarm` judges its exit code by"},
      {"target.at_least", "0..1", "0", "every peer must reach it"},
      {"workload.kind", "mlp | softmax | quadratic", "mlp", "what is trained"},
      {"workload.layers", "[integer]", "[784, 256, 10]", "widths: inputs, hidden ..., classes"},
      {"workload.batch", "integer", "32", "samples of one gradient step"},
      {"workload.curvature", "[[number]]", "none", "quadratic: A, a row per peer"},
      {"workload.target", "[[number]]", "none", "quadratic: B, a row per peer"},
      {"data.kind", "idx | synthetic | none", "idx", "none for the quadratic"},
      {"data.path", "folder", "/usr/share/datasets/fashion-mnist", "of the IDX files"},
      {"data.partition.kind", "iid | dirichlet", "iid", "how samples are dealt to shards"},
      {"data.partition.alpha", "number > 0", "0.5", "dirichlet: smaller is more skewed"},
      {"data.partition.shards", "integer", "0", "0: every peer draws from all of the data (iid)"},
      {"optimizer.kind", "sgd | adamw | lion", "sgd", "the local step"},
      {"optimizer.learning_rate", "number > 0", "0.05", ""},
      {"optimizer.schedule", "constant | linear | cosine", "constant",
       "of the learning rate over the job's rounds"},
      {"optimizer.warmup", "rounds", "0", "the learning rate rises from 0; then the schedule"},
      {"optimizer.momentum", "0..1", "0", "sgd: heavy ball"},
      {"optimizer.nesterov", "true | false", "false", "sgd: Nesterov's form of momentum"},
      {"optimizer.beta1, beta2, epsilon", "number", "0.9, 0.999, 1e-8",
       "adamw, lion (beta2 0.99 is usual)"},
      {"optimizer.weight_decay", "number >= 0", "0", "decoupled for adamw and lion"},
      {"optimizer.clip", "number >= 0", "0", "the longest gradient (2-norm); 0: any"},
      {"optimizer.prox", "number >= 0", "0", "FedProx: pull to where the round began"},
      {"gossip.mode", "sync | hybrid | async", "hybrid", "whether a round waits for its partners"},
      {"gossip.order", "atc | cta", "atc", "cta overlaps the exchange with the gradient"},
      {"gossip.local_steps", "integer >= 1", "1", "gradient steps between exchanges"},
      {"gossip.gamma", "(0, 1]", "1", "scales the mixing"},
      {"gossip.clip", "number >= 0", "0",
       "longest difference of a fragment that is mixed (self-centred clipping); 0: any"},
  };
}

std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " | ") + word;
  }
  return text;
}

std::vector<Key> gossip_topology_keys() {
  return {
      {"gossip.topology.kind", either(topology_kinds()), "trie-pairs", "who meets whom"},
      {"gossip.topology.g", "2..64", "8", "trie-groups, hash-buckets, two-level: peers per group"},
      {"gossip.topology.k", "1..63", "4", "base-k: partners of a round, at most"},
      {"gossip.topology.dims", "[2..64]", "[]", "grid: its sides; empty: chosen for n peers"},
      {"gossip.topology.relabel", "true | false", "false",
       "one-peer-*: new positions by hash every ceil(log2 n) rounds"},
      {"gossip.topology.shuffled", "true | false", "true",
       "round-robin: matchings in an order by hash; in order they mix slowly"},
      {"gossip.topology.degree", "even, 2..64", "8",
       "expander, matcha: neighbours in the (base) graph"},
      {"gossip.topology.graph", "text", "",
       "file: edges, one \"i j\" or \"i j weight\" a line; in a job file \"path\" may name a file"},
      {"gossip.topology.active_percent", "1..100", "50", "matcha: how often a matching takes part"},
      {"gossip.topology.eta_percent", "1..100", "50", "equidyn-*: weight on the partner"},
      {"gossip.topology.cross_every", "1..1000", "4",
       "two-level: rounds from one exchange between sites to the next"},
      {"gossip.topology.crossing", "0..1000", "0",
       "two-level: pairs two sites form then; 0: as many as the smaller has peers"},
  };
}

std::vector<Key> exchange_keys() {
  return {
      {"gossip.codec.kind", either(codec_kinds()), "int8", "how differences are put into bytes"},
      {"gossip.codec.step", "0.01..16", "0.5",
       "eq: of the root mean square; 0.34: 3.6 bits a value, 0.5: 3.1, 1: 2.1, 2: 1.2"},
      {"gossip.codec.rounding", "0.01..0.5", "0.5", "eq: less than 0.5 widens the zero"},
      {"gossip.codec.density", "0.0001..1", "0.01",
       "top-k, random-k, stc: share of the values sent; gamma at most five times that"},
      {"gossip.codec.kept", "1..64", "32", "dct-top-k: coefficients sent of each 64"},
      {"gossip.codec.rank", "1..64", "4",
       "power-sgd, lq-sgd: rank of what is sent; gamma at most 0.05 times that"},
      {"gossip.codec.columns", "0..16777216", "0",
       "power-sgd, lq-sgd: values in a row of the largest layer; 0: a square"},
      {"gossip.codec.clip", "1e-9..1e9", "0.01", "binomial: values beyond are sent as this"},
      {"gossip.codec.levels", "1..1024", "8", "binomial: steps from 0 to clip"},
      {"gossip.codec.trials", "0..256, even", "32",
       "binomial: of the noise; trials / 4 is its variance in steps squared"},
      {"gossip.codec.block", "256", "256", "values that share a scale"},
      {"gossip.channel", "edge-replica | snapshot | error-feedback", "edge-replica",
       "differences to a replica, whole values, or values and what was rounded off them"},
      {"gossip.trigger.kind", "always | every | norm | rate | slope", "always",
       "when a fragment is sent; norm, rate and slope need edge-replica"},
      {"gossip.trigger.period", "rounds", "10", "every: fragments in turn"},
      {"gossip.trigger.threshold", "number >= 0", "0.1",
       "norm: of the distance to what the neighbour believes"},
      {"gossip.trigger.schedule", "constant | sqrt | inverse | geometric | step", "constant",
       "norm: how the threshold falls; step: with the learning rate"},
      {"gossip.trigger.ratio", "(0, 1]", "0.99", "norm, geometric: of a round"},
      {"gossip.trigger.target", "(0, 1]", "0.2",
       "rate: share of fragments sent, kept by moving the threshold"},
      {"gossip.trigger.horizon", "(0, 1]", "0.95",
       "slope: EventGraD's, a threshold's decay for each round of silence"},
      {"gossip.trigger.max_silence", "rounds", "50", "norm, rate, slope: then it is sent anyway"},
      {"gossip.correction", "none", "none", ""},
      {"gossip.outer.kind", "identity | heavy-ball | nesterov | quasi-global", "identity",
       "what a round's whole movement becomes"},
      {"gossip.outer.momentum", "0..1", "0.9", "of all but identity"},
      {"gossip.outer.rate", "1e-6..10", "1", "heavy-ball, nesterov: DiLoCo and NoLoCo take 0.7"},
      {"gossip.outer.decay", "0..1", "0.9", "quasi-global: of its estimate"},
      {"gossip.deadline_ms", "integer", "0",
       "longest wait of a round; 0: 300 (hybrid), 10000 (sync)"},
      {"gossip.fragment_values", "integer", "1048576",
       "parameters are cut into pieces of about this many"},
      {"gossip.max_edges", "integer", "64", "neighbours whose replicas are kept"},
      {"gossip.rejoin_lag", "rounds", "200",
       "a peer further behind takes a neighbour's parameters"},
      {"pipeline", "null", "null", "not in this build"},
  };
}

}  // namespace

Result<std::string> example_job(const std::string& name) {
  if (name == "fashion-mlp") {
    return std::string(kFashionMlp);
  }
  if (name == "fashion-softmax") {
    return std::string(kFashionSoftmax);
  }
  if (name == "quadratic") {
    return quadratic();
  }
  if (const Preset* preset = find_preset(name)) {
    const Json edits = parse_json(preset->edits, name).value();
    return merged(parse_json(kFashionMlp, name).value(), edits).set("name", name).dump(2) + "\n";
  }
  std::vector<std::string> known{"fashion-mlp", "fashion-softmax", "quadratic"};
  for (const Preset& preset : presets()) {
    known.emplace_back(preset.name);
  }
  const std::string near = nearest_word(name, known);
  return make_error(ErrorCode::kInvalidArgument,
                    "no example job \"%s\"%s; `hobnob job example --list` names all", name.c_str(),
                    near.empty() ? "" : ("; did you mean \"" + near + "\"?").c_str());
}

Json job_schema() {
  Json keys(Json::Array{});
  for (const auto& group : {training_keys(), gossip_topology_keys(), exchange_keys()}) {
    for (const Key& key : group) {
      keys.push(Json()
                    .set("key", key.path)
                    .set("type", key.type)
                    .set("default", key.fallback)
                    .set("meaning", key.meaning));
    }
  }
  return Json().set("schema", "hobnob.job-schema/1").set("keys", std::move(keys));
}

}  // namespace hobnob
