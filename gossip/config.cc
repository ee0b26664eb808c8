#include "gossip/config.h"

#include <cstdio>

namespace hobnob {

namespace {

Error refuse(const std::string& text) {
  return Error{ErrorCode::kInvalidArgument, text};
}

// Neighbours mix by what they last heard in every round, also in silence: one message moves a peer
// by gamma / target times its weight, and past the neighbour's value when that is much. Measured on
// eight peers of a ring, Fashion-MNIST: gamma up to 2.5 times the target trains, 5 times diverges.
std::string warning_of_silence(const GossipConfig& config) {
  constexpr double kStable = 2.5;
  const TriggerConfig& trigger = config.trigger;
  if (trigger.kind != "rate" || config.gamma <= 1.0001 * kStable * trigger.target) {
    return "";
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "gossip.gamma %g with gossip.trigger.target %g: peers that are silent for so long "
                "overshoot, and training will probably diverge; set gossip.gamma to %g or less",
                config.gamma, trigger.target, kStable * trigger.target);
  return text;
}

}  // namespace

Result<void> validate(const GossipConfig& config) {
  if (config.local_steps == 0) {
    return refuse("gossip.local_steps: must be at least 1");
  }
  if (!(config.gamma > 0.0 && config.gamma <= 1.0)) {
    return refuse("gossip.gamma: must be in (0, 1]");
  }
  if (config.channel != "snapshot" && config.channel != "edge-replica" &&
      config.channel != "error-feedback") {
    return refuse("gossip.channel: this build has snapshot, edge-replica and error-feedback");
  }
  const Result<void> trigger = validate(config.trigger);
  if (!trigger.ok()) {
    return trigger;
  }
  const bool is_silent_at_times = config.trigger.kind != "always" && config.trigger.kind != "every";
  if (is_silent_at_times && config.channel != "edge-replica") {
    return refuse("gossip.trigger.kind " + config.trigger.kind + " with gossip.channel " +
                  config.channel +
                  ": whoever is silent is believed to be where it was, and nobody keeps where; use "
                  "channel edge-replica");
  }
  const Result<void> outer = validate(config.outer);
  if (!outer.ok()) {
    return outer;
  }
  const Result<void> codec = validate(config.codec);
  if (!codec.ok()) {
    return codec.error();
  }
  // A whole value must arrive nearly whole: what is lost of it comes back in no later round.
  const CodecTraits traits = make_codec(config.codec)->traits();
  const bool keeps_values = traits.fixed_length && traits.nominal_bits >= 16.0;
  if (config.channel == "snapshot" && !keeps_values) {
    return refuse(
        "gossip.channel snapshot with gossip.codec " + config.codec.kind +
        " loses what the codec rounds off, every round; use channel edge-replica, or codec "
        "fp32, bf16 or fp16");
  }
  return validate(config.topology);
}

// CHOCO-SGD with a codec that carries little of a difference is stable for a small gamma only
// (Koloskova et al. 1902.00340, theorem 2: gamma shrinks with what the codec carries). Measured on
// four peers: five times the share trains, thirty times leaves chance.
std::string warning(const GossipConfig& config) {
  const std::string silence = warning_of_silence(config);
  if (!silence.empty()) {
    return silence;
  }
  constexpr double kStable = 5.0;
  const double carried = make_codec(config.codec)->traits().carried;
  if (config.channel == "snapshot" || config.gamma <= 1.0001 * kStable * carried) {
    return "";
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "gossip.gamma %g with gossip.codec %s, which carries about %g of a difference: "
                "training will probably diverge; set gossip.gamma to %g or less, or take codec eq, "
                "sign or int4",
                config.gamma, config.codec.kind.c_str(), carried, kStable * carried);
  return text;
}

Result<void> validate(const TriggerConfig& config) {
  if (config.period == 0) {
    return refuse("gossip.trigger.period: must be at least 1");
  }
  if (!(config.threshold >= 0.0)) {
    return refuse("gossip.trigger.threshold: must be at least 0");
  }
  if (!(config.target > 0.0 && config.target <= 1.0)) {
    return refuse("gossip.trigger.target: must be in (0, 1]");
  }
  if (!(config.ratio > 0.0 && config.ratio <= 1.0)) {
    return refuse("gossip.trigger.ratio: must be in (0, 1]");
  }
  if (!(config.horizon > 0.0 && config.horizon <= 1.0)) {
    return refuse(
        "gossip.trigger.horizon: must be in (0, 1]; above 1 thresholds grow in silence, and all "
        "falls "
        "silent");
  }
  return {};
}

Result<void> validate(const OuterConfig& config) {
  if (config.kind != "identity" && config.kind != "heavy-ball" && config.kind != "nesterov" &&
      config.kind != "quasi-global") {
    return refuse("gossip.outer.kind: identity, heavy-ball, nesterov or quasi-global");
  }
  if (!(config.momentum >= 0.0 && config.momentum < 1.0)) {
    return refuse("gossip.outer.momentum: must be in [0, 1)");
  }
  if (!(config.decay >= 0.0 && config.decay < 1.0)) {
    return refuse("gossip.outer.decay: must be in [0, 1)");
  }
  if (!(config.rate > 0.0)) {
    return refuse("gossip.outer.rate: must be above 0");
  }
  return {};
}

Result<void> validate(const OptimizerConfig& config) {
  if (config.kind != "sgd" && config.kind != "adamw" && config.kind != "lion") {
    return refuse("optimizer.kind: this build has sgd, adamw and lion");
  }
  if (config.nesterov && (config.kind != "sgd" || config.momentum == 0.0)) {
    return refuse("optimizer.nesterov with optimizer.kind " + config.kind +
                  ": it is a form of sgd's momentum; set optimizer.kind to sgd and "
                  "optimizer.momentum to 0.9, "
                  "or remove it");
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
