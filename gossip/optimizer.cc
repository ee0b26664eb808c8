#include "gossip/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>
#include <vector>

namespace hobnob {

namespace {

template <typename T>
void put_vector(const std::vector<T>& values, Bytes& out) {
  ByteWriter(out).put_bytes(std::as_bytes(std::span(values)));
}

template <typename T>
void take_vector(ByteReader& reader, std::vector<T>& values) {
  const ByteSpan bytes = reader.get_bytes(values.size() * sizeof(T));
  if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
}

Result<void> other_size(std::size_t bytes, std::size_t expected) {
  return make_error(ErrorCode::kMalformed, "optimizer state of %zu bytes, expected %zu", bytes,
                    expected);
}

// Heavy ball: m <- b m + g, x <- x - eta m (Polyak 1964; the form of torch.optim.SGD); Nesterov: x
// <- x - eta (g + b m).
template <typename T>
class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerConfig& config, std::size_t count)
      : rate_(config.learning_rate),
        momentum_(static_cast<T>(config.momentum)),
        decay_(static_cast<T>(config.weight_decay)),
        is_nesterov_(config.nesterov),
        velocity_(config.momentum == 0.0 ? 0 : count) {}

  void step(Vec x, ConstVec g, double scale) override {
    const auto params = x.as<T>();
    const auto grads = g.as<T>();
    const T rate = static_cast<T>(rate_ * scale);
    for (std::size_t k = 0; k < params.size(); ++k) {
      T direction = grads[k] + decay_ * params[k];
      if (!velocity_.empty()) {
        velocity_[k] = momentum_ * velocity_[k] + direction;
        direction = is_nesterov_ ? direction + momentum_ * velocity_[k] : velocity_[k];
      }
      params[k] -= rate * direction;
    }
  }

  void reset() override { std::ranges::fill(velocity_, T{0}); }

  Bytes save() const override {
    Bytes bytes;
    put_vector(velocity_, bytes);
    return bytes;
  }

  Result<void> load(ByteSpan bytes) override {
    if (bytes.size() != velocity_.size() * sizeof(T)) {
      return other_size(bytes.size(), velocity_.size() * sizeof(T));
    }
    ByteReader reader(bytes);
    take_vector(reader, velocity_);
    return {};
  }

 private:
  double rate_;
  T momentum_;
  T decay_;
  bool is_nesterov_;
  std::vector<T> velocity_;
};

// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.
template <typename T>
class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerConfig& config, std::size_t count)
      : config_(config), first_(count), second_(count) {}

  void step(Vec x, ConstVec g, double scale) override {
    ++steps_;
    const auto params = x.as<T>();
    const auto grads = g.as<T>();
    const T b1 = static_cast<T>(config_.beta1);
    const T b2 = static_cast<T>(config_.beta2);
    const double learning_rate = config_.learning_rate * scale;
    const T rate = static_cast<T>(learning_rate / (1.0 - std::pow(config_.beta1, steps_)));
    const T second_scale = static_cast<T>(1.0 / (1.0 - std::pow(config_.beta2, steps_)));
    const T epsilon = static_cast<T>(config_.epsilon);
    const T keep = static_cast<T>(1.0 - learning_rate * config_.weight_decay);
    for (std::size_t k = 0; k < params.size(); ++k) {
      first_[k] = b1 * first_[k] + (T{1} - b1) * grads[k];
      second_[k] = b2 * second_[k] + (T{1} - b2) * grads[k] * grads[k];
      params[k] =
          keep * params[k] - rate * first_[k] / (std::sqrt(second_[k] * second_scale) + epsilon);
    }
  }

  void reset() override {
    std::ranges::fill(first_, T{0});
    std::ranges::fill(second_, T{0});
    steps_ = 0;
  }

  Bytes save() const override {
    Bytes bytes;
    ByteWriter(bytes).put(steps_);
    put_vector(first_, bytes);
    put_vector(second_, bytes);
    return bytes;
  }

  Result<void> load(ByteSpan bytes) override {
    const std::size_t expected = sizeof(steps_) + 2 * first_.size() * sizeof(T);
    if (bytes.size() != expected) {
      return other_size(bytes.size(), expected);
    }
    ByteReader reader(bytes);
    steps_ = reader.get<std::int32_t>();
    take_vector(reader, first_);
    take_vector(reader, second_);
    return {};
  }

 private:
  OptimizerConfig config_;
  std::vector<T> first_;
  std::vector<T> second_;
  std::int32_t steps_ = 0;
};

// Chen et al. 2302.06675, algorithm 2: x <- x - eta (sign(b1 m + (1 - b1) g) + decay x), m <- b2 m
// + (1 - b2) g. The sign of 0 is 0.
template <typename T>
class Lion final : public Optimizer {
 public:
  Lion(const OptimizerConfig& config, std::size_t count) : config_(config), momentum_(count) {}

  void step(Vec x, ConstVec g, double scale) override {
    const auto params = x.as<T>();
    const auto grads = g.as<T>();
    const T b1 = static_cast<T>(config_.beta1);
    const T b2 = static_cast<T>(config_.beta2);
    const T rate = static_cast<T>(config_.learning_rate * scale);
    const T decay = static_cast<T>(config_.weight_decay);
    for (std::size_t k = 0; k < params.size(); ++k) {
      const T blend = b1 * momentum_[k] + (T{1} - b1) * grads[k];
      const T sign = static_cast<T>((blend > T{0} ? 1 : 0) - (blend < T{0} ? 1 : 0));
      params[k] -= rate * (sign + decay * params[k]);
      momentum_[k] = b2 * momentum_[k] + (T{1} - b2) * grads[k];
    }
  }

  void reset() override { std::ranges::fill(momentum_, T{0}); }

  Bytes save() const override {
    Bytes bytes;
    put_vector(momentum_, bytes);
    return bytes;
  }

  Result<void> load(ByteSpan bytes) override {
    if (bytes.size() != momentum_.size() * sizeof(T)) {
      return other_size(bytes.size(), momentum_.size() * sizeof(T));
    }
    ByteReader reader(bytes);
    take_vector(reader, momentum_);
    return {};
  }

 private:
  OptimizerConfig config_;
  std::vector<T> momentum_;
};

template <typename T>
std::unique_ptr<Optimizer> make_typed(const OptimizerConfig& config, std::size_t count) {
  if (config.kind == "adamw") {
    return std::make_unique<AdamW<T>>(config, count);
  }
  if (config.kind == "lion") {
    return std::make_unique<Lion<T>>(config, count);
  }
  return std::make_unique<Sgd<T>>(config, count);
}

}  // namespace

double learning_rate_scale(const OptimizerConfig& config,
                           std::uint64_t round,
                           std::uint64_t rounds) {
  if (round < config.warmup) {
    return static_cast<double>(round + 1) / static_cast<double>(config.warmup + 1);
  }
  // A warm-up of all rounds leaves none for the schedule.
  const double done = static_cast<double>(round - config.warmup) /
                      static_cast<double>(std::max(rounds, config.warmup + 1) - config.warmup);
  if (config.schedule == "linear") {
    return 1.0 - done;
  }
  return config.schedule == "cosine" ? 0.5 * (1.0 + std::cos(std::numbers::pi * done)) : 1.0;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          DType type,
                                          std::size_t count) {
  return type == DType::kFloat32 ? make_typed<float>(config, count)
                                 : make_typed<double>(config, count);
}

}  // namespace hobnob
