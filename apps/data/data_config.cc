#include "apps/data/data_config.h"

#include <utility>

namespace hobnob {

namespace {

Result<ClassificationData> load_samples(const DataConfig& config, std::uint64_t seed) {
  if (config.kind == "idx") {
    return load_idx_dataset(config.path);
  }
  if (config.kind == "synthetic") {
    return make_blobs(config.blobs, seed);
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "cannot load the data: unknown kind '%s'; use idx, synthetic or none",
                    config.kind.c_str());
}

}  // namespace

Result<LoadedData> load_data(const DataConfig& config, std::uint64_t seed) {
  if (config.kind == "none") {
    return LoadedData{};
  }
  if (Result<void> valid = validate(config.partition); !valid.ok()) {
    return valid.error();
  }
  Result<ClassificationData> samples = load_samples(config, seed);
  if (!samples.ok()) {
    return samples.error();
  }
  return LoadedData{
      .partition = config.partition,
      .samples = std::make_shared<const ClassificationData>(std::move(samples).value())};
}

}  // namespace hobnob
