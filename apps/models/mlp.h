#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "apps/data/dataset.h"
#include "gossip/workload.h"
#include "runtime/base/result.h"

namespace hobnob {

struct MlpConfig {
  std::vector<std::size_t>
      layers{};  // widths {features, hidden..., classes}; two of them are softmax regression
  std::size_t batch = 32;         // samples a step
  std::uint64_t seed = 0;         // of the run: all peers start from the same parameters
  std::uint64_t peer_stream = 0;  // of this peer: the order of its samples
};

// Dense layers with ReLU between and cross-entropy on top, float32, on OpenBLAS with one thread
// (set here for the process: peers, not threads, fill the cores). Tensors are "layer<i>.weight"
// [out, in] and "layer<i>.bias" [out], as in torch.nn.Linear. Starts He-normal (He et al., arXiv
// 1502.01852), biases 0. `samples` are this peer's indices into data->train; evaluate() runs over
// all of data->test. Fails when layers do not fit the data.
Result<std::unique_ptr<Workload>> make_mlp(const MlpConfig& config,
                                           std::shared_ptr<const ClassificationData> data,
                                           std::vector<std::uint32_t> samples);

}  // namespace hobnob
