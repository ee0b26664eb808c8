#pragma once

#include <set>
#include <utility>
#include <vector>

#include "runtime/loop/executor.h"

namespace hobnob {

// A simulated process's share of the world's executor: runs tasks while the process runs, keeps
// them while it is frozen, drops them when it is dead. The world's thread; it outlives the tasks
// given to it, as they name it.
class SimHostExecutor final : public Executor {
 public:
  explicit SimHostExecutor(SimExecutor& world) : world_(world) {}

  Time now() const override { return world_.now(); }

  void post(Task task) override { world_.post(guard(std::move(task))); }

  TimerId after(Duration delay, Task task) override {
    const TimerId id = ++last_id_;
    live_.insert(id);
    // Whether it was cancelled is asked when it runs: it may have waited through a freeze.
    world_.after(delay, guard([this, id, task = std::move(task)] {
                   if (live_.erase(id) == 1) {
                     task();
                   }
                 }));
    return id;
  }

  void cancel(TimerId timer) override { live_.erase(timer); }

  void freeze() { frozen_ = true; }

  void thaw() {
    frozen_ = false;
    for (Task& task : held_) {
      post(std::move(task));
    }
    held_.clear();
  }

  void kill() {
    dead_ = true;
    held_.clear();
  }

  bool is_frozen() const { return frozen_; }

  bool is_dead() const { return dead_; }

 private:
  Task guard(Task task) {
    return [this, task = std::move(task)]() mutable {
      if (dead_) {
        return;
      }
      if (frozen_) {
        held_.push_back(std::move(task));
        return;
      }
      task();
    };
  }

  SimExecutor& world_;
  bool frozen_ = false;
  bool dead_ = false;
  TimerId last_id_ = 0;
  std::set<TimerId> live_;
  std::vector<Task> held_;
};

}  // namespace hobnob
