#include "apps/models/workload_config.h"

#include <utility>

#include "apps/models/mlp.h"

namespace hobnob {

namespace {

constexpr std::size_t kDefaultHidden = 256;

// The layers to build; empty ones follow the data.
Result<std::vector<std::size_t>> choose_layers(const WorkloadConfig& config, const Dataset& train) {
  const bool is_softmax = config.kind == "softmax";
  if (is_softmax && !config.layers.empty() && config.layers.size() != 2) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "cannot make the model: softmax with %zu layer widths; give 2 or none, or use mlp",
        config.layers.size());
  }
  if (!config.layers.empty()) {
    return config.layers;
  }
  if (is_softmax) {
    return std::vector<std::size_t>{train.features, train.classes};
  }
  return std::vector<std::size_t>{train.features, kDefaultHidden, train.classes};
}

}  // namespace

Result<std::unique_ptr<Workload>> make_workload(const WorkloadConfig& config,
                                                const DataConfig& data,
                                                std::uint32_t shard,
                                                std::uint64_t seed,
                                                std::uint64_t peer_stream) {
  if (config.kind == "quadratic") {
    return make_quadratic(config.curvature, config.target, shard);
  }
  Result<LoadedData> loaded = load_data(data, seed);
  if (!loaded.ok()) {
    return loaded.error();
  }
  return make_workload(config, loaded.value(), shard, seed, peer_stream);
}

Result<std::unique_ptr<Workload>> make_workload(const WorkloadConfig& config,
                                                const LoadedData& data,
                                                std::uint32_t shard,
                                                std::uint64_t seed,
                                                std::uint64_t peer_stream) {
  if (config.kind == "quadratic") {
    return make_quadratic(config.curvature, config.target, shard);
  }
  if (config.kind != "softmax" && config.kind != "mlp") {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot make the model: unknown kind '%s'; use quadratic, softmax or mlp",
                      config.kind.c_str());
  }
  if (!data.samples) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot make the model: %s needs data; set data.kind to idx or synthetic",
                      config.kind.c_str());
  }
  const Dataset& train = data.samples->train;
  Result<std::vector<std::size_t>> layers = choose_layers(config, train);
  if (!layers.ok()) {
    return layers.error();
  }
  Result<std::vector<std::uint32_t>> samples = partition(train.labels, data.partition, shard, seed);
  if (!samples.ok()) {
    return samples.error();
  }
  return make_mlp({.layers = std::move(layers).value(),
                   .batch = config.batch,
                   .seed = seed,
                   .peer_stream = peer_stream},
                  data.samples, std::move(samples).value());
}

}  // namespace hobnob
