#include "gossip/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

Trainer::Trainer(Executor& executor, Workload& workload, const TrainerConfig& config, Events events)
    : executor_(executor),
      workload_(workload),
      config_(config),
      events_(std::move(events)),
      optimizer_(make_optimizer(
          config.optimizer, workload.parameters().type(), workload.parameters().count())),
      outer_(make_outer(
          config.outer, workload.parameters().type(), workload.parameters().count(), *config.ops)) {
  if (outer_ || config.optimizer.prox > 0.0) {
    const Vec x = workload.parameters();
    anchor_ = std::make_unique<Buffer>(config.ops->allocate(x.type(), x.count()));
    config.ops->copy(x, anchor_->view());
  }
}

Result<void> Trainer::restore(const TrainerState& state) {
  const ConstVec saved = std::as_const(*state.parameters).view();
  const Vec x = workload_.parameters();
  if (saved.count() != x.count() || saved.type() != x.type()) {
    return make_error(ErrorCode::kMalformed,
                      "%zu parameters of %zu bytes, the model has %zu of %zu", saved.count(),
                      bytes_of(saved.type()), x.count(), bytes_of(x.type()));
  }
  const Result<void> loaded = load(state.optimizer);
  if (!loaded.ok()) {
    return loaded;
  }
  config_.ops->copy(saved, x);
  steps_ = state.steps;
  resume_round_ = state.round;
  return {};
}

TrainerState Trainer::state() const {
  const Vec x = workload_.parameters();
  auto copy = std::make_shared<Buffer>(config_.ops->allocate(x.type(), x.count()));
  config_.ops->copy(x, copy->view());
  if (flow_) {
    config_.ops->axpy(1.0, std::as_const(*flow_).view(), copy->view());
  }
  return {
      .round = resume_round_, .steps = steps_, .parameters = std::move(copy), .optimizer = save()};
}

// The optimizer's bytes come last: without an outer step they are all there is.
Bytes Trainer::save() const {
  Bytes bytes;
  if (anchor_) {
    const ConstVec anchor = std::as_const(*anchor_).view();
    ByteWriter(bytes).put_bytes(
        {static_cast<const std::byte*>(anchor.data()), anchor.size_bytes()});
  }
  if (outer_) {
    ByteWriter(bytes).put_bytes(outer_->save());
  }
  ByteWriter(bytes).put_bytes(optimizer_->save());
  return bytes;
}

Result<void> Trainer::load(ByteSpan bytes) {
  const std::size_t vector = workload_.parameters().size_bytes();
  const std::size_t vectors = (anchor_ ? 1U : 0U) + (outer_ ? 1U : 0U);
  if (bytes.size() < vectors * vector) {
    return make_error(ErrorCode::kMalformed, "%zu bytes of momentum, %zu at least are expected",
                      bytes.size(), vectors * vector);
  }
  const Result<void> loaded = optimizer_->load(bytes.subspan(vectors * vector));
  if (!loaded.ok()) {
    return loaded;
  }
  if (anchor_) {
    std::memcpy(anchor_->view().data(), bytes.data(), vector);
  }
  if (outer_) {
    const Result<void> outer = outer_->load(bytes.subspan(vector, vector));
    HOBNOB_CHECK(outer.ok(), "momentum of the right length was refused");
  }
  return {};
}

void Trainer::begin(std::uint64_t round, const std::shared_ptr<Buffer>& parameters) {
  if (parameters) {
    config_.ops->copy(std::as_const(*parameters).view(), workload_.parameters());
    optimizer_->reset();
    if (outer_) {
      outer_->reset();
    }
    if (anchor_) {
      config_.ops->copy(workload_.parameters(), anchor_->view());
    }
  }
  flow_.reset();
  executor_.cancel(step_timer_);
  start_round(round);
}

void Trainer::start_round(std::uint64_t round) {
  resume_round_ = round;
  if (is_stopped_) {
    return;
  }
  if (round >= config_.rounds) {
    events_.on_finished(workload_.evaluate());
    return;
  }
  round_ = round;
  has_stepped_ = false;
  record_ = RoundRecord();
  record_.round = round;
  if (config_.order == RoundOrder::kCta) {
    publish();  // x itself; the exchange runs while the gradient is computed
  }
  const Duration taken = config_.step_time * config_.local_steps;
  if (taken.count() > 0) {
    step_timer_ = executor_.after(taken, [this] { step(); });
  } else {
    step();
  }
}

void Trainer::step() {
  const Time started = executor_.now();
  const double scale = learning_rate_scale(config_.optimizer, round_, config_.rounds);
  double loss = 0.0;
  for (std::uint32_t k = 0; k < config_.local_steps; ++k) {
    if (is_stopped_) {
      return;
    }
    loss += workload_.gradient(steps_++);
    prepare_gradient();
    optimizer_->step(workload_.parameters(), workload_.gradients(), scale);
  }
  record_.loss = loss / config_.local_steps;
  record_.samples = workload_.batch_samples() * config_.local_steps;
  has_stepped_ = true;
  resume_round_ = round_ + 1;
  ready_at_ = executor_.now();
  record_.compute = ready_at_ - started;
  if (config_.order == RoundOrder::kAtc) {
    publish();
  } else if (flow_) {
    finish_round();
  }
}

// Clipping, and what the anchor and the outer momentum add.
void Trainer::prepare_gradient() {
  const VectorOps& ops = *config_.ops;
  const Vec gradient = workload_.gradients();
  if (config_.optimizer.clip > 0.0) {
    const double norm = std::sqrt(ops.squared_norm(gradient));
    if (norm > config_.optimizer.clip) {
      ops.axpy(config_.optimizer.clip / norm - 1.0, gradient, gradient);
    }
  }
  if (config_.optimizer.prox > 0.0) {
    ops.add_difference(config_.optimizer.prox, workload_.parameters(),
                       std::as_const(*anchor_).view(), gradient);
  }
  if (outer_) {
    outer_->add_hint(gradient);
  }
}

void Trainer::publish() {
  const VectorOps& ops = *config_.ops;
  const Vec x = workload_.parameters();
  std::shared_ptr<Buffer> y = std::exchange(spare_, nullptr);
  if (!y) {
    y = std::make_shared<Buffer>(ops.allocate(x.type(), x.count()));
  }
  ops.copy(x, y->view());
  events_.publish(round_, std::move(y));
}

void Trainer::deliver(std::uint64_t round, std::uint64_t next_round, std::shared_ptr<Buffer> flow) {
  HOBNOB_CHECK(round == round_, "flow of another round");
  next_round_ = next_round;
  flow_ = std::move(flow);
  if (has_stepped_) {
    finish_round();
  }
}

void Trainer::finish_round() {
  record_.stall = executor_.now() - ready_at_;
  if (events_.on_flow) {
    events_.on_flow(round_, std::as_const(*flow_).view());
  }
  config_.ops->axpy(1.0, std::as_const(*flow_).view(), workload_.parameters());
  if (outer_) {
    const double rate = config_.optimizer.learning_rate *
                        learning_rate_scale(config_.optimizer, round_, config_.rounds);
    outer_->step(std::as_const(*anchor_).view(), rate * config_.local_steps,
                 workload_.parameters());
  }
  if (anchor_) {
    config_.ops->copy(workload_.parameters(), anchor_->view());
  }
  spare_ = std::exchange(flow_, nullptr);
  resume_round_ = next_round_;
  const std::uint64_t before = round_ / std::max<std::uint64_t>(config_.evaluate_every, 1);
  const std::uint64_t after = next_round_ / std::max<std::uint64_t>(config_.evaluate_every, 1);
  if (config_.evaluate_every > 0 && before != after && next_round_ < config_.rounds) {
    record_.evaluation = workload_.evaluate();
  }
  events_.on_round(record_);
  executor_.post([this, next = next_round_] { start_round(next); });
}

}  // namespace hobnob
