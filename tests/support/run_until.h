#pragma once

#include <chrono>
#include <functional>

#include "runtime/loop/executor.h"

namespace hobnob::testing {

// Runs the loop until `is_done` or `limit`, whichever comes first; what is_done() said last.
inline bool run_until(UvExecutor& executor,
                      const std::function<bool()>& is_done,
                      Duration limit = std::chrono::seconds(20)) {
  const Time deadline = executor.now() + limit;
  bool done = false;
  std::function<void()> look = [&] {
    done = is_done();
    if (done || executor.now() >= deadline) {
      executor.stop();
    } else {
      executor.after(std::chrono::milliseconds(1), look);
    }
  };
  executor.after(Duration::zero(), look);
  executor.run();
  return done;
}

inline bool run_until(SimExecutor& executor,
                      const std::function<bool()>& is_done,
                      Duration limit = std::chrono::seconds(20)) {
  const Time deadline = executor.now() + limit;
  bool reached = false;
  const TimerId watchdog = executor.after(limit, [&] { reached = true; });
  while (!is_done() && !reached && executor.now() <= deadline && executor.step()) {
  }
  executor.cancel(watchdog);
  return is_done();
}

}  // namespace hobnob::testing
