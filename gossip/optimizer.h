#pragma once

#include <memory>

#include "gossip/config.h"
#include "runtime/base/bytes.h"
#include "runtime/base/result.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// Turns a gradient into a step, in place. Train thread only.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // x (d,) moves along g (d,), both of the type the optimizer was made for, at `scale` x the
  // learning rate.
  virtual void step(Vec x, ConstVec g, double scale) = 0;
  // Forgets momentum and moments, as after adopting another peer's parameters.
  virtual void reset() = 0;
  // Momentum, moments and the step count, to go on later: load(save()) continues to the bit. The
  // bytes of an optimizer of another kind or size are kMalformed, and change nothing.
  virtual Bytes save() const = 0;
  virtual Result<void> load(ByteSpan bytes) = 0;
};

// What the learning rate is multiplied by in this round of so many.
double learning_rate_scale(const OptimizerConfig& config,
                           std::uint64_t round,
                           std::uint64_t rounds);

// `config` must be valid. State: sgd d values (none without momentum), lion d, adamw 2 d.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          DType type,
                                          std::size_t count);

}  // namespace hobnob
