#include "gossip/trainer.h"

#include <gtest/gtest.h>

#include <utility>

namespace hobnob {
namespace {

// f(x) = 1/2 sum a_k (x_k - b_k)^2, whose batches differ by a shift of b, so that the data cursor
// matters.
class ShiftingQuadratic final : public Workload {
 public:
  Vec parameters() override { return Vec(std::span<double>(x_)); }

  Vec gradients() override { return Vec(std::span<double>(g_)); }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  double gradient(std::uint64_t step) override {
    for (std::size_t k = 0; k < x_.size(); ++k) {
      g_[k] = x_[k] - static_cast<double>((step * 7 + k) % 5);
    }
    return 0.0;
  }

  std::size_t batch_samples() const override { return 1; }

  Evaluation evaluate() override { return {}; }

 private:
  std::vector<double> x_{1.0, 2.0, 3.0};
  std::vector<double> g_{0.0, 0.0, 0.0};
  std::vector<TensorInfo> tensors_{{"x", {3}, 0, 3}};
};

// A trainer whose neighbours contribute 1/8 to every value in every round.
struct Lone {
  explicit Lone(std::uint64_t rounds,
                RoundOrder order = RoundOrder::kAtc,
                const OuterConfig& outer = {})
      : executor(make_sim_executor()),
        trainer(*executor,
                workload,
                {.order = order,
                 .local_steps = 2,
                 .rounds = rounds,
                 .optimizer = {.kind = "adamw", .learning_rate = 0.1},
                 .outer = outer},
                Trainer::Events{.publish =
                                    [this](std::uint64_t round, std::shared_ptr<Buffer> y) {
                                      cpu_vector_ops().fill(0.125, y->view());
                                      if (round < answers) {
                                        trainer.deliver(round, round + 1, std::move(y));
                                      }
                                    },
                                .on_round = [](const RoundRecord&) {},
                                .on_finished = [](const Evaluation&) {},
                                .on_flow = nullptr}) {}

  void run() {
    while (executor->step()) {
    }
  }

  std::vector<double> values() {
    const auto x = workload.parameters().as<double>();
    return {x.begin(), x.end()};
  }

  ShiftingQuadratic workload;
  std::unique_ptr<SimExecutor> executor;
  std::uint64_t answers = 1000;  // rounds below this get their flow
  Trainer trainer;
};

std::vector<double> values_of(const TrainerState& state) {
  const auto x = std::as_const(*state.parameters).view().as<double>();
  return {x.begin(), x.end()};
}

TEST(TrainerState, ARestoredTrainerGoesOnToTheBit) {
  for (const RoundOrder order : {RoundOrder::kAtc, RoundOrder::kCta}) {
    Lone whole(20, order);
    whole.trainer.begin(0, nullptr);
    whole.run();

    Lone first(8, order);
    first.trainer.begin(0, nullptr);
    first.run();
    const TrainerState state = first.trainer.state();
    EXPECT_EQ(state.round, 8U);
    EXPECT_EQ(state.steps, 16U);
    Lone second(20, order);
    ASSERT_TRUE(second.trainer.restore(state).ok());
    second.trainer.begin(state.round, nullptr);
    second.run();
    EXPECT_EQ(second.values(), whole.values());
  }
}

TEST(TrainerState, TheOuterMomentumGoesOnToo) {
  for (const char* kind : {"heavy-ball", "nesterov", "quasi-global"}) {
    SCOPED_TRACE(kind);
    const OuterConfig outer{.kind = kind, .momentum = 0.5, .rate = 0.5};
    Lone whole(20, RoundOrder::kAtc, outer);
    whole.trainer.begin(0, nullptr);
    whole.run();
    Lone first(8, RoundOrder::kAtc, outer);
    first.trainer.begin(0, nullptr);
    first.run();
    const TrainerState state = first.trainer.state();
    Lone second(20, RoundOrder::kAtc, outer);
    ASSERT_TRUE(second.trainer.restore(state).ok());
    second.trainer.begin(state.round, nullptr);
    second.run();
    EXPECT_EQ(second.values(), whole.values());
    Lone other(20);
    EXPECT_EQ(other.trainer.restore(state).error().code, ErrorCode::kMalformed);
    const TrainerState short_one = other.trainer.state();
    EXPECT_EQ(second.trainer.restore(short_one).error().code, ErrorCode::kMalformed);
  }
}

TEST(Trainer, AdoptedParametersForgetTheOuterMomentum) {
  const OuterConfig outer{.kind = "heavy-ball", .momentum = 0.5};
  Lone used(10, RoundOrder::kAtc, outer);
  used.trainer.begin(0, nullptr);
  used.run();
  const auto given = std::make_shared<Buffer>(cpu_vector_ops().allocate(DType::kFloat64, 3));
  used.trainer.begin(5, given);
  used.run();
  Lone fresh(10, RoundOrder::kAtc, outer);
  TrainerState start = fresh.trainer.state();
  start.steps = 20;  // the same batches
  ASSERT_TRUE(fresh.trainer.restore(start).ok());
  fresh.trainer.begin(5, given);
  fresh.run();
  EXPECT_EQ(used.values(), fresh.values());
}

TEST(TrainerState, AStepThatWaitsForItsFlowIsInTheState) {
  Lone lone(20);
  lone.answers = 3;
  lone.trainer.begin(0, nullptr);
  lone.run();
  const TrainerState state = lone.trainer.state();
  EXPECT_EQ(state.round, 4U) << "round 3 has made its step";
  EXPECT_EQ(state.steps, 8U);
  EXPECT_EQ(values_of(state), lone.values());
}

TEST(TrainerState, TheStateIsACopy) {
  Lone lone(5);
  lone.trainer.begin(0, nullptr);
  lone.run();
  const TrainerState state = lone.trainer.state();
  const std::vector<double> before = values_of(state);
  cpu_vector_ops().fill(9.0, lone.workload.parameters());
  EXPECT_EQ(values_of(state), before);
}

TEST(TrainerState, AnotherModelsStateIsRefusedAndChangesNothing) {
  Lone lone(5);
  lone.trainer.begin(0, nullptr);
  lone.run();
  const std::vector<double> before = lone.values();
  TrainerState state = lone.trainer.state();
  state.parameters = std::make_shared<Buffer>(cpu_vector_ops().allocate(DType::kFloat64, 4));
  EXPECT_EQ(lone.trainer.restore(state).error().code, ErrorCode::kMalformed);
  state = lone.trainer.state();
  state.parameters = std::make_shared<Buffer>(cpu_vector_ops().allocate(DType::kFloat32, 3));
  EXPECT_EQ(lone.trainer.restore(state).error().code, ErrorCode::kMalformed);
  state = lone.trainer.state();
  state.optimizer.pop_back();
  EXPECT_EQ(lone.trainer.restore(state).error().code, ErrorCode::kMalformed);
  EXPECT_EQ(lone.values(), before);
}

}  // namespace
}  // namespace hobnob
