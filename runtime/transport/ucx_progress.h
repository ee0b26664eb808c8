#pragma once

#include <ucp/api/ucp.h>
#include <uv.h>

#include <vector>

#include "runtime/loop/executor.h"

namespace hobnob {

// Drives one UCX worker from a libuv loop without polling: its descriptor wakes the loop, and
// before the loop blocks the worker is progressed and armed. Loop thread only.
class UcxProgress {
 public:
  UcxProgress(uv_loop_t* loop, ucp_worker_h worker, int event_fd);
  ~UcxProgress();
  UcxProgress(const UcxProgress&) = delete;
  UcxProgress& operator=(const UcxProgress&) = delete;

  // Runs `task` in this turn of the loop or the next, never inside a UCX callback: there endpoints
  // must not be closed and nobody else's code should run. Tasks not yet run at stop() are dropped.
  void later(Task task);

  // Lets go of the loop; tasks are dropped from now on. The worker may be destroyed after this.
  void stop();

 private:
  // Lives until the last close callback.
  struct Handles {
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_idle_t idle;
    UcxProgress* owner;
    int open;
  };

  static void on_closed(uv_handle_t* handle);
  void before_blocking();
  // True when the worker had nothing more to do.
  bool progress();
  void run_tasks();
  void stay_awake();

  const ucp_worker_h worker_;
  Handles* handles_;
  std::vector<Task> tasks_;
  bool is_running_tasks_ = false;
};

}  // namespace hobnob
