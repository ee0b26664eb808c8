#include "gossip/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hobnob {
namespace {

template <typename T>
constexpr DType kTypeOf = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;

template <typename T>
class OptimizerSteps : public testing::Test {
 protected:
  // A few ulps of the largest number that occurs.
  static constexpr double kTolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;

  static void step(Optimizer& optimizer,
                   std::vector<T>& x,
                   const std::vector<T>& g,
                   double scale = 1.0) {
    optimizer.step(Vec(std::span<T>(x)), ConstVec(std::span<const T>(g)), scale);
  }

  static std::vector<T> gradient(int step, std::size_t count) {
    std::vector<T> g(count);
    for (std::size_t k = 0; k < count; ++k) {
      g[k] = static_cast<T>(std::sin(1.0 + 3.0 * step + 0.7 * static_cast<double>(k)));
    }
    return g;
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerSteps, Types);

TYPED_TEST(OptimizerSteps, SgdWithoutMomentumMovesAgainstTheGradient) {
  using T = TypeParam;
  const auto sgd = make_optimizer({.kind = "sgd", .learning_rate = 0.5}, kTypeOf<T>, 2);
  std::vector<T> x{1, -2};
  TestFixture::step(*sgd, x, {2, -4});
  EXPECT_EQ(x, (std::vector<T>{0, 0}));
}

TYPED_TEST(OptimizerSteps, ASavedOptimizerGoesOnToTheBit) {
  using T = TypeParam;
  for (const OptimizerConfig& config :
       {OptimizerConfig{.kind = "sgd"}, OptimizerConfig{.kind = "sgd", .momentum = 0.9},
        OptimizerConfig{.kind = "adamw", .weight_decay = 0.1}, OptimizerConfig{.kind = "lion"}}) {
    SCOPED_TRACE(config.kind);
    const auto first = make_optimizer(config, kTypeOf<T>, 5);
    std::vector<T> x{1, -2, 3, -4, 5};
    for (int k = 0; k < 7; ++k) {
      TestFixture::step(*first, x, TestFixture::gradient(k, 5));
    }
    const auto second = make_optimizer(config, kTypeOf<T>, 5);
    ASSERT_TRUE(second->load(first->save()).ok());
    std::vector<T> y = x;
    for (int k = 7; k < 12; ++k) {
      TestFixture::step(*first, x, TestFixture::gradient(k, 5));
      TestFixture::step(*second, y, TestFixture::gradient(k, 5));
    }
    EXPECT_EQ(x, y);
  }
}

TYPED_TEST(OptimizerSteps, StateOfAnotherSizeIsRefusedAndChangesNothing) {
  using T = TypeParam;
  const OptimizerConfig config{.kind = "adamw"};
  const auto optimizer = make_optimizer(config, kTypeOf<T>, 3);
  std::vector<T> x{1, 2, 3};
  TestFixture::step(*optimizer, x, {1, 1, 1});
  const Bytes before = optimizer->save();
  for (const std::size_t count : {0U, 2U, 4U}) {
    const Bytes other = make_optimizer(config, kTypeOf<T>, count)->save();
    EXPECT_EQ(optimizer->load(other).error().code, ErrorCode::kMalformed);
  }
  EXPECT_EQ(optimizer->save(), before);
}

TYPED_TEST(OptimizerSteps, SgdHeavyBallIsTheHandComputedOne) {
  using T = TypeParam;
  const OptimizerConfig config{.kind = "sgd", .learning_rate = 0.5, .momentum = 0.5};
  const auto sgd = make_optimizer(config, kTypeOf<T>, 1);
  std::vector<T> x{8};
  TestFixture::step(*sgd, x, {4});  // m 4
  EXPECT_EQ(x[0], T{6});
  TestFixture::step(*sgd, x, {2});  // m 4
  EXPECT_EQ(x[0], T{4});
  TestFixture::step(*sgd, x, {0});  // m 2
  EXPECT_EQ(x[0], T{3});
  sgd->reset();
  TestFixture::step(*sgd, x, {0});
  EXPECT_EQ(x[0], T{3});
  TestFixture::step(*sgd, x, {2});
  EXPECT_EQ(x[0], T{2});
}

TYPED_TEST(OptimizerSteps, NesterovLooksAheadOfTheHeavyBall) {
  using T = TypeParam;
  const auto sgd = make_optimizer(
      {.kind = "sgd", .learning_rate = 0.5, .momentum = 0.5, .nesterov = true}, kTypeOf<T>, 1);
  std::vector<T> x{8};
  TestFixture::step(*sgd, x, {4});  // m 4, step 4 + 2
  EXPECT_EQ(x[0], T{5});
  TestFixture::step(*sgd, x, {2});  // m 4, step 2 + 2
  EXPECT_EQ(x[0], T{3});
}

TYPED_TEST(OptimizerSteps, LionMovesByTheSignOfTheBlend) {
  using T = TypeParam;
  const auto lion = make_optimizer(
      {.kind = "lion", .learning_rate = 0.5, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.25},
      kTypeOf<T>, 3);
  std::vector<T> x{4, 4, 0};
  TestFixture::step(*lion, x, {8, -8, 0});  // m 2, -2, 0
  EXPECT_EQ(x, (std::vector<T>{3, 4, 0}));
  TestFixture::step(*lion, x, {-1, 3, 0});  // blends 0.5, 0.5
  EXPECT_EQ(x, (std::vector<T>{T(2.125), 3, 0}));
}

TYPED_TEST(OptimizerSteps, SgdWeightDecayIsPartOfTheGradient) {
  using T = TypeParam;
  const OptimizerConfig config{
      .kind = "sgd", .learning_rate = 0.5, .momentum = 0.5, .weight_decay = 0.25};
  const auto sgd = make_optimizer(config, kTypeOf<T>, 1);
  std::vector<T> x{8};
  TestFixture::step(*sgd, x, {2});  // m 4
  EXPECT_EQ(x[0], T{6});
  TestFixture::step(*sgd, x, {0.5});  // m 2 + 2
  EXPECT_EQ(x[0], T{4});
}

TYPED_TEST(OptimizerSteps, AdamWFollowsTheDoubleReference) {
  using T = TypeParam;
  constexpr std::size_t kCount = 5;
  const OptimizerConfig config{.kind = "adamw", .learning_rate = 0.01, .weight_decay = 0.1};
  const auto adamw = make_optimizer(config, kTypeOf<T>, kCount);
  std::vector<T> x(kCount, T{1});
  std::vector<double> reference(kCount, 1.0);
  std::vector<double> first(kCount);
  std::vector<double> second(kCount);
  for (int t = 1; t <= 20; ++t) {
    const std::vector<T> g = TestFixture::gradient(t, kCount);
    TestFixture::step(*adamw, x, g);
    for (std::size_t k = 0; k < kCount; ++k) {
      const auto value = static_cast<double>(g[k]);
      first[k] = 0.9 * first[k] + 0.1 * value;
      second[k] = 0.999 * second[k] + 0.001 * value * value;
      const double mean = first[k] / (1.0 - std::pow(0.9, t));
      const double square = second[k] / (1.0 - std::pow(0.999, t));
      reference[k] -= 0.01 * (mean / (std::sqrt(square) + 1e-8) + 0.1 * reference[k]);
      EXPECT_NEAR(static_cast<double>(x[k]), reference[k], 10 * TestFixture::kTolerance)
          << "step " << t << " value " << k;
    }
  }
}

TYPED_TEST(OptimizerSteps, AdamWFirstStepIsTheLearningRateInTheSignOfTheGradient) {
  using T = TypeParam;
  const auto adamw = make_optimizer({.kind = "adamw", .learning_rate = 0.25}, kTypeOf<T>, 2);
  std::vector<T> x{1, 1};
  TestFixture::step(*adamw, x, {static_cast<T>(1e-3), -300});
  EXPECT_NEAR(static_cast<double>(x[0]), 0.75, 1e-5);
  EXPECT_NEAR(static_cast<double>(x[1]), 1.25, 1e-5);
}

TYPED_TEST(OptimizerSteps, ResetForgetsEverything) {
  using T = TypeParam;
  for (const char* kind : {"sgd", "adamw", "lion"}) {
    SCOPED_TRACE(kind);
    const OptimizerConfig config{.kind = kind, .learning_rate = 0.01, .momentum = 0.9};
    const auto used = make_optimizer(config, kTypeOf<T>, 3);
    std::vector<T> x(3, T{1});
    for (int t = 0; t < 5; ++t) {
      TestFixture::step(*used, x, TestFixture::gradient(t, 3));
    }
    used->reset();
    const auto fresh = make_optimizer(config, kTypeOf<T>, 3);
    std::vector<T> y = x;
    for (int t = 7; t < 12; ++t) {
      TestFixture::step(*used, x, TestFixture::gradient(t, 3));
      TestFixture::step(*fresh, y, TestFixture::gradient(t, 3));
      EXPECT_EQ(x, y);
    }
  }
}

TYPED_TEST(OptimizerSteps, TheScaleMultipliesTheLearningRate) {
  using T = TypeParam;
  for (const char* kind : {"sgd", "adamw", "lion"}) {
    SCOPED_TRACE(kind);
    OptimizerConfig config{.kind = kind, .learning_rate = 0.25, .weight_decay = 0.125};
    const auto scaled = make_optimizer(config, kTypeOf<T>, 3);
    config.learning_rate = 0.125;
    const auto half = make_optimizer(config, kTypeOf<T>, 3);
    std::vector<T> x(3, T{1});
    std::vector<T> y(3, T{1});
    for (int t = 0; t < 5; ++t) {
      TestFixture::step(*scaled, x, TestFixture::gradient(t, 3), 0.5);
      TestFixture::step(*half, y, TestFixture::gradient(t, 3));
      EXPECT_EQ(x, y);
    }
  }
}

TEST(LearningRate, SchedulesFallFromOneToZero) {
  for (const std::uint64_t round : {0U, 25U, 50U, 75U, 100U}) {
    const double done = static_cast<double>(round) / 100.0;
    EXPECT_EQ(learning_rate_scale({.schedule = "constant"}, round, 100), 1.0);
    EXPECT_DOUBLE_EQ(learning_rate_scale({.schedule = "linear"}, round, 100), 1.0 - done);
    EXPECT_NEAR(learning_rate_scale({.schedule = "cosine"}, round, 100),
                std::pow(std::cos(done * std::acos(0.0)), 2.0), 1e-15);
  }
}

TEST(LearningRate, WarmupRisesAndTheScheduleBeginsBehindIt) {
  const OptimizerConfig config{.schedule = "linear", .warmup = 4};
  for (const std::uint64_t round : {0U, 1U, 2U, 3U}) {
    EXPECT_DOUBLE_EQ(learning_rate_scale(config, round, 24), static_cast<double>(round + 1) / 5.0);
  }
  EXPECT_DOUBLE_EQ(learning_rate_scale(config, 4, 24), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_scale(config, 14, 24), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_scale(config, 3, 4), 0.8) << "nothing is left for the schedule";
}

}  // namespace
}  // namespace hobnob
