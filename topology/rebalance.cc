#include "topology/rebalance.h"

#include "runtime/base/check.h"
#include "topology/stage_search.h"

namespace hobnob {

namespace {

__extension__ using Wide = __int128;

constexpr std::chrono::milliseconds kMaxTime = std::chrono::hours(24 * 365);

std::vector<StageMove> moves_between(const Assignment& before, const Assignment& after) {
  std::vector<StageMove> moves;
  for (std::uint32_t p = 0; p < before.size(); ++p) {
    if (before[p] != after[p]) {
      moves.push_back({.peer = p, .from = before[p], .to = after[p]});
    }
  }
  return moves;
}

// Microbatches (2^-30 and thousandths) that the moves bring within the horizon, less what the
// movers would have done while they change over.
Wide net_gain(const PipelineRates& rates,
              const RebalancePolicy& policy,
              Rate rise,
              const std::vector<StageMove>& moves) {
  Wide gain = Wide{rise.units} * policy.horizon.count();
  for (const StageMove& move : moves) {
    const auto absence = rates.load_time(move.peer, move.to) + policy.sync;
    gain -= Wide{rates.rate(move.peer, move.from).units} * absence.count();
  }
  return gain;
}

bool is_enough(Rate before, Rate after, std::uint32_t min_gain_percent) {
  return Wide{after.units} * 100 > Wide{before.units} * (100 + min_gain_percent);
}

bool is_time(std::chrono::milliseconds time) {
  return time >= std::chrono::milliseconds::zero() && time <= kMaxTime;
}

}  // namespace

Result<void> validate(const RebalancePolicy& policy) {
  if (policy.min_gain_percent > 100) {
    return make_error(ErrorCode::kInvalidArgument, "min_gain_percent: %u is above 100",
                      policy.min_gain_percent);
  }
  if (policy.max_movers < 2) {
    return make_error(ErrorCode::kInvalidArgument, "max_movers: %u is below 2, which a swap needs",
                      policy.max_movers);
  }
  if (!is_time(policy.horizon)) {
    return make_error(ErrorCode::kInvalidArgument, "horizon: not a time of at most a year");
  }
  if (!is_time(policy.sync)) {
    return make_error(ErrorCode::kInvalidArgument, "sync: not a time of at most a year");
  }
  return {};
}

std::vector<StageMove> plan_moves(const PipelineRates& rates,
                                  const Assignment& current,
                                  const RebalancePolicy& policy) {
  HOBNOB_CHECK(validate(policy).ok(), "policy was not validated");
  StageSearch search(rates, current);
  const Rate before = search.throughput();
  std::vector<StageMove> affordable;  // the longest part of the way with max_movers or fewer
  std::vector<StageMove> chosen;
  Wide best = 0;
  while (search.step()) {
    const std::vector<StageMove> moves = moves_between(current, search.assignment());
    if (moves.size() <= policy.max_movers) {
      affordable = moves;
    }
    const Wide gain = net_gain(rates, policy, search.throughput() - before, moves);
    if (gain > best && is_enough(before, search.throughput(), policy.min_gain_percent)) {
      best = gain;
      chosen = affordable;
    }
  }
  return chosen;
}

}  // namespace hobnob
