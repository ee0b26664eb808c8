#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>
#include <vector>

#include "apps/models/mlp.h"
#include "apps/models/workload_config.h"

namespace hobnob {
namespace {

DataConfig blobs(BlobsConfig config) {
  return {.kind = "synthetic", .blobs = config};
}

std::unique_ptr<Workload> make(const WorkloadConfig& config,
                               const DataConfig& data,
                               std::uint32_t shard = 0,
                               std::uint64_t stream = 0) {
  Result<std::unique_ptr<Workload>> made = make_workload(config, data, shard, 1, stream);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

std::string failure(const WorkloadConfig& config, const DataConfig& data, std::uint32_t shard = 0) {
  const Result<std::unique_ptr<Workload>> made = make_workload(config, data, shard, 1, 0);
  return made.ok() ? "" : made.error().message;
}

// Problem P1 of the algorithms notes: n = 8, d = 6.
WorkloadConfig problem_p1() {
  WorkloadConfig config{.kind = "quadratic"};
  for (int i = 0; i < 8; ++i) {
    config.curvature.emplace_back();
    config.target.emplace_back();
    for (int k = 0; k < 6; ++k) {
      config.curvature.back().push_back(1.0 + ((3 * i + 5 * k) % 7) / 2.0);
      config.target.back().push_back((7 * i + 3 * k) % 11 - 5.0);
    }
  }
  return config;
}

// Mean cross-entropy over all train samples, in float64, written the plain way.
double reference_loss(const Dataset& data,
                      const std::vector<std::size_t>& layers,
                      const std::vector<double>& parameters) {
  double loss = 0.0;
  std::vector<float> row(data.features);
  for (std::size_t sample = 0; sample < data.count(); ++sample) {
    data.read(sample, row);
    std::vector<double> values(row.begin(), row.end());
    std::size_t offset = 0;
    for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
      std::vector<double> next(layers[k + 1]);
      for (std::size_t out = 0; out < next.size(); ++out) {
        next[out] = parameters[offset + layers[k] * layers[k + 1] + out];
        for (std::size_t in = 0; in < layers[k]; ++in) {
          next[out] += parameters[offset + out * layers[k] + in] * values[in];
        }
        if (k + 2 < layers.size()) {
          next[out] = std::max(next[out], 0.0);
        }
      }
      offset += (layers[k] + 1) * layers[k + 1];
      values = next;
    }
    double sum = 0.0;
    for (const double value : values) {
      sum += std::exp(value);
    }
    loss += std::log(sum) - values[data.labels[sample]];
  }
  return loss / static_cast<double>(data.count());
}

void expect_exact_gradient(const std::vector<std::size_t>& layers) {
  const BlobsConfig config{.features = 5, .classes = 3, .train_samples = 12, .test_samples = 4};
  Result<ClassificationData> data = make_blobs(config, 1);
  ASSERT_TRUE(data.ok());
  // One batch is one epoch, so the order of samples does not matter.
  const auto model = make({.kind = "mlp", .layers = layers, .batch = 12}, blobs(config));
  const std::span<float> values = model->parameters().as<float>();
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] += 0.01F * static_cast<float>(k % 7);  // biases too
  }
  std::vector<double> point(values.begin(), values.end());
  EXPECT_NEAR(model->gradient(0), reference_loss(data.value().train, layers, point), 1e-5);
  const std::span<float> gradient = model->gradients().as<float>();
  double largest = 0.0;
  for (const float value : gradient) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  EXPECT_GT(largest, 0.01);
  for (std::size_t k = 0; k < point.size(); ++k) {
    const double kept = point[k];
    const double step = 1e-6;
    point[k] = kept + step;
    const double above = reference_loss(data.value().train, layers, point);
    point[k] = kept - step;
    const double below = reference_loss(data.value().train, layers, point);
    point[k] = kept;
    EXPECT_NEAR(static_cast<double>(gradient[k]), (above - below) / (2.0 * step), 1e-5 * largest)
        << "parameter " << k;
  }
}

// Heavy-ball SGD.
void train(Workload& model, std::uint64_t first, std::uint64_t steps, float rate, float momentum) {
  const std::span<float> values = model.parameters().as<float>();
  const std::span<float> gradient = model.gradients().as<float>();
  std::vector<float> velocity(values.size());
  for (std::uint64_t step = first; step < first + steps; ++step) {
    model.gradient(step);
    for (std::size_t k = 0; k < values.size(); ++k) {
      velocity[k] = momentum * velocity[k] + gradient[k];
      values[k] -= rate * velocity[k];
    }
  }
}

TEST(Mlp, GradientOfTwoHiddenLayersIsExact) {
  expect_exact_gradient({5, 7, 6, 3});
}

TEST(Mlp, GradientOfOneHiddenLayerIsExact) {
  expect_exact_gradient({5, 8, 3});
}

TEST(Mlp, GradientOfSoftmaxRegressionIsExact) {
  expect_exact_gradient({5, 3});
}

TEST(Mlp, TensorsCoverTheBufferWithoutGaps) {
  const auto model = make({.kind = "mlp", .layers = {16, 9, 8, 4}}, blobs({}));
  std::size_t offset = 0;
  for (const TensorInfo& tensor : model->tensors()) {
    EXPECT_EQ(tensor.offset, offset) << tensor.name;
    std::size_t count = 1;
    for (const std::size_t size : tensor.shape) {
      count *= size;
    }
    EXPECT_EQ(tensor.count, count) << tensor.name;
    offset += tensor.count;
  }
  EXPECT_EQ(offset, model->parameters().count());
  EXPECT_EQ(offset, model->gradients().count());
  ASSERT_EQ(model->tensors().size(), 6U);
  EXPECT_EQ(model->tensors()[2].name, "layer1.weight");
  EXPECT_EQ(model->tensors()[2].shape, (std::vector<std::size_t>{8, 9}));
  EXPECT_EQ(model->tensors()[3].name, "layer1.bias");
}

TEST(Mlp, PeersStartEqualButSeeOtherBatches) {
  const auto one = make({}, blobs({}), 0, 1);
  const auto two = make({}, blobs({}), 0, 2);
  EXPECT_TRUE(std::ranges::equal(one->parameters().as<float>(), two->parameters().as<float>()));
  EXPECT_NE(one->gradient(0), two->gradient(0));
}

TEST(Mlp, TheSameStepIsTheSameBatch) {
  const auto model = make({}, blobs({}));
  const double loss = model->gradient(3);
  const std::span<float> gradient = model->gradients().as<float>();
  const std::vector<float> kept(gradient.begin(), gradient.end());
  EXPECT_NE(model->gradient(700), loss);
  EXPECT_EQ(model->gradient(3), loss);
  EXPECT_TRUE(std::ranges::equal(kept, gradient));
}

TEST(Mlp, EvaluateLeavesParametersAndGradientsAlone) {
  const auto model = make({}, blobs({}));
  model->gradient(0);
  const std::span<float> gradient = model->gradients().as<float>();
  const std::span<float> values = model->parameters().as<float>();
  const std::vector<float> kept_gradient(gradient.begin(), gradient.end());
  const std::vector<float> kept_values(values.begin(), values.end());
  const Evaluation first = model->evaluate();
  EXPECT_TRUE(std::ranges::equal(kept_gradient, gradient));
  EXPECT_TRUE(std::ranges::equal(kept_values, values));
  model->gradient(1);
  EXPECT_EQ(model->evaluate().loss, first.loss);
}

TEST(Mlp, LossStaysFiniteForHugeLogits) {
  const auto model = make({.kind = "softmax"}, blobs({}));
  for (float& value : model->parameters().as<float>()) {
    value *= 1e6F;
  }
  EXPECT_TRUE(std::isfinite(model->gradient(0)));
  EXPECT_TRUE(std::isfinite(model->evaluate().loss));
  for (const float value : model->gradients().as<float>()) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(Mlp, LearnsBlobsWithPlainSgd) {
  const auto model = make({.kind = "mlp", .layers = {16, 32, 4}}, blobs({}));
  EXPECT_LT(model->evaluate().accuracy, 0.7);
  train(*model, 0, 200, 0.05F, 0.0F);
  EXPECT_GT(model->evaluate().accuracy, 0.95);
}

TEST(Mlp, LearnsFashionMnist) {
  if (!std::filesystem::exists(DataConfig{}.path)) {
    GTEST_SKIP() << DataConfig{}.path << " is missing: apt-get install dataset-fashion-mnist";
  }
  const auto model = make({.kind = "softmax"}, DataConfig{});
  train(*model, 0, 300, 0.01F, 0.0F);
  EXPECT_GT(model->evaluate().accuracy, 0.75);
}

TEST(Workload, RefusesWhatDoesNotFit) {
  EXPECT_NE(failure({.kind = "tree"}, blobs({})).find("unknown kind 'tree'"), std::string::npos);
  EXPECT_NE(failure({}, {.kind = "none"}).find("mlp needs data"), std::string::npos);
  EXPECT_NE(failure({}, {.kind = "web"}).find("unknown kind 'web'"), std::string::npos);
  EXPECT_NE(failure({}, {.path = "/nowhere"}).find("no such file"), std::string::npos);
  EXPECT_NE(failure({.layers = {15, 4}}, blobs({})).find("16 features"), std::string::npos);
  EXPECT_NE(failure({.layers = {16}}, blobs({})).find("1 layer widths"), std::string::npos);
  EXPECT_NE(failure({.kind = "softmax", .layers = {16, 8, 4}}, blobs({})).find("use mlp"),
            std::string::npos);
  EXPECT_NE(failure({.batch = 0}, blobs({})).find("batch is 0"), std::string::npos);
  EXPECT_NE(failure({}, blobs({.classes = 300})).find("1 to 256 classes"), std::string::npos);
}

TEST(Workload, PeersOfOneProcessShareLoadedData) {
  DataConfig config = blobs({});
  config.partition.shards = 2;
  const Result<LoadedData> data = load_data(config, 1);
  ASSERT_TRUE(data.ok());
  const auto shared = make_workload(WorkloadConfig{}, data.value(), 1, 1, 5);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(data.value().samples.use_count(), 2);
  EXPECT_EQ(shared.value()->gradient(4), make({}, config, 1, 5)->gradient(4));
}

TEST(Quadratic, KnowsTheOptimumOfP1) {
  const std::vector<double> expected{0.702703, 0.619048, -0.600000, -0.026316, -0.023256, 0.487805};
  const std::vector<double> optimum = make(problem_p1(), {.kind = "none"}, 3)->optimum();
  ASSERT_EQ(optimum.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_NEAR(optimum[k], expected[k], 5e-7);
  }
}

TEST(Quadratic, StartsAtZeroInFloat64WithItsOwnRow) {
  const auto peer = make(problem_p1(), {.kind = "none"}, 2);
  ASSERT_EQ(peer->parameters().type(), DType::kFloat64);
  EXPECT_EQ(peer->parameters().count(), 6U);
  const WorkloadConfig config = problem_p1();
  double loss = 0.0;
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(peer->parameters().as<double>()[k], 0.0);
    loss += 0.5 * config.curvature[2][k] * config.target[2][k] * config.target[2][k];
  }
  EXPECT_DOUBLE_EQ(peer->gradient(0), loss);
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(peer->gradients().as<double>()[k], -config.curvature[2][k] * config.target[2][k]);
  }
}

TEST(Quadratic, MeanLossIsSmallestAtTheOptimum) {
  const auto peer = make(problem_p1(), {.kind = "none"}, 0);
  const std::span<double> x = peer->parameters().as<double>();
  std::ranges::copy(peer->optimum(), x.begin());
  const double best = peer->evaluate().loss;
  for (double& value : x) {
    for (const double step : {-1e-3, 1e-3}) {
      value += step;
      EXPECT_GT(peer->evaluate().loss, best);
      value -= step;
    }
  }
}

TEST(Quadratic, RefusesBadRows) {
  const DataConfig none{.kind = "none"};
  EXPECT_NE(failure(problem_p1(), none, 8).find("no row for shard 8"), std::string::npos);
  EXPECT_NE(failure({.kind = "quadratic"}, none).find("empty"), std::string::npos);
  EXPECT_NE(failure({.kind = "quadratic", .curvature = {{1.0}}, .target = {}}, none).find("0"),
            std::string::npos);
  EXPECT_NE(
      failure({.kind = "quadratic", .curvature = {{1.0}, {1.0, 2.0}}, .target = {{1.0}, {1.0}}},
              none)
          .find("row 1"),
      std::string::npos);
  EXPECT_NE(failure({.kind = "quadratic", .curvature = {{-1.0}}, .target = {{1.0}}}, none)
                .find("row 0 column 0"),
            std::string::npos);
  EXPECT_NE(failure({.kind = "quadratic", .curvature = {{0.0}}, .target = {{1.0}}}, none)
                .find("all zero"),
            std::string::npos);
}

}  // namespace
}  // namespace hobnob
