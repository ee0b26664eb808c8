#include "gossip/mixer.h"

#include <cmath>
#include <utility>

namespace hobnob {

namespace {

class DifferenceMixer final : public Mixer {
 public:
  DifferenceMixer(const MixerConfig& config, DType type, std::size_t count, const VectorOps& ops)
      : ops_(ops), config_(config), flow_(std::make_shared<Buffer>(ops.allocate(type, count))) {}

  void add(const Channel& channel,
           const EdgeKey& edge,
           double weight,
           std::size_t offset,
           std::size_t count) override {
    double scale = config_.gamma * weight;
    if (config_.clip > 0.0) {
      const double length = std::sqrt(channel.squared_difference(edge));
      scale *= length > config_.clip ? config_.clip / length : 1.0;
    }
    channel.add_difference(edge, scale, flow_->view().slice(offset, count));
  }

  std::shared_ptr<Buffer> take(std::shared_ptr<Buffer> spare) override {
    ops_.fill(0.0, spare->view());
    return std::exchange(flow_, std::move(spare));
  }

  ConstVec pending() const override { return std::as_const(*flow_).view(); }

 private:
  const VectorOps& ops_;
  MixerConfig config_;
  std::shared_ptr<Buffer> flow_;
};

}  // namespace

std::unique_ptr<Mixer> make_difference_mixer(const MixerConfig& config,
                                             DType type,
                                             std::size_t count,
                                             const VectorOps& ops) {
  return std::make_unique<DifferenceMixer>(config, type, count, ops);
}

}  // namespace hobnob
