#include "apps/hobnob/job_presets.h"

#include <algorithm>

namespace hobnob {

const std::vector<Preset>& presets() {
  static const std::vector<Preset> presets{
      {"allreduce", "synchronous SGD over all peers", "one vector to each other peer", "none",
       "few peers on a fast network; the baseline",
       R"({"gossip": {"mode": "sync", "topology": {"kind": "complete"}, "codec": {"kind": "fp32"},
           "channel": "snapshot"}})"},
      {"local-sgd", "1805.09767", "one vector to each other peer, every 8 steps", "none",
       "near-IID data; 8 times fewer bytes than allreduce",
       R"({"rounds": 375, "evaluate_every": 25,
           "gossip": {"mode": "sync", "local_steps": 8, "topology": {"kind": "complete"},
           "codec": {"kind": "fp32"}, "channel": "snapshot"}})"},
      {"fedprox", "1812.06127", "one vector to each other peer, every 8 steps",
       "1 (where the round began)", "non-IID data and local steps, without a correction",
       R"({"rounds": 375, "evaluate_every": 25, "optimizer": {"prox": 0.01},
           "gossip": {"mode": "sync", "local_steps": 8, "topology": {"kind": "complete"},
           "codec": {"kind": "fp32"}, "channel": "snapshot"}})"},
      {"diloco", "2311.08105", "one vector to each other peer, every 50 steps",
       "2 (where the round began, momentum)", "near-IID data over slow links; all peers at once",
       R"({"rounds": 60, "evaluate_every": 10,
           "gossip": {"mode": "sync", "local_steps": 50, "topology": {"kind": "complete"},
           "codec": {"kind": "fp32"}, "channel": "snapshot",
           "outer": {"kind": "nesterov", "momentum": 0.9, "rate": 0.7}}})"},
      {"slowmo", "1910.00643", "one vector to each other peer, every 12 steps",
       "2 (where the round began, momentum)", "like local-sgd, with fewer rounds",
       R"({"rounds": 250, "evaluate_every": 25,
           "gossip": {"mode": "sync", "local_steps": 12, "topology": {"kind": "complete"},
           "codec": {"kind": "fp32"}, "channel": "snapshot",
           "outer": {"kind": "heavy-ball", "momentum": 0.6, "rate": 1.0}}})"},
      {"noloco", "2506.10911", "one vector to one peer, every 25 steps",
       "2 (where the round began, momentum)",
       "many peers on the internet: no exchange of all with all, one slow peer delays one other",
       R"({"rounds": 120, "evaluate_every": 20,
           "gossip": {"mode": "sync", "local_steps": 25, "topology": {"kind": "random-matching"},
           "codec": {"kind": "fp32"}, "channel": "snapshot",
           "outer": {"kind": "heavy-ball", "momentum": 0.5, "rate": 0.7}}})"},
      {"d-psgd", "1705.09056", "one vector to each neighbour", "none",
       "the plain form, to compare with",
       R"({"gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "fp32"},
           "channel": "snapshot"}})"},
      {"ad-psgd", "1710.06952", "one vector to one peer", "none",
       "peers of very different speeds: nobody waits",
       R"({"gossip": {"mode": "async", "topology": {"kind": "random-matching"},
           "codec": {"kind": "fp32"}, "channel": "snapshot"}})"},
      {"choco", "1902.00340, 1907.09356", "one 4-bit difference to each neighbour",
       "2 a neighbour (replicas)", "slow links: an eighth of the bytes of d-psgd",
       R"({"gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "int4"},
           "channel": "edge-replica", "gamma": 0.9}})"},
      {"deepsqueeze", "1907.07346", "one 4-bit value to each neighbour", "1 a neighbour (residual)",
       "peers that come and go all the time: no replica to resynchronise; less accurate than choco",
       R"({"gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "int4"},
           "channel": "error-feedback", "gamma": 0.4}})"},
      {"decentlam", "2104.11981", "one vector to each neighbour",
       "2 (where the round began, momentum)",
       "large batches and momentum without a bias of the momentum's own",
       R"({"optimizer": {"kind": "sgd", "learning_rate": 0.02},
           "gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "fp32"},
           "channel": "snapshot", "outer": {"kind": "heavy-ball", "momentum": 0.9, "rate": 1.0}}})"},
      {"qg-dsgdm", "2102.04761", "one vector to each neighbour",
       "2 (where the round began, momentum)", "non-IID data, with momentum, at no cost in bytes",
       R"({"optimizer": {"kind": "sgd", "learning_rate": 0.02},
           "gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "fp32"},
           "channel": "snapshot", "outer": {"kind": "quasi-global", "momentum": 0.9, "decay": 0.9}}})"},
      {"squarm", "2005.07041", "a 4-bit difference where it is large against the step",
       "3 (momentum, and 2 a neighbour)", "slow links and SGD with momentum",
       R"({"optimizer": {"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9, "nesterov": true},
           "gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "int4"},
           "channel": "edge-replica", "gamma": 0.5,
           "trigger": {"kind": "norm", "threshold": 0.3, "schedule": "step"}}})"},
      {"event-triggered", "2602.19116, with a threshold that keeps a share",
       "a 4-bit difference to a neighbour, in a fifth of the rounds", "2 a neighbour (replicas)",
       "peers that move unevenly, links that cost by the message",
       R"({"gossip": {"mode": "sync", "topology": {"kind": "ring"}, "codec": {"kind": "int4"},
           "channel": "edge-replica", "gamma": 0.45,
           "trigger": {"kind": "rate", "target": 0.2}}})"},
      {"eventgrad", "2103.07454", "a vector, where its norm has changed by more than usual",
       "2 a neighbour (replicas)", "to compare with; mixes by what was last sent, unlike the paper",
       R"({"optimizer": {"kind": "sgd", "learning_rate": 0.05, "momentum": 0.9},
           "gossip": {"mode": "sync", "order": "cta", "topology": {"kind": "ring"},
           "codec": {"kind": "fp32"}, "channel": "edge-replica", "gamma": 0.5,
           "trigger": {"kind": "slope", "horizon": 1.0}}})"},
  };
  return presets;
}

const Preset* find_preset(const std::string& name) {
  const auto found =
      std::ranges::find_if(presets(), [&](const Preset& each) { return name == each.name; });
  return found == presets().end() ? nullptr : &*found;
}

Json merged(const Json& document, const Json& edits) {
  Json result(document);
  for (const auto& [key, value] : edits.object()) {
    const Json* old = document.find(key);
    const bool replaces =
        old == nullptr || !old->is_object() || !value.is_object() || value.find("kind") != nullptr;
    result.set(key, replaces ? value : merged(*old, value));
  }
  return result;
}

}  // namespace hobnob
