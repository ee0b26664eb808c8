#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// A named piece of the flat parameter buffer, row-major.
struct TensorInfo {
  std::string name;  // "layer0.weight"
  std::vector<std::size_t> shape;
  std::size_t offset = 0;  // in values
  std::size_t count = 0;
};

struct Evaluation {
  double loss = 0.0;
  double accuracy = 0.0;  // of 1; NaN where the workload has no classes
};

// What is trained: one flat parameter buffer and its gradient. No communication inside. Train
// thread only.
class Workload {
 public:
  virtual ~Workload() = default;

  // (d,), the same type for both. Written between gradient() calls by the optimizer and the mixer.
  virtual Vec parameters() = 0;
  virtual Vec gradients() = 0;
  // In offset order, covering the buffer without gaps.
  virtual const std::vector<TensorInfo>& tensors() const = 0;

  // Fills gradients() at the current parameters with batch number `step` of this peer's data;
  // returns the mean loss. The same step gives the same batch, so a replacement can resume.
  virtual double gradient(std::uint64_t step) = 0;
  // Samples in one batch.
  virtual std::size_t batch_samples() const = 0;

  // Over the test set, at the current parameters.
  virtual Evaluation evaluate() = 0;

  // The minimiser of the mean of all peers' losses (d,), where it is known; else empty.
  virtual std::vector<double> optimum() const { return {}; }
};

}  // namespace hobnob
