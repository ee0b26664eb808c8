#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "topology/config.h"
#include "topology/mixing_matrix.h"
#include "topology/view.h"

namespace hobnob {

// One partner of this round: x_self takes `in` (W_self,peer) of the peer's value and the peer takes
// `out` (W_peer,self) of this one's. Directed schedules have one of them 0. The two ends of a
// direction use the lesser of what they propose for it, so 1 / (1 + own degree) on both sides is
// Metropolis-Hastings without a global view.
struct Exchange {
  std::uint32_t peer = 0;  // rank in the view
  Weight in;
  Weight out;

  // For a mixer that moves equal and opposite flows along an edge: it runs (W + W') / 2, which is
  // doubly stochastic whenever W is.
  Weight symmetric() const { return half_sum(in, out); }

  bool operator==(const Exchange&) const = default;
};

struct RoundPlan {
  std::vector<Exchange> partners;  // ascending rank
  // Ranks, ascending and self included, of the clique that holds exactly its mean after this round,
  // so that reduce-scatter and all-gather may serve for the exchanges, which `partners` holds too,
  // each of weight 1 / g. Empty when there is none or self is alone.
  std::vector<std::uint32_t> group;

  bool operator==(const RoundPlan&) const = default;
};

struct ScheduleTraits {
  bool is_symmetric = true;  // W = W' in every round
  bool has_groups = false;   // plans may name a group
  bool is_static = false;    // the same plan in every epoch and round
};

inline constexpr std::uint64_t kRoundsPerEpoch = 1024;

// Of a round, in a running swarm.
constexpr std::uint64_t epoch_of(std::uint64_t round) {
  return round / kRoundsPerEpoch;
}

// Who exchanges with whom in which round: a pure function of (view, self, epoch, round). No state,
// no float, no clock. Thread-safe.
//
// Pairs of peers of which neither can listen never meet: every schedule drops them from both plans
// (and a group that holds one is no group, only the exchanges that are left). Each peer keeps what
// it then does not send. For symmetric W that is doubly stochastic still. For directed W columns
// sum to 1 and rows may not: a cycle with an edge missing is a path, and no flow on a path returns
// to where it came from. The symmetric part of it is doubly stochastic all the same, and push-sum
// needs columns only. Of 1000 peers of which 30 % cannot listen trie pairs lose a tenth of their
// pairs and take 50 rounds to 1e-6 instead of 40; a graph that stays, static or matcha's, can fall
// apart.
class Schedule {
 public:
  virtual ~Schedule() = default;

  // `self` is a rank in the view. j is in plan(i) exactly when i is in plan(j), and in_i(j) =
  // out_j(i) unless the schedule is static.
  RoundPlan plan(const MembershipView& view,
                 std::uint32_t self,
                 std::uint64_t epoch,
                 std::uint64_t round) const;

  // Every peer's plan, by rank, for less than n times the price of one.
  std::vector<RoundPlan> plans(const MembershipView& view,
                               std::uint64_t epoch,
                               std::uint64_t round) const;

  // The whole round's W, (n, n): columns sum to exactly 1, rows too unless pairs were dropped from
  // a directed schedule.
  MixingMatrix matrix(const MembershipView& view, std::uint64_t epoch, std::uint64_t round) const;

  // After how many rounds, from a round that is a multiple of it, the product of the matrices is
  // exactly J for `size` peers that can all meet; nothing when that never happens. 0 for one peer.
  virtual std::optional<std::uint32_t> exact_period(std::uint32_t size) const;

  // After how many rounds the same plans come again, in an epoch; 0: never.
  virtual std::uint32_t period(std::uint32_t size) const;

  virtual ScheduleTraits traits() const = 0;

 private:
  // As plan(), with the pairs that cannot meet. `self` is in the view.
  virtual RoundPlan full_plan(const MembershipView& view,
                              std::uint32_t self,
                              std::uint64_t epoch,
                              std::uint64_t round) const = 0;
  // full_plan() of all. One by one unless the schedule knows better.
  virtual std::vector<RoundPlan> full_plans(const MembershipView& view,
                                            std::uint64_t epoch,
                                            std::uint64_t round) const;
};

// W of the plans of one round, by rank, as Schedule::matrix() gives it.
MixingMatrix matrix_of(const std::vector<RoundPlan>& plans);

// `config` must be valid.
std::unique_ptr<Schedule> make_schedule(const TopologyConfig& config);

}  // namespace hobnob
