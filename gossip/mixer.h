#pragma once

#include <memory>

#include "gossip/channel.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// Gathers what the edges contribute until the trainer takes it. Gossip thread only.
class Mixer {
 public:
  virtual ~Mixer() = default;

  // flow[offset ...] += gamma * w * (received - sent) of the edge.
  virtual void add(const Channel& channel,
                   const EdgeKey& edge,
                   double weight,
                   std::size_t offset,
                   std::size_t count) = 0;
  // All that came since the last call, (d,); `spare` (d,) becomes the new, zeroed accumulator.
  virtual std::shared_ptr<Buffer> take(std::shared_ptr<Buffer> spare) = 0;
  virtual ConstVec pending() const = 0;
};

struct MixerConfig {
  double gamma = 1.0;
  // Self-centred clipping (He, Karimireddy and Jaggi 2202.01545): a fragment's difference longer
  // than this, by its 2-norm, is shortened to it. Both ends see one length. 0: none is.
  double clip = 0.0;
};

// x_i += gamma * sum_j w_ij clip(x_j - x_i): the mean of all peers does not move, whichever edges
// completed.
std::unique_ptr<Mixer> make_difference_mixer(const MixerConfig& config,
                                             DType type,
                                             std::size_t count,
                                             const VectorOps& ops = cpu_vector_ops());

}  // namespace hobnob
