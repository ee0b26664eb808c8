#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace hobnob {

using Duration = std::chrono::nanoseconds;
// Since the executor began. Monotonic: real time in a live process, virtual time in the simulator.
using Time = std::chrono::nanoseconds;
using Task = std::function<void()>;
using TimerId = std::uint64_t;  // never 0 for a live timer

// Where code runs and what time it is there: one thread, tasks one after another.
class Executor {
 public:
  virtual ~Executor() = default;

  // Real time goes on during a task; virtual time does not.
  virtual Time now() const = 0;

  // Runs `task` later, in the order posted. Any thread.
  virtual void post(Task task) = 0;

  // Runs `task` once, not before `delay` has passed. Executor's thread only, like cancel.
  virtual TimerId after(Duration delay, Task task) = 0;

  // The task will not run. A timer that ran already, or 0, is ignored.
  virtual void cancel(TimerId timer) = 0;
};

// Virtual time: run() jumps from event to event. Ties run in the order they were made, so a run is
// a function of its inputs alone.
class SimExecutor : public Executor {
 public:
  // Runs the next event; false when there is none.
  virtual bool step() = 0;
  // Runs every event up to and including `until`, then sets the clock there.
  virtual void run_until(Time until) = 0;
  // Events run so far.
  virtual std::uint64_t events() const = 0;
};

std::unique_ptr<SimExecutor> make_sim_executor();

// A libuv loop. Build, run and destroy it on one thread.
class UvExecutor : public Executor {
 public:
  // Until stop(); sleeps in the kernel when there is nothing to do.
  virtual void run() = 0;
  // Ends run() after the current task. Any thread.
  virtual void stop() = 0;
  // Runs `task` on the loop at each of this signal; before run(), and not from other threads.
  virtual void on_signal(int signal, Task task) = 0;
  // True on the thread inside run(), or while it is not running.
  virtual bool is_on_thread() const = 0;
  // The uv_loop_t, for runtime/ files named uv_*; others have no use for it.
  virtual void* native_loop() = 0;
};

std::unique_ptr<UvExecutor> make_uv_executor();

}  // namespace hobnob
