#include <uv.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/loop/executor.h"
#include "runtime/loop/timer_queue.h"

namespace hobnob {

namespace {

// One uv_async wakes the loop for posted tasks, one uv_timer serves all timers.
class UvExecutorImpl final : public UvExecutor {
 public:
  UvExecutorImpl() : start_ns_(uv_hrtime()) {
    HOBNOB_CHECK(uv_loop_init(&loop_) == 0, "uv_loop_init failed");
    HOBNOB_CHECK(uv_async_init(&loop_, &wake_, &on_wake) == 0, "uv_async_init failed");
    HOBNOB_CHECK(uv_timer_init(&loop_, &timer_) == 0, "uv_timer_init failed");
    wake_.data = this;
    timer_.data = this;
  }

  UvExecutorImpl(const UvExecutorImpl&) = delete;
  UvExecutorImpl& operator=(const UvExecutorImpl&) = delete;

  // Whoever used the loop has asked for its handles to be closed by now; their close callbacks run
  // here.
  ~UvExecutorImpl() override {
    for (const auto& watch : signals_) {
      uv_close(reinterpret_cast<uv_handle_t*>(&watch->handle), nullptr);
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    HOBNOB_CHECK(uv_loop_close(&loop_) == 0, "a handle outlived its loop");
  }

  Time now() const override { return Time{static_cast<std::int64_t>(uv_hrtime() - start_ns_)}; }

  void post(Task task) override {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(task));
    }
    uv_async_send(&wake_);
  }

  TimerId after(Duration delay, Task task) override {
    HOBNOB_CHECK(is_on_thread(), "after() from another thread");
    const TimerId id = timers_.add(now() + std::max(delay, Duration::zero()), std::move(task));
    arm_timer();
    return id;
  }

  void cancel(TimerId timer) override {
    HOBNOB_CHECK(is_on_thread(), "cancel() from another thread");
    timers_.cancel(timer);
  }

  void run() override {
    thread_ = std::this_thread::get_id();
    running_ = true;
    uv_run(&loop_, UV_RUN_DEFAULT);
    running_ = false;
  }

  void stop() override {
    post([this] { uv_stop(&loop_); });
  }

  void on_signal(int signal, Task task) override {
    signals_.push_back(std::make_unique<Signal>());
    Signal& watch = *signals_.back();
    watch.task = std::move(task);
    watch.handle.data = &watch;
    HOBNOB_CHECK(uv_signal_init(&loop_, &watch.handle) == 0, "uv_signal_init failed");
    const auto run = [](uv_signal_t* handle, int /*number*/) {
      static_cast<Signal*>(handle->data)->task();
    };
    HOBNOB_CHECK(uv_signal_start(&watch.handle, run, signal) == 0, "uv_signal_start failed");
  }

  bool is_on_thread() const override {
    return !running_ || thread_.load() == std::this_thread::get_id();
  }

  void* native_loop() override { return &loop_; }

 private:
  static void on_wake(uv_async_t* handle) {
    static_cast<UvExecutorImpl*>(handle->data)->run_posted();
  }

  static void on_timer(uv_timer_t* handle) {
    static_cast<UvExecutorImpl*>(handle->data)->run_timers();
  }

  // Only what was posted before this turn, so that sockets get theirs.
  void run_posted() {
    std::vector<Task> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.swap(posted_);
    }
    for (Task& task : batch) {
      task();
    }
  }

  void run_timers() {
    const Time turn = now();
    while (!timers_.empty() && timers_.next_time() <= turn) {
      const Task task = timers_.take();
      task();
    }
    arm_timer();
  }

  void arm_timer() {
    if (timers_.empty()) {
      return;
    }
    uv_update_time(&loop_);
    const auto wait = std::max(timers_.next_time() - now(), Duration::zero());
    const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    uv_timer_start(&timer_, &on_timer, static_cast<std::uint64_t>(wait_ms), 0);
  }

  struct Signal {
    uv_signal_t handle{};
    Task task;
  };

  uv_loop_t loop_{};
  uv_async_t wake_{};
  uv_timer_t timer_{};
  std::uint64_t start_ns_;
  TimerQueue timers_;
  std::vector<std::unique_ptr<Signal>> signals_;
  std::atomic<bool> running_{false};
  std::atomic<std::thread::id> thread_;
  std::mutex mutex_;
  std::vector<Task> posted_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<UvExecutor> make_uv_executor() {
  return std::make_unique<UvExecutorImpl>();
}

}  // namespace hobnob
