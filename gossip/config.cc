#include "gossip/config.h"

namespace hobnob {

namespace {

Error refuse(const char* text) {
  return Error{ErrorCode::kInvalidArgument, text};
}

}  // namespace

Result<void> validate(const GossipConfig& config) {
  if (config.local_steps == 0) {
    return refuse("gossip.local_steps: must be at least 1");
  }
  if (!(config.gamma > 0.0 && config.gamma <= 1.0)) {
    return refuse("gossip.gamma: must be in (0, 1]");
  }
  if (config.channel != "snapshot" && config.channel != "edge-replica") {
    return refuse("gossip.channel: this build has snapshot and edge-replica");
  }
  if (config.channel == "snapshot" && config.codec.kind == "int8") {
    return refuse(
        "gossip.channel snapshot with gossip.codec int8 loses what the codec rounds off, every "
        "round; use channel "
        "edge-replica, or codec fp32 or bf16");
  }
  if (config.trigger != "always") {
    return refuse("gossip.trigger: this build has always");
  }
  const Result<void> codec = validate(config.codec);
  return codec.ok() ? validate(config.topology) : codec;
}

Result<void> validate(const OptimizerConfig& config) {
  if (config.kind != "sgd" && config.kind != "adamw") {
    return refuse("optimizer.kind: this build has sgd and adamw");
  }
  if (config.schedule != "constant" && config.schedule != "linear" && config.schedule != "cosine") {
    return refuse("optimizer.schedule: constant, linear or cosine");
  }
  if (!(config.learning_rate > 0.0)) {
    return refuse("optimizer.learning_rate: must be above 0");
  }
  return {};
}

}  // namespace hobnob
