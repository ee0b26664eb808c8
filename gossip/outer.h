#pragma once

#include <memory>
#include <string>

#include "gossip/config.h"
#include "runtime/base/bytes.h"
#include "runtime/base/result.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// What a peer makes of a round's whole movement: from its anchor a, where the round began, to m,
// where local steps and mixing took it. Pure arithmetic on its own vectors; train thread only.
class Outer {
 public:
  virtual ~Outer() = default;

  // m (d,) becomes the next parameters. `steps` is the sum of the round's step sizes.
  virtual void step(ConstVec anchor, double steps, Vec m) = 0;
  // Adds what the momentum asks for to a gradient (d,) of the round.
  virtual void add_hint(Vec gradient) const = 0;
  // Forgets momentum, as after adopting another peer's parameters.
  virtual void reset() = 0;
  // load(save()) continues to the bit; other bytes are kMalformed, and change nothing.
  virtual Bytes save() const = 0;
  virtual Result<void> load(ByteSpan bytes) = 0;
};

// heavy-ball:   v <- b v + r (m - a), next = a + v. SlowMo (1910.00643), NoLoCo (2506.10911); with
//               one local step and r = 1 DecentLaM (2104.11981).
// nesterov:     v <- b v + (a - m), next = a - r ((a - m) + b v). DiLoCo (2311.08105).
// quasi-global: next = m, v <- u v + (1 - u) (a - next) / steps, and b v is added to gradients.
//               QG-DSGDm (2102.04761), with u = b there.
// b is `momentum`, r `rate`, u `decay`. State: d values. Null for identity, next = m.
std::unique_ptr<Outer> make_outer(const OuterConfig& config,
                                  DType type,
                                  std::size_t count,
                                  const VectorOps& ops = cpu_vector_ops());

}  // namespace hobnob
