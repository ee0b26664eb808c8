#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// Samples with one class each. Inputs stay bytes until a batch needs them: 60,000 images are 47 MB,
// 188 MB as floats.
struct Dataset {
  std::size_t features = 0;
  std::size_t classes = 0;
  float scale = 1.0F;  // input = scale * byte + shift
  float shift = 0.0F;
  std::vector<std::uint8_t> inputs{};  // (count, features), row-major
  std::vector<std::uint8_t> labels{};  // (count,), below classes

  std::size_t count() const { return labels.size(); }

  // Normalised inputs of one sample into (features,).
  void read(std::size_t sample, std::span<float> target) const;
};

// Both halves are scaled alike.
struct ClassificationData {
  Dataset train{};
  Dataset test{};
};

// {train,t10k}-{images-idx3,labels-idx1}-ubyte, each plain or .gz: MNIST's layout, 10 classes.
// Inputs have mean 0 and variance 1 over all pixels of the train set.
Result<ClassificationData> load_idx_dataset(const std::string& directory);

// Gaussian clouds, one a class, for runs without files.
struct BlobsConfig {
  std::size_t features = 16;
  std::size_t classes = 4;  // at most 256
  std::size_t train_samples = 2000;
  std::size_t test_samples = 500;
  double separation = 1.5;  // standard deviation of the centres; the clouds have 1
};

// Balanced classes. Same config and seed, same data.
Result<ClassificationData> make_blobs(const BlobsConfig& config, std::uint64_t seed);

}  // namespace hobnob
