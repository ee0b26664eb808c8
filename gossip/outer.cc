#include "gossip/outer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hobnob {

namespace {

// All kinds keep one velocity.
class Velocity : public Outer {
 public:
  Velocity(const OuterConfig& config, DType type, std::size_t count, const VectorOps& ops)
      : config_(config), ops_(ops), velocity_(ops.allocate(type, count)) {}

  void add_hint(Vec /*gradient*/) const override {}

  void reset() override { ops_.fill(0.0, velocity_.view()); }

  Bytes save() const override {
    const ConstVec velocity = std::as_const(velocity_).view();
    Bytes bytes(velocity.size_bytes());
    std::memcpy(bytes.data(), velocity.data(), bytes.size());
    return bytes;
  }

  Result<void> load(ByteSpan bytes) override {
    const Vec velocity = velocity_.view();
    if (bytes.size() != velocity.size_bytes()) {
      return make_error(ErrorCode::kMalformed, "outer momentum of %zu bytes, expected %zu",
                        bytes.size(), velocity.size_bytes());
    }
    std::memcpy(velocity.data(), bytes.data(), bytes.size());
    return {};
  }

 protected:
  // Calls work(a, v, m) with each value's place in turn.
  template <typename Work>
  void for_each(ConstVec anchor, Vec m, Work work) {
    const auto run = [&]<typename T>(std::span<T> values) {
      const auto a = anchor.as<T>();
      const auto v = velocity_.view().template as<T>();
      for (std::size_t k = 0; k < values.size(); ++k) {
        work(a[k], v[k], values[k]);
      }
    };
    if (m.type() == DType::kFloat32) {
      run(m.as<float>());
    } else {
      run(m.as<double>());
    }
  }

  const OuterConfig config_;
  const VectorOps& ops_;
  Buffer velocity_;
};

class HeavyBall final : public Velocity {
 public:
  using Velocity::Velocity;

  void step(ConstVec anchor, double /*steps*/, Vec m) override {
    for_each(anchor, m, [this]<typename T>(T a, T& v, T& next) {
      v = static_cast<T>(config_.momentum) * v + static_cast<T>(config_.rate) * (next - a);
      next = a + v;
    });
  }
};

class Nesterov final : public Velocity {
 public:
  using Velocity::Velocity;

  void step(ConstVec anchor, double /*steps*/, Vec m) override {
    for_each(anchor, m, [this]<typename T>(T a, T& v, T& next) {
      const T b = static_cast<T>(config_.momentum);
      const T change = a - next;
      v = b * v + change;
      next = a - static_cast<T>(config_.rate) * (change + b * v);
    });
  }
};

class QuasiGlobal final : public Velocity {
 public:
  using Velocity::Velocity;

  void add_hint(Vec gradient) const override {
    ops_.axpy(config_.momentum, std::as_const(velocity_).view(), gradient);
  }

  void step(ConstVec anchor, double steps, Vec m) override {
    constexpr double kLeast = 1e-12;  // of the last steps of a schedule that ends at 0
    const double scale = (1.0 - config_.decay) / std::max(steps, kLeast);
    for_each(anchor, m, [&]<typename T>(T a, T& v, T& next) {
      v = static_cast<T>(config_.decay) * v + static_cast<T>(scale) * (a - next);
    });
  }
};

}  // namespace

std::unique_ptr<Outer> make_outer(const OuterConfig& config,
                                  DType type,
                                  std::size_t count,
                                  const VectorOps& ops) {
  if (config.kind == "heavy-ball") {
    return std::make_unique<HeavyBall>(config, type, count, ops);
  }
  if (config.kind == "nesterov") {
    return std::make_unique<Nesterov>(config, type, count, ops);
  }
  if (config.kind == "quasi-global") {
    return std::make_unique<QuasiGlobal>(config, type, count, ops);
  }
  HOBNOB_CHECK(config.kind == "identity", "unknown outer step passed validation");
  return nullptr;
}

}  // namespace hobnob
