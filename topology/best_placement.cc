#include "topology/best_placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "topology/placement.h"

namespace hobnob {

namespace {

class BranchAndBound {
 public:
  BranchAndBound(const PipelineRates& rates, std::size_t max_nodes)
      : rates_(rates),
        nodes_left_(max_nodes),
        prices_(dual_bound(rates).prices),
        order_(peers_by_kind()),
        twin_(twins()),
        best_(place(rates)),
        best_rate_(throughput(rates, best_)),
        now_(rates.peer_count(), kIdle),
        sums_(rates.stage_count()) {
    for (std::size_t k = 0; k < order_.size(); ++k) {
      is_like_last_.push_back(k > 0 && row(order_[k]) == row(order_[k - 1]));
    }
    count_what_remains();
  }

  BestPlacement run() {
    visit(0);
    return {.assignment = best_, .is_optimal = !gave_up_};
  }

 private:
  std::vector<Rate> row(std::uint32_t peer) const {
    std::vector<Rate> rates(rates_.stage_count());
    for (std::size_t s = 0; s < rates.size(); ++s) {
      rates[s] = rates_.rate(peer, s);
    }
    return rates;
  }

  // Fast ones first, so that sums are far from even early; equal ones side by side.
  std::vector<std::uint32_t> peers_by_kind() const {
    std::vector<std::pair<std::vector<Rate>, std::uint32_t>> rows;
    for (std::uint32_t p = 0; p < rates_.peer_count(); ++p) {
      rows.emplace_back(row(p), p);
    }
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
      const auto most = [](const std::vector<Rate>& rates) { return std::ranges::max(rates); };
      return std::pair(most(a.first), a.first) > std::pair(most(b.first), b.first);
    });
    std::vector<std::uint32_t> order;
    for (const auto& [rates, peer] : rows) {
      order.push_back(peer);
    }
    return order;
  }

  // For each stage the first one that every peer serves at the same rates.
  std::vector<std::uint32_t> twins() const {
    std::vector<std::uint32_t> first(rates_.stage_count());
    for (std::uint32_t s = 0; s < first.size(); ++s) {
      first[s] = s;
      for (std::uint32_t earlier = 0; earlier < s && first[s] == s; ++earlier) {
        bool is_alike = true;
        for (std::size_t p = 0; p < rates_.peer_count() && is_alike; ++p) {
          is_alike = rates_.rate(p, s) == rates_.rate(p, earlier);
        }
        first[s] = is_alike ? earlier : s;
      }
    }
    return first;
  }

  // What peers k, k + 1, ... of the order can still add, to one stage and at the prices; and the
  // step between possible throughputs.
  void count_what_remains() {
    const std::size_t stages = rates_.stage_count();
    remaining_.assign((order_.size() + 1) * stages, Rate{});
    remaining_value_.assign(order_.size() + 1, 0.0);
    std::int64_t grain = 0;
    for (std::size_t k = order_.size(); k-- > 0;) {
      double most = 0.0;
      for (std::size_t s = 0; s < stages; ++s) {
        const Rate rate = rates_.rate(order_[k], s);
        grain = std::gcd(grain, rate.units);
        remaining_[k * stages + s] = remaining_[(k + 1) * stages + s] + rate;
        most = std::max(most, prices_[s] * static_cast<double>(rate.units));
      }
      remaining_value_[k] = remaining_value_[k + 1] + most;
    }
    grain_ = {std::max<std::int64_t>(grain, 1)};
  }

  bool is_hopeless(std::size_t k) const {
    constexpr double kRounding = 1e-12;
    const Rate goal = best_rate_ + grain_;
    double value = remaining_value_[k];
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      if (sums_[s] + remaining_[k * sums_.size() + s] < goal) {
        return true;
      }
      value += prices_[s] * static_cast<double>(sums_[s].units);
    }
    return value * (1.0 + kRounding) < static_cast<double>(goal.units);
  }

  // Assigns the peers k, k + 1, ... of the order in all ways that may be better.
  void visit(std::size_t k) {
    if (nodes_left_ == 0) {
      gave_up_ = true;
      return;
    }
    --nodes_left_;
    if (is_hopeless(k)) {
      return;
    }
    if (k == order_.size()) {
      best_ = now_;
      best_rate_ = std::ranges::min(sums_);
      return;
    }
    const std::uint32_t peer = order_[k];
    // Of peers that are alike the later one never serves an earlier stage.
    const std::uint32_t first = is_like_last_[k] ? now_[order_[k - 1]] : 0;
    bool is_useful = false;
    for (std::uint32_t s = first; s < sums_.size(); ++s) {
      const Rate rate = rates_.rate(peer, s);
      if (rate == Rate{} || repeats(first, s)) {
        continue;
      }
      is_useful = true;
      now_[peer] = s;
      sums_[s] += rate;
      visit(k + 1);
      sums_[s] -= rate;
    }
    now_[peer] = kIdle;
    if (!is_useful) {
      visit(k + 1);
    }
  }

  // Whether a stage like `s`, with as much on it, has been tried for this peer.
  bool repeats(std::uint32_t first, std::uint32_t s) const {
    for (std::uint32_t earlier = first; earlier < s; ++earlier) {
      if (twin_[earlier] == twin_[s] && sums_[earlier] == sums_[s]) {
        return true;
      }
    }
    return false;
  }

  const PipelineRates& rates_;
  std::size_t nodes_left_;
  const std::vector<double> prices_;
  const std::vector<std::uint32_t> order_;
  const std::vector<std::uint32_t> twin_;  // (stages,)
  std::vector<bool> is_like_last_;         // (peers,) along order_: equal rates
  std::vector<Rate> remaining_;            // (peers + 1, stages)
  std::vector<double> remaining_value_;    // (peers + 1,), units of Rate
  Rate grain_;
  Assignment best_;
  Rate best_rate_;
  Assignment now_;
  std::vector<Rate> sums_;
  bool gave_up_ = false;
};

}  // namespace

BestPlacement best_placement(const PipelineRates& rates, std::size_t max_nodes) {
  return BranchAndBound(rates, max_nodes).run();
}

}  // namespace hobnob
