#include "gossip/trigger.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

class Always final : public Trigger {
 public:
  Needs needs() const override { return Needs::kNothing; }

  bool fires(const TriggerInput& /*input*/) override { return true; }
};

class Every final : public Trigger {
 public:
  explicit Every(std::uint64_t period) : period_(period) {}

  bool has_turn(std::uint32_t fragment, std::uint64_t round) const override {
    return (round + fragment) % period_ == 0;
  }

  Needs needs() const override { return Needs::kNothing; }

  bool fires(const TriggerInput& /*input*/) override { return true; }

 private:
  const std::uint64_t period_;
};

// Of those that are never silent for longer than they may.
class Limited : public Trigger {
 public:
  explicit Limited(const TriggerConfig& config) : config_(config) {}

  bool fires(const TriggerInput& input) final {
    const bool is_moved = decide(input);
    return is_moved || input.silent_rounds >= config_.max_silence;
  }

 protected:
  virtual bool decide(const TriggerInput& input) = 0;

  const TriggerConfig config_;
};

class Norm final : public Limited {
 public:
  Norm(const TriggerConfig& config, std::function<double(std::uint64_t)> rate_scale)
      : Limited(config), rate_scale_(std::move(rate_scale)) {}

  Needs needs() const override { return Needs::kDistance; }

 private:
  bool decide(const TriggerInput& input) override {
    return std::sqrt(input.squared_distance) >= config_.threshold * scale(input.round);
  }

  double scale(std::uint64_t round) const {
    const double t = static_cast<double>(round);
    if (config_.schedule == "sqrt") {
      return 1.0 / std::sqrt(t + 1.0);
    }
    if (config_.schedule == "inverse") {
      return 1.0 / (t + 1.0);
    }
    if (config_.schedule == "geometric") {
      return std::pow(config_.ratio, t);
    }
    return config_.schedule == "step" ? rate_scale_(round) : 1.0;
  }

  std::function<double(std::uint64_t)> rate_scale_;
};

class Rate final : public Limited {
 public:
  using Limited::Limited;

  Needs needs() const override { return Needs::kDistance; }

 private:
  static constexpr double kGain = 0.1;

  // A fragment's threshold begins at the first distance that is a number and not 0.
  bool decide(const TriggerInput& input) override {
    const double distance = std::sqrt(input.squared_distance);
    double& threshold = thresholds_.try_emplace(input.edge.fragment, distance).first->second;
    threshold = threshold > 0.0 && std::isfinite(threshold) ? threshold : distance;
    const bool fires = distance > 0.0 && distance >= threshold;
    threshold *= std::exp(kGain * ((fires ? 1.0 : 0.0) - config_.target));
    return fires;
  }

  std::map<std::uint32_t, double> thresholds_;
};

class Slope final : public Limited {
 public:
  using Limited::Limited;

  Needs needs() const override { return Needs::kNorm; }

  void forget(const PeerId& peer) override {
    std::erase_if(edges_, [&](const auto& each) { return each.first.peer == peer; });
  }

 private:
  static constexpr std::uint64_t kAllSent = 30;  // rounds

  struct State {
    double norm = 0.0;  // when last sent
    std::uint64_t round = 0;
    double threshold = 0.0;
    double slope = 0.0;  // the last
    bool has_sent = false;
  };

  bool decide(const TriggerInput& input) override {
    State& state = edges_[input.edge];
    const double norm = std::sqrt(input.squared_norm);
    const double change = std::abs(norm - state.norm);
    state.threshold *= config_.horizon;
    const bool fires = change >= state.threshold || input.round < kAllSent ||
                       input.silent_rounds >= config_.max_silence;
    if (fires) {
      const auto rounds =
          static_cast<double>(std::max<std::uint64_t>(input.round - state.round, 1));
      const double slope = change / rounds;
      state = {.norm = norm,
               .round = input.round,
               .threshold = state.has_sent ? (slope + state.slope) / 2.0 : slope,
               .slope = slope,
               .has_sent = true};
    }
    return fires;
  }

  std::map<EdgeKey, State> edges_;
};

}  // namespace

std::unique_ptr<Trigger> make_trigger(const TriggerConfig& config,
                                      std::function<double(std::uint64_t)> rate_scale) {
  if (config.kind == "every") {
    return std::make_unique<Every>(config.period);
  }
  if (config.kind == "norm") {
    return std::make_unique<Norm>(config, std::move(rate_scale));
  }
  if (config.kind == "rate") {
    return std::make_unique<Rate>(config);
  }
  if (config.kind == "slope") {
    return std::make_unique<Slope>(config);
  }
  HOBNOB_CHECK(config.kind == "always", "unknown trigger passed validation");
  return std::make_unique<Always>();
}

}  // namespace hobnob
