#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "runtime/loop/executor.h"

namespace hobnob {

// Pending tasks in order of time, then of making. Not thread-safe.
class TimerQueue {
 public:
  TimerId add(Time when, Task task) {
    const TimerId id = ++last_id_;
    tasks_.emplace(std::pair(when, id), std::move(task));
    times_.emplace(id, when);
    return id;
  }

  void cancel(TimerId id) {
    const auto found = times_.find(id);
    if (found != times_.end()) {
      tasks_.erase(std::pair(found->second, id));
      times_.erase(found);
    }
  }

  bool empty() const { return tasks_.empty(); }

  // Of the earliest task; the queue is not empty.
  Time next_time() const { return tasks_.begin()->first.first; }

  // Removes and returns the earliest task; the queue is not empty.
  Task take() {
    auto first = tasks_.begin();
    Task task = std::move(first->second);
    times_.erase(first->first.second);
    tasks_.erase(first);
    return task;
  }

 private:
  TimerId last_id_ = 0;
  std::map<std::pair<Time, TimerId>, Task> tasks_;
  std::unordered_map<TimerId, Time> times_;
};

}  // namespace hobnob
