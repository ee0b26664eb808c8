#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gossip/config.h"
#include "gossip/optimizer.h"
#include "gossip/outer.h"
#include "gossip/workload.h"
#include "runtime/base/bytes.h"
#include "runtime/base/result.h"
#include "runtime/loop/executor.h"

namespace hobnob {

struct TrainerConfig {
  RoundOrder order = RoundOrder::kAtc;
  std::uint32_t local_steps = 1;
  std::uint64_t rounds = 0;          // the swarm's clock at which training ends
  std::uint64_t evaluate_every = 0;  // rounds; 0: only at the end
  OptimizerConfig optimizer;
  OuterConfig outer;
  // Virtual seconds a gradient step takes; 0 live, where it takes what it takes.
  Duration step_time{0};
  const VectorOps* ops = &cpu_vector_ops();  // of the device the parameters are on
};

// All a trainer needs to go on later, in this process or another.
struct TrainerState {
  std::uint64_t round = 0;             // the next to run
  std::uint64_t steps = 0;             // gradient steps taken: which batch is next
  std::shared_ptr<Buffer> parameters;  // (d,)
  Bytes optimizer;  // Optimizer::save(), and the outer step's momentum and anchor
};

// One finished round, as the trainer saw it.
struct RoundRecord {
  std::uint64_t round = 0;
  double loss = 0.0;                     // mean over the local steps
  std::optional<Evaluation> evaluation;  // where this round was evaluated
  std::uint64_t samples = 0;
  Duration compute{0};
  Duration stall{0};  // from having its own step done to having the neighbours' flow
};

// K local steps, publish, take the flow, outer step, again. One thread; the gossip side is reached
// through Events only.
class Trainer {
 public:
  struct Events {
    // y (d,) is the gossip side's from now on. Every publish is answered by one deliver().
    std::function<void(std::uint64_t round, std::shared_ptr<Buffer> y)> publish;
    std::function<void(const RoundRecord&)> on_round;
    std::function<void(const Evaluation&)> on_finished;
    // For the simulator's books: the flow as it is about to be added to y. May be null.
    std::function<void(std::uint64_t round, ConstVec flow)> on_flow;
  };

  Trainer(Executor& executor, Workload& workload, const TrainerConfig& config, Events events);

  // Before begin(): goes on where `state` stopped. kMalformed when it is of another model or
  // optimizer; then nothing has changed.
  Result<void> restore(const TrainerState& state);
  // A copy; a flow that has come and is not added yet is in it. Cost: d values and the optimizer's.
  TrainerState state() const;

  // Starts at `round`, with `parameters` (d,) of another peer where there are any.
  void begin(std::uint64_t round, const std::shared_ptr<Buffer>& parameters);
  // The answer to publish(round): x = y + flow, and on with `next_round`.
  void deliver(std::uint64_t round, std::uint64_t next_round, std::shared_ptr<Buffer> flow);

  // No step after the running one. Any thread.
  void stop() { is_stopped_ = true; }

  std::uint64_t steps() const { return steps_; }

 private:
  Bytes save() const;
  Result<void> load(ByteSpan bytes);
  void prepare_gradient();
  void start_round(std::uint64_t round);
  void step();
  void publish();
  void finish_round();

  Executor& executor_;
  Workload& workload_;
  const TrainerConfig config_;
  Events events_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Outer> outer_;  // null: identity
  // (d,): parameters where the round began; null where nothing looks at it.
  std::unique_ptr<Buffer> anchor_;

  std::atomic<bool> is_stopped_{false};
  std::uint64_t round_ = 0;
  std::uint64_t next_round_ = 0;
  std::uint64_t resume_round_ = 0;  // of state(): the running one until its step is done
  std::uint64_t steps_ = 0;
  bool has_stepped_ = false;
  TimerId step_timer_ = 0;  // simulator
  Time ready_at_{0};
  std::shared_ptr<Buffer> flow_;   // delivered, not yet added
  std::shared_ptr<Buffer> spare_;  // to publish in
  RoundRecord record_;
};

}  // namespace hobnob
