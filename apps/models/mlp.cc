#include "apps/models/mlp.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "apps/data/sampler.h"
#include "runtime/base/rng.h"

namespace hobnob {

namespace {

constexpr std::uint64_t kInitStream = 0x6D6C70696E6974ULL;
constexpr std::size_t kEvaluationRows = 256;
constexpr std::size_t kMaxLayers = 64;
constexpr std::size_t kMaxWidth = std::size_t{1} << 20;
constexpr std::size_t kMaxBatch = std::size_t{1} << 16;
// Also keeps every size that OpenBLAS sees within its 32-bit integers.
constexpr std::size_t kMaxValues = std::size_t{1} << 30;

blasint as_blas(std::size_t value) {
  return static_cast<blasint>(value);
}

// c (rows, columns) = a' b', row-major; `inner` is the summed length, ' transposes where the flag
// says so.
struct Gemm {
  CBLAS_TRANSPOSE transpose_a;
  CBLAS_TRANSPOSE transpose_b;
  std::size_t rows, columns, inner;

  void run(const float* a, const float* b, float beta, float* c) const {
    cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, as_blas(rows), as_blas(columns),
                as_blas(inner), 1.0F, a, as_blas(transpose_a == CblasNoTrans ? inner : rows), b,
                as_blas(transpose_b == CblasNoTrans ? columns : inner), beta, c, as_blas(columns));
  }
};

// Turns logits into probabilities and returns log(sum(exp)) of the logits. Subtracting the largest
// keeps exp finite.
double softmax(std::span<float> logits) {
  const float largest = std::ranges::max(logits);
  double sum = 0.0;
  for (float& value : logits) {
    value = std::exp(value - largest);
    sum += static_cast<double>(value);
  }
  const auto scale = static_cast<float>(1.0 / sum);
  for (float& value : logits) {
    value *= scale;
  }
  return std::log(sum) + static_cast<double>(largest);
}

// One dense layer: where it lies in the flat buffers.
struct Layer {
  std::size_t inputs, outputs;
  std::size_t weight, bias;  // offsets in values
};

class Mlp final : public Workload {
 public:
  Mlp(const MlpConfig& config,
      std::shared_ptr<const ClassificationData> data,
      std::vector<std::uint32_t> samples)
      : data_(std::move(data)),
        batch_(config.batch),
        sampler_(std::move(samples), config.batch, {config.seed, config.peer_stream}) {
    add_layers(config.layers);
    initialise(config.seed);
    const std::size_t rows = std::max(batch_, std::min(kEvaluationRows, data_->test.count()));
    std::size_t widest = 0;
    for (std::size_t k = 0; k < config.layers.size(); ++k) {
      activations_.emplace_back(rows * config.layers[k]);
      const bool is_hidden = k > 0 && k + 1 < config.layers.size();
      widest = is_hidden ? std::max(widest, config.layers[k]) : widest;
    }
    errors_.resize(batch_ * widest);
    labels_.resize(rows);
  }

  Vec parameters() override { return std::span<float>(parameters_); }

  Vec gradients() override { return std::span<float>(gradients_); }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  std::size_t batch_samples() const override { return batch_; }

  double gradient(std::uint64_t step) override {
    const std::span<const std::uint32_t> chosen = sampler_.batch(step);
    for (std::size_t row = 0; row < batch_; ++row) {
      load_row(data_->train, chosen[row], row);
    }
    forward(batch_);
    const double loss = start_errors();
    for (std::size_t k = layers_.size(); k-- > 0;) {
      backward(k);
    }
    return loss;
  }

  Evaluation evaluate() override {
    const std::size_t count = data_->test.count();
    double loss = 0.0;
    std::size_t correct = 0;
    for (std::size_t first = 0; first < count; first += kEvaluationRows) {
      const std::size_t rows = std::min(kEvaluationRows, count - first);
      for (std::size_t row = 0; row < rows; ++row) {
        load_row(data_->test, first + row, row);
      }
      forward(rows);
      for (std::size_t row = 0; row < rows; ++row) {
        const std::span<float> logits = output(row);
        const auto guess = std::ranges::max_element(logits) - logits.begin();
        correct += static_cast<std::size_t>(guess == labels_[row]);
        const auto own = static_cast<double>(logits[labels_[row]]);
        loss += softmax(logits) - own;
      }
    }
    return {.loss = loss / static_cast<double>(count),
            .accuracy = static_cast<double>(correct) / static_cast<double>(count)};
  }

 private:
  void add_layers(const std::vector<std::size_t>& widths) {
    std::size_t offset = 0;
    for (std::size_t k = 0; k + 1 < widths.size(); ++k) {
      const std::size_t inputs = widths[k];
      const std::size_t outputs = widths[k + 1];
      const std::size_t bias = offset + inputs * outputs;
      layers_.push_back({.inputs = inputs, .outputs = outputs, .weight = offset, .bias = bias});
      const std::string name = "layer" + std::to_string(k);
      tensors_.push_back({.name = name + ".weight",
                          .shape = {outputs, inputs},
                          .offset = offset,
                          .count = inputs * outputs});
      tensors_.push_back(
          {.name = name + ".bias", .shape = {outputs}, .offset = bias, .count = outputs});
      offset = bias + outputs;
    }
    parameters_.resize(offset);
    gradients_.resize(offset);
  }

  void initialise(std::uint64_t seed) {
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      Rng rng({seed, hash3(kInitStream, k, 0)});
      const double deviation = std::sqrt(2.0 / static_cast<double>(layers_[k].inputs));
      for (std::size_t j = layers_[k].weight; j < layers_[k].bias; ++j) {
        parameters_[j] = static_cast<float>(deviation * rng.normal());
      }
    }
  }

  void load_row(const Dataset& source, std::size_t sample, std::size_t row) {
    source.read(sample, std::span(activations_[0]).subspan(row * source.features, source.features));
    labels_[row] = source.labels[sample];
  }

  // activations_[0] -> activations_.back(), which holds logits.
  void forward(std::size_t rows) {
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      const Layer& layer = layers_[k];
      float* out = activations_[k + 1].data();
      const float* bias = parameters_.data() + layer.bias;
      for (std::size_t row = 0; row < rows; ++row) {
        std::copy_n(bias, layer.outputs, out + row * layer.outputs);
      }
      const Gemm gemm{CblasNoTrans, CblasTrans, rows, layer.outputs, layer.inputs};
      gemm.run(activations_[k].data(), parameters_.data() + layer.weight, 1.0F, out);
      if (k + 1 < layers_.size()) {
        for (std::size_t j = 0; j < rows * layer.outputs; ++j) {
          out[j] = std::max(out[j], 0.0F);
        }
      }
    }
  }

  // Replaces the logits of the batch by d(mean loss)/d(logits); returns the mean loss.
  double start_errors() {
    double loss = 0.0;
    const float scale = 1.0F / static_cast<float>(batch_);
    for (std::size_t row = 0; row < batch_; ++row) {
      const std::span<float> logits = output(row);
      const auto own = static_cast<double>(logits[labels_[row]]);
      loss += softmax(logits) - own;
      logits[labels_[row]] -= 1.0F;
      for (float& value : logits) {
        value *= scale;
      }
    }
    return loss / static_cast<double>(batch_);
  }

  // activations_[k + 1] holds the errors of layer k's sums; leaves those of layer k - 1 in
  // activations_[k].
  void backward(std::size_t k) {
    const Layer& layer = layers_[k];
    const float* errors = activations_[k + 1].data();
    const Gemm by_weight{CblasTrans, CblasNoTrans, layer.outputs, layer.inputs, batch_};
    by_weight.run(errors, activations_[k].data(), 0.0F, gradients_.data() + layer.weight);
    float* bias = gradients_.data() + layer.bias;
    std::fill_n(bias, layer.outputs, 0.0F);
    for (std::size_t row = 0; row < batch_; ++row) {
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        bias[j] += errors[row * layer.outputs + j];
      }
    }
    if (k == 0) {
      return;
    }
    const Gemm by_input{CblasNoTrans, CblasNoTrans, batch_, layer.inputs, layer.outputs};
    by_input.run(errors, parameters_.data() + layer.weight, 0.0F, errors_.data());
    float* below = activations_[k].data();
    for (std::size_t j = 0; j < batch_ * layer.inputs; ++j) {
      below[j] = below[j] > 0.0F ? errors_[j] : 0.0F;
    }
  }

  std::span<float> output(std::size_t row) {
    const std::size_t classes = layers_.back().outputs;
    return std::span(activations_.back()).subspan(row * classes, classes);
  }

  const std::shared_ptr<const ClassificationData> data_;
  const std::size_t batch_;
  std::vector<Layer> layers_;
  std::vector<TensorInfo> tensors_;

  BatchSampler sampler_;
  std::vector<float> parameters_;
  std::vector<float> gradients_;
  // Scratch of one pass, (rows, width) each; gradient() and evaluate() share it.
  std::vector<std::vector<float>> activations_;
  std::vector<float> errors_;
  std::vector<std::uint8_t> labels_;
};

Error refuse(const std::string& why) {
  return make_error(ErrorCode::kInvalidArgument, "cannot make the model: %s", why.c_str());
}

Result<void> check_sizes(const MlpConfig& config) {
  if (config.batch == 0 || config.batch > kMaxBatch) {
    return refuse(format("batch is %zu; use 1 to %zu", config.batch, kMaxBatch));
  }
  if (config.layers.size() < 2 || config.layers.size() > kMaxLayers) {
    return refuse(format("%zu layer widths; give 2 to %zu, from features to classes",
                         config.layers.size(), kMaxLayers));
  }
  std::size_t values = 0;
  for (std::size_t k = 0; k < config.layers.size(); ++k) {
    const std::size_t width = config.layers[k];
    if (width == 0 || width > kMaxWidth) {
      return refuse(format("layer width %zu; use 1 to %zu", width, kMaxWidth));
    }
    values += width * std::max(config.batch, kEvaluationRows);
    values += k > 0 ? width * (config.layers[k - 1] + 1) : 0;
  }
  if (values > kMaxValues) {
    return refuse(
        format("more than %zu values; use narrower layers or a smaller batch", kMaxValues));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Workload>> make_mlp(const MlpConfig& config,
                                           std::shared_ptr<const ClassificationData> data,
                                           std::vector<std::uint32_t> samples) {
  HOBNOB_CHECK(data && !samples.empty() && data->test.count() > 0, "a model needs data");
  if (Result<void> checked = check_sizes(config); !checked.ok()) {
    return checked.error();
  }
  if (config.layers.front() != data->train.features ||
      config.layers.back() != data->train.classes) {
    return refuse(format(
        "layers go from %zu to %zu, but the data have %zu features and %zu classes",
        config.layers.front(), config.layers.back(), data->train.features, data->train.classes));
  }
  openblas_set_num_threads(1);
  return std::unique_ptr<Workload>(
      std::make_unique<Mlp>(config, std::move(data), std::move(samples)));
}

}  // namespace hobnob
