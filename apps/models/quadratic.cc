#include "apps/models/quadratic.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace hobnob {

namespace {

class Quadratic final : public Workload {
 public:
  Quadratic(Rows curvature, Rows target, std::size_t row)
      : curvature_(std::move(curvature)),
        target_(std::move(target)),
        row_(row),
        x_(curvature_[row].size()),
        gradient_(x_.size()),
        tensors_{{.name = "x", .shape = {x_.size()}, .offset = 0, .count = x_.size()}} {}

  Vec parameters() override { return std::span<double>(x_); }

  Vec gradients() override { return std::span<double>(gradient_); }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  std::size_t batch_samples() const override { return 1; }

  double gradient(std::uint64_t /*step*/) override {
    for (std::size_t k = 0; k < x_.size(); ++k) {
      gradient_[k] = curvature_[row_][k] * (x_[k] - target_[row_][k]);
    }
    return loss(row_);
  }

  Evaluation evaluate() override {
    double sum = 0.0;
    for (std::size_t i = 0; i < curvature_.size(); ++i) {
      sum += loss(i);
    }
    return {.loss = sum / static_cast<double>(curvature_.size()),
            .accuracy = std::numeric_limits<double>::quiet_NaN()};
  }

  std::vector<double> optimum() const override {
    std::vector<double> best(x_.size());
    for (std::size_t k = 0; k < best.size(); ++k) {
      double weight = 0.0;
      for (std::size_t i = 0; i < curvature_.size(); ++i) {
        best[k] += curvature_[i][k] * target_[i][k];
        weight += curvature_[i][k];
      }
      best[k] /= weight;
    }
    return best;
  }

 private:
  double loss(std::size_t i) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const double distance = x_[k] - target_[i][k];
      sum += curvature_[i][k] * distance * distance;
    }
    return 0.5 * sum;
  }

  const Rows curvature_;
  const Rows target_;
  const std::size_t row_;

  std::vector<double> x_;
  std::vector<double> gradient_;
  std::vector<TensorInfo> tensors_;
};

Error refuse(const std::string& why) {
  return make_error(ErrorCode::kInvalidArgument, "cannot make the quadratic workload: %s",
                    why.c_str());
}

Result<void> check_columns(const Rows& curvature, const Rows& target) {
  for (std::size_t k = 0; k < curvature[0].size(); ++k) {
    double sum = 0.0;
    for (std::size_t i = 0; i < curvature.size(); ++i) {
      const double a = curvature[i][k];
      if (!std::isfinite(a) || a < 0.0 || !std::isfinite(target[i][k])) {
        return refuse(
            format("row %zu column %zu: curvature %g, target %g; curvature must be 0 or "
                   "more and both finite",
                   i, k, a, target[i][k]));
      }
      sum += a;
    }
    if (!(sum > 0.0)) {
      return refuse(format("column %zu of curvature is all zero, so it has no minimum", k));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Workload>> make_quadratic(Rows curvature, Rows target, std::size_t row) {
  if (curvature.empty() || curvature[0].empty()) {
    return refuse("curvature is empty; give one row per peer");
  }
  if (curvature.size() != target.size()) {
    return refuse(format("curvature has %zu rows and target %zu", curvature.size(), target.size()));
  }
  for (std::size_t i = 0; i < curvature.size(); ++i) {
    if (curvature[i].size() != curvature[0].size() || target[i].size() != curvature[0].size()) {
      return refuse(format("row %zu has %zu curvatures and %zu targets, row 0 has %zu curvatures",
                           i, curvature[i].size(), target[i].size(), curvature[0].size()));
    }
  }
  if (row >= curvature.size()) {
    return refuse(format("no row for shard %zu, curvature has %zu rows; give one row per peer", row,
                         curvature.size()));
  }
  if (Result<void> checked = check_columns(curvature, target); !checked.ok()) {
    return checked.error();
  }
  return std::unique_ptr<Workload>(
      std::make_unique<Quadratic>(std::move(curvature), std::move(target), row));
}

}  // namespace hobnob
