#include <algorithm>
#include <utility>

#include "runtime/loop/executor.h"
#include "runtime/loop/timer_queue.h"

namespace hobnob {

namespace {

class SimExecutorImpl final : public SimExecutor {
 public:
  Time now() const override { return now_; }

  void post(Task task) override { queue_.add(now_, std::move(task)); }

  TimerId after(Duration delay, Task task) override {
    return queue_.add(now_ + std::max(delay, Duration::zero()), std::move(task));
  }

  void cancel(TimerId timer) override { queue_.cancel(timer); }

  bool step() override {
    if (queue_.empty()) {
      return false;
    }
    now_ = queue_.next_time();
    const Task task = queue_.take();
    ++events_;
    task();
    return true;
  }

  void run_until(Time until) override {
    while (!queue_.empty() && queue_.next_time() <= until) {
      step();
    }
    now_ = std::max(now_, until);
  }

  std::uint64_t events() const override { return events_; }

 private:
  TimerQueue queue_;
  Time now_{0};
  std::uint64_t events_ = 0;
};

}  // namespace

std::unique_ptr<SimExecutor> make_sim_executor() {
  return std::make_unique<SimExecutorImpl>();
}

}  // namespace hobnob
