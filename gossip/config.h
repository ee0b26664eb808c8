#pragma once

#include <cstdint>
#include <string>

#include "compress/codec_config.h"
#include "runtime/base/result.h"
#include "runtime/loop/executor.h"
#include "topology/schedule.h"

namespace hobnob {

enum class ClockMode {
  kSync,    // every round waits for its partners, up to a long deadline
  kHybrid,  // waits up to a short one, then goes on; late flows are added when they come
  kAsync,   // never waits
};

enum class RoundOrder {
  kAtc,  // adapt then combine: x = W (x - eta g)
  kCta,  // combine then adapt: x = W x - eta g; exchange and gradient overlap
};

struct OptimizerConfig {
  std::string kind = "sgd";  // sgd | adamw | lion
  double learning_rate = 0.05;
  // constant | linear (falls to 0 at the job's last round) | cosine (likewise).
  std::string schedule = "constant";
  std::uint64_t warmup = 0;  // rounds in which the learning rate rises from 0, before the schedule
  double momentum = 0.0;     // sgd: heavy ball. m = momentum m + g; x -= learning_rate m
  bool nesterov = false;     // sgd: x -= learning_rate (g + momentum m)
  double beta1 = 0.9;        // adamw, lion
  double beta2 = 0.999;      // likewise; 0.99 is usual for lion
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // decoupled (adamw, lion) or added to the gradient (sgd)
  double clip = 0.0;          // the longest gradient, by its 2-norm; 0: any
  // FedProx (1812.06127): prox (x - a) is added to gradients, a where the round began.
  double prox = 0.0;
};

struct OuterConfig {
  std::string kind = "identity";  // identity | heavy-ball | nesterov | quasi-global
  double momentum = 0.9;
  double rate = 1.0;   // heavy-ball, nesterov
  double decay = 0.9;  // quasi-global
};

struct TriggerConfig {
  std::string kind = "always";  // always | every | norm | rate | slope
  std::uint64_t period = 10;    // every
  double threshold = 0.1;       // norm: of the distance to what neighbours believe
  // norm: constant | sqrt | inverse | geometric | step.
  std::string schedule = "constant";
  double ratio = 0.99;             // geometric
  double target = 0.2;             // rate: share of fragments that are sent
  double horizon = 0.95;           // slope
  std::uint64_t max_silence = 50;  // rounds: norm, rate, slope
};

struct GossipConfig {
  ClockMode mode = ClockMode::kHybrid;
  RoundOrder order = RoundOrder::kAtc;
  // Gradient steps between exchanges (K). More: fewer bytes, more drift between peers.
  std::uint32_t local_steps = 1;
  // Scales every flow; 1 mixes by W itself.
  double gamma = 1.0;
  double clip = 0.0;  // the longest difference of a fragment that is mixed; 0: any
  TopologyConfig topology;
  CodecConfig codec;
  // snapshot | edge-replica | error-feedback. A replica costs two vectors per neighbour and sends
  // differences; error feedback costs one and sends values.
  std::string channel = "edge-replica";
  TriggerConfig trigger;
  OuterConfig outer;
  // The longest a round waits: hybrid waits 1.5 x the edge's usual time within [50 ms, this]. 0:
  // 300 ms for hybrid, 10 s for sync.
  Duration deadline{0};
  // The parameter vector is cut at tensor boundaries into fragments of about this many values.
  std::size_t fragment_values = std::size_t{1} << 20U;
  // Neighbours whose replicas are kept; the least recently met is dropped, and costs a snapshot
  // when met again.
  std::size_t max_edges = 64;
  // A peer this many rounds behind takes a neighbour's parameters instead of mixing its own old
  // ones in.
  std::uint64_t rejoin_lag = 200;

  Duration real_deadline() const {
    if (deadline.count() > 0) {
      return deadline;
    }
    return mode == ClockMode::kSync ? Duration(std::chrono::seconds(10))
                                    : Duration(std::chrono::milliseconds(300));
  }
};

// Names the two keys that clash and what to change, or the value out of range.
Result<void> validate(const GossipConfig& config);
Result<void> validate(const TriggerConfig& config);
Result<void> validate(const OuterConfig& config);
Result<void> validate(const OptimizerConfig& config);

// What a valid configuration is known to do badly, and the remedy; "" otherwise.
std::string warning(const GossipConfig& config);

}  // namespace hobnob
