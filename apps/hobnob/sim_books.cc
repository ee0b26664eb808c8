#include "apps/hobnob/sim_books.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace hobnob {

namespace {

void add_to(std::vector<double>& sum, const std::vector<double>& values) {
  sum.resize(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    sum[k] += values[k];
  }
}

double largest_mean(const std::vector<double>& sum, std::size_t peers) {
  double worst = 0.0;
  for (const double value : sum) {
    worst = std::max(worst, std::abs(value) / static_cast<double>(peers));
  }
  return worst;
}

}  // namespace

std::vector<double> to_doubles(ConstVec values) {
  std::vector<double> out(values.count());
  cpu_vector_ops().copy(values, Vec(std::span<double>(out)));
  return out;
}

Spread spread_of(const std::map<std::size_t, std::vector<double>>& values,
                 const std::vector<double>& optimum) {
  const auto n = static_cast<double>(values.size());
  std::vector<double> mean(values.begin()->second.size());
  for (const auto& [index, x] : values) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean[k] += x[k] / n;
    }
  }
  double err = 0.0;
  double merr = 0.0;
  double cons = 0.0;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    const double best = optimum.empty() ? 0.0 : optimum[k];
    merr += (mean[k] - best) * (mean[k] - best);
    for (const auto& [index, x] : values) {
      err += (x[k] - best) * (x[k] - best);
      cons += (x[k] - mean[k]) * (x[k] - mean[k]);
    }
  }
  Spread spread;
  spread.cons = std::sqrt(cons / n);
  if (!optimum.empty()) {
    spread.err = std::sqrt(err / n);
    spread.merr = std::sqrt(merr);
  }
  return spread;
}

void ConvergenceRate::add(std::uint64_t round, double distance) {
  points_.emplace_back(static_cast<double>(round), std::log(distance));
}

std::optional<double> ConvergenceRate::value() const {
  // Of float64, relative to where it began, with room for what rounding piles up.
  constexpr double kRange = 27.0;  // log(5e11)
  double n = 0.0;
  double sum_t = 0.0;
  double sum_y = 0.0;
  double sum_tt = 0.0;
  double sum_ty = 0.0;
  for (std::size_t k = points_.size() / 4; k < points_.size(); ++k) {
    const auto [t, y] = points_[k];
    if (!(y > points_.front().second - kRange)) {
      break;
    }
    n += 1.0;
    sum_t += t;
    sum_y += y;
    sum_tt += t * t;
    sum_ty += t * y;
  }
  if (n < 10.0) {
    return std::nullopt;
  }
  return std::exp((n * sum_ty - sum_t * sum_y) / (n * sum_tt - sum_t * sum_t));
}

void FlowBooks::add(std::uint64_t round, const std::vector<double>& flow, std::size_t peers) {
  add_to(all_, flow);
  Round& sum = rounds_[round];
  add_to(sum.sum, flow);
  if (++sum.count == peers) {
    worst_round_ = std::max(worst_round_, largest_mean(sum.sum, peers));
    rounds_.erase(round);
  }
}

void FlowBooks::add_undelivered(const std::vector<double>& flow) {
  add_to(all_, flow);
}

double FlowBooks::sum(std::size_t peers) const {
  return largest_mean(all_, peers);
}

}  // namespace hobnob
