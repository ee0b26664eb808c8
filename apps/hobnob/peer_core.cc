#include "apps/hobnob/peer_core.h"

#include <utility>

namespace hobnob {

NodeConfig node_config(const Job& job) {
  NodeConfig config;
  config.rounds = job.rounds;
  config.seed = job.seed;
  config.gossip = job.gossip;
  config.optimizer = job.optimizer;
  config.job = job.document.dump();
  return config;
}

TrainerConfig trainer_config(const Job& job) {
  return {.order = job.gossip.order,
          .local_steps = job.gossip.local_steps,
          .rounds = job.rounds,
          .evaluate_every = job.evaluate_every,
          .optimizer = job.optimizer,
          .outer = job.gossip.outer};
}

PeerCore::PeerCore(const Places& places,
                   const Job& job,
                   const NodeConfig& node,
                   const TrainerConfig& trainer,
                   Events events)
    : places_(places), events_(std::move(events)) {
  trainer_ = std::make_unique<Trainer>(
      places_.train, places_.workload, trainer,
      Trainer::Events{.publish =
                          [this](std::uint64_t round, std::shared_ptr<Buffer> y) {
                            places_.gossip.post(
                                [this, round, y = std::move(y)] { node_->on_published(round, y); });
                          },
                      .on_round = events_.on_round,
                      .on_finished =
                          [this](const Evaluation& evaluation) {
                            events_.on_finished(evaluation);
                            places_.gossip.post([this] { node_->on_training_finished(); });
                          },
                      .on_flow = events_.on_flow});
  node_ = std::make_unique<Node>(
      places_.gossip, places_.transport, node,
      cut_fragments(places_.workload.tensors(), job.gossip.fragment_values),
      places_.workload.parameters().type(),
      Node::Events{
          .begin =
              [this](std::uint64_t round, std::shared_ptr<Buffer> parameters) {
                events_.on_begin(parameters != nullptr);
                places_.train.post([this, round, parameters = std::move(parameters)] {
                  trainer_->begin(round, parameters);
                });
              },
          .deliver =
              [this](std::uint64_t round, std::uint64_t next, std::shared_ptr<Buffer> flow) {
                places_.train.post([this, round, next, flow = std::move(flow)] {
                  trainer_->deliver(round, next, flow);
                });
              },
          .on_end = events_.on_end});
}

Result<void> PeerCore::resume(const TrainerState& state) {
  const Result<void> restored = trainer_->restore(state);
  if (restored.ok() && state.round > 0) {
    // A copy: the node publishes in its buffers, and `state` may be needed again.
    const ConstVec saved = std::as_const(*state.parameters).view();
    auto copy = std::make_shared<Buffer>(cpu_vector_ops().allocate(saved.type(), saved.count()));
    cpu_vector_ops().copy(saved, copy->view());
    node_->resume(state.round, std::move(copy));
  }
  return restored;
}

}  // namespace hobnob
