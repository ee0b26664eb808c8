#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "gossip/channel.h"
#include "gossip/config.h"

namespace hobnob {

// What a trigger may look at: this peer's own state, never a neighbour's.
struct TriggerInput {
  EdgeKey edge;
  std::uint64_t round = 0;
  std::uint64_t silent_rounds = 0;  // since this fragment was last sent on this edge
  double squared_distance = 0.0;    // between the value and what the neighbour believes it to be
  double squared_norm = 0.0;        // of the value
};

// Whether a fragment is worth sending on an edge this round. Silence costs a frame without values;
// both ends go on mixing by what they believe of each other, so that the mean of all peers does not
// move. Gossip thread only.
class Trigger {
 public:
  enum class Needs : std::uint8_t { kNothing, kDistance, kNorm };  // a pass over the values

  virtual ~Trigger() = default;

  // Whether the fragment is exchanged at all in this round, which both ends know without asking.
  virtual bool has_turn(std::uint32_t /*fragment*/, std::uint64_t /*round*/) const { return true; }

  virtual Needs needs() const = 0;
  virtual bool fires(const TriggerInput& input) = 0;

  // Frees what is kept of a neighbour.
  virtual void forget(const PeerId& /*peer*/) {}
};

// always: no silence.
// every:  each `period` rounds, fragments in turn; between them nothing is exchanged or mixed
//         (Streaming DiLoCo 2501.18512).
// norm:   a distance of `threshold` x scale(round) or more; `schedule` says how the threshold goes
//         on: constant, sqrt (1 / sqrt(round + 1)), inverse (1 / (round + 1)), geometric
//         (ratio^round), step (as the learning rate: SPARQ-SGD 1910.14280). Event-triggered gossip
//         2602.19116.
// rate:   a distance above a threshold that each decision moves by exp(gain x (sent - target)), so
//         that about `target` of all are sent.
// slope:  EventGraD 2103.07454: the norm has changed by more than the mean of its last two slopes,
//         times `horizon` for each round of silence; the first 30 rounds all are sent. Misses what
//         turns without changing its norm.
// norm, rate and slope send after `max_silence` rounds without. `config` must be valid;
// `rate_scale(round)` is that of the learning rate.
std::unique_ptr<Trigger> make_trigger(const TriggerConfig& config,
                                      std::function<double(std::uint64_t)> rate_scale);

}  // namespace hobnob
