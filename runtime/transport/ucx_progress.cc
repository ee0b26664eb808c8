#include "runtime/transport/ucx_progress.h"

#include <utility>

#include "runtime/base/check.h"

namespace hobnob {
namespace {

// Calls of ucp_worker_progress before other handles of the loop get their turn.
constexpr int kProgressBudget = 64;
// Arming is refused while UCX has work that only progress can do; shared memory refuses as long as
// sends are pending.
constexpr int kArmTries = 4;

}  // namespace

UcxProgress::UcxProgress(uv_loop_t* loop, ucp_worker_h worker, int event_fd)
    : worker_(worker), handles_(new Handles{}) {
  handles_->owner = this;
  handles_->open = 3;
  HOBNOB_CHECK(uv_poll_init(loop, &handles_->poll, event_fd) == 0, "uv_poll_init failed");
  uv_prepare_init(loop, &handles_->prepare);
  uv_idle_init(loop, &handles_->idle);
  handles_->poll.data = handles_;
  handles_->prepare.data = handles_;
  handles_->idle.data = handles_;
  uv_poll_start(&handles_->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Handles*>(poll->data)->owner->progress();
  });
  uv_prepare_start(&handles_->prepare, [](uv_prepare_t* prepare) {
    static_cast<Handles*>(prepare->data)->owner->before_blocking();
  });
}

UcxProgress::~UcxProgress() {
  stop();
}

void UcxProgress::stop() {
  if (handles_ == nullptr) {
    return;
  }
  HOBNOB_CHECK(!is_running_tasks_, "bulk lane destroyed by its own callback");
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->poll), on_closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->prepare), on_closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->idle), on_closed);
  handles_ = nullptr;
  tasks_.clear();
}

void UcxProgress::on_closed(uv_handle_t* handle) {
  Handles* const handles = static_cast<Handles*>(handle->data);
  if (--handles->open == 0) {
    delete handles;
  }
}

void UcxProgress::later(Task task) {
  if (handles_ == nullptr) {
    return;
  }
  tasks_.push_back(std::move(task));
  stay_awake();
}

// An active idle handle makes the loop's wait zero.
void UcxProgress::stay_awake() {
  uv_idle_start(&handles_->idle,
                [](uv_idle_t* idle) { static_cast<Handles*>(idle->data)->owner->run_tasks(); });
}

bool UcxProgress::progress() {
  for (int i = 0; i < kProgressBudget; ++i) {
    const bool did_something = ucp_worker_progress(worker_) != 0;
    if (!tasks_.empty()) {
      run_tasks();
    } else if (!did_something) {
      return true;
    }
  }
  return false;
}

// UCX wakes nobody for what happened before it was armed, so arming must directly follow a progress
// without effect.
void UcxProgress::before_blocking() {
  for (int i = 0; i < kArmTries; ++i) {
    if (!progress()) {
      break;
    }
    if (ucp_worker_arm(worker_) == UCS_OK) {
      uv_idle_stop(&handles_->idle);
      return;
    }
  }
  stay_awake();
}

void UcxProgress::run_tasks() {
  std::vector<Task> batch;
  batch.swap(tasks_);
  is_running_tasks_ = true;
  for (Task& task : batch) {
    task();
    task = nullptr;
  }
  is_running_tasks_ = false;
}

}  // namespace hobnob
