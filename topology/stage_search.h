#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/pipeline.h"

namespace hobnob {

// Local search over assignments by single moves and swaps of two peers. Assignments are compared by
// their stage rates in ascending order (leximin): the weakest stage first, then the second weakest.
// Integer sums and ties broken by index, so everybody takes the same steps. Idle peers stay idle.
class StageSearch {
 public:
  // Moves and swaps to be looked at, at most: about a second's worth, which some 500 peers on 64
  // stages never need. A count and not a time, so that everybody stops at the same step.
  static constexpr std::uint64_t kBudget = std::uint64_t{1} << 26;

  StageSearch(const PipelineRates& rates, Assignment start, std::uint64_t budget = kBudget);

  // Takes the next step and says whether there was one. First fills empty stages, if need be by a
  // chain of moves, one a step; then improves the weakest stage that a move, or if no move then a
  // swap, can improve, in the best way. Neither lowers the throughput, so no stage is emptied while
  // all are served, and improving steps never come back to an assignment. False where no step helps
  // or when the budget is spent. O(peers x servers of the weakest stage) mostly, O(peers^2) at
  // worst.
  bool step();

  const Assignment& assignment() const { return assignment_; }

  Rate throughput() const;

  // (stages,)
  const std::vector<Rate>& stage_sums() const { return sums_; }

  std::uint64_t budget_left() const { return budget_; }

 private:
  struct Move {
    std::uint32_t peer = 0;
    std::uint32_t to = 0;
  };

  struct Candidate;

  void apply(const Move& move);
  bool take_chain_move();
  std::vector<Move> chain_into(std::uint32_t empty);
  bool improve(std::uint32_t weak);
  void offer(const Candidate& candidate, std::optional<Candidate>& best) const;
  std::optional<Candidate> best_move(std::uint32_t weak);
  std::optional<Candidate> best_swap(std::uint32_t weak);
  void spend(std::uint64_t looks);

  const PipelineRates& rates_;
  Assignment assignment_;
  std::vector<Rate> sums_;  // (stages,)
  std::uint64_t budget_;
  std::vector<Move> chain_;  // still to do, last one first
};

}  // namespace hobnob
