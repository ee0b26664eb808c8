#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "topology/mixing_matrix.h"
#include "topology/view.h"

namespace hobnob {

// One neighbour of this round and the weight w_ij this peer proposes for the edge. The two ends use
// the lesser of their proposals, so 1 / (1 + own degree) on both sides gives Metropolis-Hastings
// without a global view.
struct Exchange {
  std::uint32_t peer = 0;  // rank in the view
  Weight weight;

  bool operator==(const Exchange&) const = default;
};

struct RoundPlan {
  std::vector<Exchange> partners;  // ascending rank

  bool operator==(const RoundPlan&) const = default;
};

struct TopologyConfig {
  // ring | complete | exponential (static) | trie-pairs (new partners every round).
  std::string kind = "trie-pairs";
  // Mixed into the hash of schedules; every peer of a job has the same.
  std::uint64_t seed = 1;
};

// Who exchanges with whom in which round: a pure function of (view, self, epoch, round). No state,
// no float, no clock. Thread-safe.
class Schedule {
 public:
  virtual ~Schedule() = default;

  // `self` is a rank in the view. j is in plan(i) exactly when i is in plan(j).
  virtual RoundPlan plan(const MembershipView& view,
                         std::uint32_t self,
                         std::uint64_t epoch,
                         std::uint64_t round) const = 0;

  // The whole round's W, (n, n), rows and columns summing to exactly 1.
  MixingMatrix matrix(const MembershipView& view, std::uint64_t epoch, std::uint64_t round) const;
};

Result<void> validate(const TopologyConfig& config);
// `config` must be valid.
std::unique_ptr<Schedule> make_schedule(const TopologyConfig& config);

}  // namespace hobnob
