#include "gossip/mixer.h"

#include <utility>

namespace hobnob {

namespace {

class DifferenceMixer final : public Mixer {
 public:
  DifferenceMixer(double gamma, DType type, std::size_t count, const VectorOps& ops)
      : ops_(ops), gamma_(gamma), flow_(std::make_shared<Buffer>(ops.allocate(type, count))) {}

  void add(const Channel& channel,
           const EdgeKey& edge,
           double weight,
           std::size_t offset,
           std::size_t count) override {
    channel.add_difference(edge, gamma_ * weight, flow_->view().slice(offset, count));
  }

  std::shared_ptr<Buffer> take(std::shared_ptr<Buffer> spare) override {
    ops_.fill(0.0, spare->view());
    return std::exchange(flow_, std::move(spare));
  }

  ConstVec pending() const override { return std::as_const(*flow_).view(); }

 private:
  const VectorOps& ops_;
  double gamma_;
  std::shared_ptr<Buffer> flow_;
};

}  // namespace

std::unique_ptr<Mixer> make_difference_mixer(double gamma,
                                             DType type,
                                             std::size_t count,
                                             const VectorOps& ops) {
  return std::make_unique<DifferenceMixer>(gamma, type, count, ops);
}

}  // namespace hobnob
