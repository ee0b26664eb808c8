#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace hobnob {

// What a trigger may look at: this peer's own state, never a neighbour's.
struct TriggerInput {
  std::uint32_t fragment = 0;
  std::uint64_t round = 0;
  std::uint64_t silent_rounds = 0;  // since this fragment last fired
  double squared_distance = 0.0;    // between the value and what neighbours believe it to be
  double squared_norm = 0.0;        // of the value
  double learning_rate = 0.0;
};

// Whether a fragment is worth sending this round. Gossip thread only.
class Trigger {
 public:
  virtual ~Trigger() = default;
  // Whether fires() looks at distance and norm, which cost a pass over the values.
  virtual bool needs_norms() const = 0;
  virtual bool fires(const TriggerInput& input) = 0;
};

// `kind`: always. Must be valid.
std::unique_ptr<Trigger> make_trigger(const std::string& kind);

}  // namespace hobnob
