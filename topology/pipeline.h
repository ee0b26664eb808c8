#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/base/peer_id.h"
#include "runtime/base/result.h"

// The model of a SWARM pipeline (Ryabinin et al., arXiv 2301.11913): a network is cut into stages,
// every peer serves one stage, a microbatch passes one peer of each stage forward and backward.

namespace hobnob {

inline constexpr std::size_t kMaxPipelinePeers = 4096;
inline constexpr std::size_t kMaxPipelineStages = 256;

// Microbatches per second in units of 2^-30, so that sums are exact in any order and every peer
// comes to the same plan. kMaxPipelinePeers of the largest rate still fit.
struct Rate {
  static constexpr double kUnitsPerSecond = 0x1.0p30;
  static constexpr std::int64_t kMaxUnits = std::int64_t{1} << 50;  // 2^20 microbatches/s

  std::int64_t units = 0;

  // Rounded down, clipped to [0, 2^20]; NaN gives 0.
  static Rate of(double per_second);

  double per_second() const { return static_cast<double>(units) / kUnitsPerSecond; }

  auto operator<=>(const Rate&) const = default;

  friend Rate operator+(Rate a, Rate b) { return {a.units + b.units}; }

  friend Rate operator-(Rate a, Rate b) { return {a.units - b.units}; }

  Rate& operator+=(Rate other) { return *this = *this + other; }

  Rate& operator-=(Rate other) { return *this = *this - other; }
};

// What one peer offers.
struct PeerResources {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  PeerId id;
  double speed = 1.0;                // units of work per second
  double memory_bytes = kUnlimited;  // for one stage, activations included
  double up = kUnlimited;            // bytes/s
  double down = kUnlimited;          // bytes/s
};

// What one stage asks for.
struct StageCost {
  double work = 1.0;              // per microbatch, forward and backward together
  double memory_bytes = 0.0;      // also what a new server of the stage has to download
  double activation_bytes = 0.0;  // of one microbatch, to the next stage; its gradient is as large
};

struct Pipeline {
  std::vector<StageCost> stages;
  double input_bytes = 0.0;  // of one microbatch, into stage 0
};

// What strangers send must pass here first: positive finite speed, nonnegative sizes, counts within
// the limits. The error names the field.
Result<void> validate(const PeerResources& peer);
Result<void> validate(const Pipeline& pipeline);

// How fast each peer would serve each stage, (peers, stages).
class PipelineRates {
 public:
  // `peers` strictly ascending by id (ranks of a view), at most kMaxPipelinePeers; both arguments
  // valid. A peer's rate at a stage is 0 if the stage does not fit its memory, else
  // min(speed / work, up / (in + out), down / (in + out)): forward sends `out` bytes up and takes
  // `in` down, backward the other way round. O(peers x stages).
  PipelineRates(const std::vector<PeerResources>& peers, const Pipeline& pipeline);

  std::size_t peer_count() const { return ids_.size(); }

  std::size_t stage_count() const { return stages_; }

  const PeerId& id(std::size_t peer) const { return ids_[peer]; }

  Rate rate(std::size_t peer, std::size_t stage) const { return rates_[peer * stages_ + stage]; }

  // How long the peer needs to download the stage.
  std::chrono::milliseconds load_time(std::size_t peer, std::size_t stage) const;

 private:
  std::size_t stages_;
  std::vector<PeerId> ids_;
  std::vector<double> down_;         // (peers,) bytes/s
  std::vector<double> stage_bytes_;  // (stages,)
  std::vector<Rate> rates_;          // (peers, stages)
};

// The stage each peer serves, (peers,).
using Assignment = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kIdle = 0xFFFFFFFF;

// Sum of the rates of each stage's servers, (stages,).
std::vector<Rate> stage_rates(const PipelineRates& rates, const Assignment& assignment);
// T(x) = min_s sum_p x_ps r_ps: the pipeline is as fast as its slowest stage.
Rate throughput(const PipelineRates& rates, const Assignment& assignment);

// An upper bound on T of every assignment and the prices y >= 0, sum 1, that prove it:
// T <= sum_p max_s y_s r_ps.
struct DualBound {
  double per_second = 0.0;
  std::vector<double> prices;  // (stages,)
};

// The value of given prices.
double dual_value(const PipelineRates& rates, const std::vector<double>& prices);
// The best of `steps` prices found by multiplicative weights (Arora, Hazan, Kale, Theory of
// Computing 8, 2012), near the optimum of the linear program with fractional assignments.
// O(steps x peers x stages).
DualBound dual_bound(const PipelineRates& rates, std::size_t steps = 4000);

}  // namespace hobnob
