#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// A child that runs this same program, its report pipe and its stderr read without blocking. It
// dies with the parent.
class ChildProcess {
 public:
  // `arguments` without the program; "--report-fd" is added.
  static Result<ChildProcess> start(const std::vector<std::string>& arguments);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills it if it still runs.
  ~ChildProcess();

  int report_fd() const { return report_.fd; }

  int log_fd() const { return log_.fd; }

  // Whole lines that have come; at the end of the pipe its fd becomes -1.
  std::vector<std::string> take_report() { return take(report_); }

  std::vector<std::string> take_log() { return take(log_); }

  void signal(int number) const;
  // True once it has ended; then exit_text() and ended_well() speak.
  bool poll_ended();

  bool has_ended() const { return has_ended_; }

  // Its exit code, or minus the signal that ended it.
  int exit_code() const { return exit_code_; }

  pid_t pid() const { return pid_; }

 private:
  struct Pipe {
    int fd = -1;
    std::string partial;
  };

  ChildProcess(pid_t pid, int report, int log) : pid_(pid), report_{report, {}}, log_{log, {}} {}

  static std::vector<std::string> take(Pipe& pipe);

  pid_t pid_;
  Pipe report_;
  Pipe log_;
  bool has_ended_ = false;
  int exit_code_ = 0;
};

}  // namespace hobnob
