#include "apps/data/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "apps/data/idx.h"
#include "runtime/base/rng.h"

namespace hobnob {

namespace {

constexpr std::size_t kClasses = 10;
constexpr std::uint64_t kCentreStream = 0x626C6F6263656EULL;
constexpr std::uint64_t kSampleStream = 0x626C6F6273616DULL;
// Blobs are stored in bytes over this range; few values lie outside and those are clamped.
constexpr double kBlobRange = 8.0;

Result<IdxFile> read_either(const std::string& directory, const std::string& name) {
  const std::string plain = (std::filesystem::path(directory) / name).string();
  std::error_code ignored;
  return read_idx(std::filesystem::exists(plain, ignored) ? plain : plain + ".gz");
}

Result<Dataset> load_half(const std::string& directory, const std::string& prefix) {
  Result<IdxFile> images = read_either(directory, prefix + "-images-idx3-ubyte");
  if (!images.ok()) {
    return images.error();
  }
  Result<IdxFile> labels = read_either(directory, prefix + "-labels-idx1-ubyte");
  if (!labels.ok()) {
    return labels.error();
  }
  const auto refuse = [&](const std::string& why) {
    return make_error(ErrorCode::kMalformed,
                      "cannot use the %s files in %s: %s; set data.path to a complete data set",
                      prefix.c_str(), directory.c_str(), why.c_str());
  };
  const std::vector<std::uint32_t>& shape = images.value().shape;
  if (shape.size() != 3 || labels.value().shape.size() != 1) {
    return refuse(format("images have %zu dimensions and labels %zu, not 3 and 1", shape.size(),
                         labels.value().shape.size()));
  }
  if (shape[0] != labels.value().shape[0]) {
    return refuse(format("%u images and %u labels", shape[0], labels.value().shape[0]));
  }
  if (images.value().values.empty()) {
    return refuse("no images");
  }
  const auto largest = std::ranges::max(labels.value().values);
  if (largest >= kClasses) {
    return refuse(format("label %d, the classes are 0 to %zu", largest, kClasses - 1));
  }
  Dataset half;
  half.features = std::size_t{shape[1]} * shape[2];
  half.classes = kClasses;
  half.inputs = std::move(images.value().values);
  half.labels = std::move(labels.value().values);
  return half;
}

void normalise(Dataset& train, Dataset& test) {
  // There are only 256 values: counting them is exact and quick.
  std::array<std::size_t, 256> counts{};
  for (const std::uint8_t value : train.inputs) {
    ++counts[value];
  }
  const auto total = static_cast<double>(train.inputs.size());
  double mean = 0.0;
  double square = 0.0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    const double weight = static_cast<double>(counts[value]) / total;
    mean += weight * static_cast<double>(value);
    square += weight * static_cast<double>(value * value);
  }
  const double deviation = std::sqrt(std::max(square - mean * mean, 0.0));
  const double scale = deviation > 0.0 ? 1.0 / deviation : 1.0;
  train.scale = test.scale = static_cast<float>(scale);
  train.shift = test.shift = static_cast<float>(-mean * scale);
}

Dataset make_blob_samples(const BlobsConfig& config,
                          std::span<const double> centres,
                          std::size_t count,
                          RngKey key) {
  Rng rng(key);
  Dataset data;
  data.features = config.features;
  data.classes = config.classes;
  data.scale = static_cast<float>(2.0 * kBlobRange / 255.0);
  data.shift = static_cast<float>(-kBlobRange);
  data.inputs.reserve(count * config.features);
  data.labels.reserve(count);
  for (std::size_t sample = 0; sample < count; ++sample) {
    const std::size_t label = sample % config.classes;
    data.labels.push_back(static_cast<std::uint8_t>(label));
    for (std::size_t k = 0; k < config.features; ++k) {
      const double value = centres[label * config.features + k] + rng.normal();
      const double step = std::round((value + kBlobRange) * 255.0 / (2.0 * kBlobRange));
      data.inputs.push_back(static_cast<std::uint8_t>(std::clamp(step, 0.0, 255.0)));
    }
  }
  return data;
}

}  // namespace

void Dataset::read(std::size_t sample, std::span<float> target) const {
  HOBNOB_CHECK(sample < count() && target.size() == features, "read outside the data set");
  const std::uint8_t* source = inputs.data() + sample * features;
  // Copies, because a write through `target` could change the members for all the compiler knows.
  const float factor = scale;
  const float offset = shift;
  const std::size_t width = features;
  for (std::size_t k = 0; k < width; ++k) {
    target[k] = factor * static_cast<float>(source[k]) + offset;
  }
}

Result<ClassificationData> load_idx_dataset(const std::string& directory) {
  Result<Dataset> train = load_half(directory, "train");
  if (!train.ok()) {
    return train.error();
  }
  Result<Dataset> test = load_half(directory, "t10k");
  if (!test.ok()) {
    return test.error();
  }
  if (train.value().features != test.value().features) {
    return make_error(ErrorCode::kMalformed,
                      "cannot use the files in %s: train images have %zu pixels, t10k images %zu; "
                      "set data.path to a complete data set",
                      directory.c_str(), train.value().features, test.value().features);
  }
  ClassificationData data{.train = std::move(train).value(), .test = std::move(test).value()};
  normalise(data.train, data.test);
  return data;
}

Result<ClassificationData> make_blobs(const BlobsConfig& config, std::uint64_t seed) {
  if (config.features == 0 || config.classes == 0 || config.classes > 256 ||
      config.train_samples == 0 || config.test_samples == 0 || !(config.separation >= 0.0)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot make synthetic data: it needs features, 1 to 256 classes, samples "
                      "and a separation of 0 or more");
  }
  if (config.train_samples > kMaxIdxBytes / config.features ||
      config.test_samples > kMaxIdxBytes / config.features) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot make synthetic data: more than %zu bytes; ask for fewer samples",
                      kMaxIdxBytes);
  }
  Rng rng({seed, kCentreStream});
  std::vector<double> centres(config.classes * config.features);
  for (double& value : centres) {
    value = config.separation * rng.normal();
  }
  return ClassificationData{.train = make_blob_samples(config, centres, config.train_samples,
                                                       {seed, hash3(kSampleStream, 0, 0)}),
                            .test = make_blob_samples(config, centres, config.test_samples,
                                                      {seed, hash3(kSampleStream, 1, 0)})};
}

}  // namespace hobnob
