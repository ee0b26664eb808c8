#include "topology/pipeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

constexpr double kMaxBytes = 1e18;

Error bad(const char* field, double value, const char* expected) {
  return make_error(ErrorCode::kInvalidArgument, "%s: %g is not %s", field, value, expected);
}

bool is_positive(double value) {
  return value > 0.0 && std::isfinite(value);
}

bool is_size(double value) {
  return value >= 0.0 && value <= kMaxBytes;
}

void normalise(std::vector<double>& prices) {
  const double sum = std::accumulate(prices.begin(), prices.end(), 0.0);
  for (double& price : prices) {
    price /= sum;
  }
}

// Multiplies the price of a stage down the more of the peers' work it attracts.
void lower_prices_of_rich_stages(std::vector<double>& prices,
                                 const std::vector<double>& attracted,
                                 double step) {
  const double most = *std::ranges::max_element(attracted);
  if (most <= 0.0) {
    return;
  }
  for (std::size_t s = 0; s < prices.size(); ++s) {
    prices[s] *= std::exp(-step * attracted[s] / most);
  }
  normalise(prices);
}

// Every peer works for the stage that pays it best: returns what is paid in all, and adds each
// peer's rate to the stage it chose.
double best_responses(const PipelineRates& rates,
                      const std::vector<double>& prices,
                      std::vector<double>& attracted) {
  std::ranges::fill(attracted, 0.0);
  double paid = 0.0;
  for (std::size_t p = 0; p < rates.peer_count(); ++p) {
    std::size_t chosen = 0;
    double most = 0.0;
    for (std::size_t s = 0; s < rates.stage_count(); ++s) {
      const double value = prices[s] * rates.rate(p, s).per_second();
      if (value > most) {
        most = value;
        chosen = s;
      }
    }
    paid += most;
    attracted[chosen] += rates.rate(p, chosen).per_second();
  }
  return paid;
}

// Inverse to what the stage would have if every peer served it: exact for equal peers without
// limits. A stage that nobody can serve gets everything, which proves a throughput of 0.
std::vector<double> first_prices(const PipelineRates& rates) {
  std::vector<Rate> totals(rates.stage_count());
  for (std::size_t p = 0; p < rates.peer_count(); ++p) {
    for (std::size_t s = 0; s < rates.stage_count(); ++s) {
      totals[s] += rates.rate(p, s);
    }
  }
  std::vector<double> prices(rates.stage_count(), 0.0);
  const auto orphan = std::ranges::find(totals, Rate{});
  if (orphan != totals.end()) {
    prices[static_cast<std::size_t>(orphan - totals.begin())] = 1.0;
    return prices;
  }
  for (std::size_t s = 0; s < prices.size(); ++s) {
    prices[s] = 1.0 / totals[s].per_second();
  }
  normalise(prices);
  return prices;
}

}  // namespace

Rate Rate::of(double per_second) {
  const double units = per_second * kUnitsPerSecond;
  if (!(units > 0.0)) {
    return {};
  }
  return {static_cast<std::int64_t>(std::min(units, static_cast<double>(kMaxUnits)))};
}

Result<void> validate(const PeerResources& peer) {
  if (!is_positive(peer.speed)) {
    return bad("speed", peer.speed, "a positive number");
  }
  if (!(peer.memory_bytes >= 0.0)) {
    return bad("memory_bytes", peer.memory_bytes, "a size");
  }
  if (!(peer.up > 0.0)) {
    return bad("up", peer.up, "a positive number of bytes/s");
  }
  if (!(peer.down > 0.0)) {
    return bad("down", peer.down, "a positive number of bytes/s");
  }
  return {};
}

Result<void> validate(const Pipeline& pipeline) {
  if (pipeline.stages.empty() || pipeline.stages.size() > kMaxPipelineStages) {
    return make_error(ErrorCode::kInvalidArgument, "stages: %zu of them; a pipeline has 1 to %zu",
                      pipeline.stages.size(), kMaxPipelineStages);
  }
  if (!is_size(pipeline.input_bytes)) {
    return bad("input_bytes", pipeline.input_bytes, "a size of at most 1e18");
  }
  for (const StageCost& stage : pipeline.stages) {
    if (!is_positive(stage.work)) {
      return bad("work", stage.work, "a positive number");
    }
    if (!is_size(stage.memory_bytes)) {
      return bad("memory_bytes", stage.memory_bytes, "a size of at most 1e18");
    }
    if (!is_size(stage.activation_bytes)) {
      return bad("activation_bytes", stage.activation_bytes, "a size of at most 1e18");
    }
  }
  return {};
}

PipelineRates::PipelineRates(const std::vector<PeerResources>& peers, const Pipeline& pipeline)
    : stages_(pipeline.stages.size()) {
  HOBNOB_CHECK(validate(pipeline).ok(), "pipeline was not validated");
  HOBNOB_CHECK(peers.size() <= kMaxPipelinePeers, "more peers than a sum of rates has room for");
  for (const StageCost& stage : pipeline.stages) {
    stage_bytes_.push_back(stage.memory_bytes);
  }
  rates_.reserve(peers.size() * stages_);
  for (const PeerResources& peer : peers) {
    HOBNOB_CHECK(validate(peer).ok(), "peer was not validated");
    HOBNOB_CHECK(ids_.empty() || ids_.back() < peer.id, "peers not in the order of their ids");
    ids_.push_back(peer.id);
    down_.push_back(peer.down);
    const double link = std::min(peer.up, peer.down);
    double in = pipeline.input_bytes;
    for (const StageCost& stage : pipeline.stages) {
      const double moved = in + stage.activation_bytes;
      in = stage.activation_bytes;
      const double computed = peer.speed / stage.work;
      const double possible = moved > 0.0 ? std::min(computed, link / moved) : computed;
      rates_.push_back(stage.memory_bytes <= peer.memory_bytes ? Rate::of(possible) : Rate{});
    }
  }
}

std::chrono::milliseconds PipelineRates::load_time(std::size_t peer, std::size_t stage) const {
  constexpr double kMaxMilliseconds = 1e12;
  const double needed = std::ceil(1e3 * stage_bytes_[stage] / down_[peer]);
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(needed, kMaxMilliseconds)));
}

std::vector<Rate> stage_rates(const PipelineRates& rates, const Assignment& assignment) {
  HOBNOB_CHECK(assignment.size() == rates.peer_count(), "assignment of other peers");
  std::vector<Rate> sums(rates.stage_count());
  for (std::size_t p = 0; p < assignment.size(); ++p) {
    if (assignment[p] != kIdle) {
      HOBNOB_CHECK(assignment[p] < rates.stage_count(), "assignment to a stage that is not there");
      sums[assignment[p]] += rates.rate(p, assignment[p]);
    }
  }
  return sums;
}

Rate throughput(const PipelineRates& rates, const Assignment& assignment) {
  return std::ranges::min(stage_rates(rates, assignment));
}

double dual_value(const PipelineRates& rates, const std::vector<double>& prices) {
  HOBNOB_CHECK(prices.size() == rates.stage_count(), "prices of other stages");
  std::vector<double> attracted(rates.stage_count());
  return best_responses(rates, prices, attracted);
}

DualBound dual_bound(const PipelineRates& rates, std::size_t steps) {
  // Anything from 0.03 to 0.3 ends within 0.02 % of the linear program on the example pipelines.
  constexpr double kFirstStep = 0.1;
  DualBound best{.per_second = PeerResources::kUnlimited, .prices = {}};
  std::vector<double> prices = first_prices(rates);
  std::vector<double> attracted(rates.stage_count());
  for (std::size_t step = 0; step < std::max<std::size_t>(steps, 1); ++step) {
    const double value = best_responses(rates, prices, attracted);
    if (value < best.per_second) {
      best = {.per_second = value, .prices = prices};
    }
    lower_prices_of_rich_stages(prices, attracted,
                                kFirstStep / std::sqrt(static_cast<double>(step + 1)));
  }
  return best;
}

}  // namespace hobnob
