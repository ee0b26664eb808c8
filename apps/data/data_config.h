#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "apps/data/dataset.h"
#include "apps/data/partition.h"
#include "runtime/base/result.h"

namespace hobnob {

// Where samples come from and how they are dealt.
struct DataConfig {
  // "idx": files in `path`; "synthetic": `blobs`; "none": the workload has no samples.
  std::string kind = "idx";
  std::string path = "/usr/share/datasets/fashion-mnist";  // idx only
  BlobsConfig blobs{};                                     // synthetic only
  PartitionConfig partition{};
};

// Immutable once loaded, so all peers of one process share it.
struct LoadedData {
  PartitionConfig partition{};
  std::shared_ptr<const ClassificationData> samples{};  // null for "none"
};

// Reads or makes the samples: 0.3 s and 55 MB for Fashion-MNIST. `seed` is the run's, the same for
// all peers.
Result<LoadedData> load_data(const DataConfig& config, std::uint64_t seed);

}  // namespace hobnob
