#include "apps/hobnob/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace hobnob {

namespace {

constexpr int kReportFd = 3;
constexpr std::size_t kMaxPartialLine = std::size_t{1} << 20U;

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, int report, int log, pid_t parent) {
  setpgid(0, 0);  // Ctrl-C reaches the parent alone, which passes it on once
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    _exit(1);
  }
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  dup2(report, kReportFd);
  execv("/proc/self/exe", argv);
  _exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"hobnob"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--report-fd", std::to_string(kReportFd)});
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  int report[2];
  int log[2];
  if (pipe2(report, O_CLOEXEC) != 0 || pipe2(log, O_CLOEXEC) != 0) {
    return make_error(ErrorCode::kIo, "cannot make a pipe: %s", std::strerror(errno));
  }
  // Above the numbers the child's own descriptors move to.
  const int report_end = fcntl(report[1], F_DUPFD_CLOEXEC, 10);
  const int log_end = fcntl(log[1], F_DUPFD_CLOEXEC, 10);
  const pid_t parent = getpid();
  const pid_t pid = report_end < 0 || log_end < 0 ? -1 : fork();
  if (pid == 0) {
    become(argv.data(), report_end, log_end, parent);
  }
  for (const int fd : {report[1], log[1], report_end, log_end}) {
    ::close(fd);
  }
  if (pid < 0) {
    return make_error(ErrorCode::kIo, "cannot start a process: %s", std::strerror(errno));
  }
  fcntl(report[0], F_SETFL, O_NONBLOCK);
  fcntl(log[0], F_SETFL, O_NONBLOCK);
  return ChildProcess(pid, report[0], log[0]);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      report_(std::exchange(other.report_, Pipe())),
      log_(std::exchange(other.log_, Pipe())),
      has_ended_(other.has_ended_),
      exit_code_(other.exit_code_) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !has_ended_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {report_.fd, log_.fd}) {
    if (fd >= 0) {
      ::close(fd);
    }
  }
}

std::vector<std::string> ChildProcess::take(Pipe& pipe) {
  std::vector<std::string> lines;
  char block[16384];
  while (pipe.fd >= 0) {
    const ssize_t count = read(pipe.fd, block, sizeof block);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      break;
    }
    if (count <= 0) {
      ::close(std::exchange(pipe.fd, -1));
      break;
    }
    pipe.partial.append(block, static_cast<std::size_t>(count));
    std::size_t end = pipe.partial.find('\n');
    std::size_t begin = 0;
    for (; end != std::string::npos; begin = end + 1, end = pipe.partial.find('\n', begin)) {
      lines.push_back(pipe.partial.substr(begin, end - begin));
    }
    pipe.partial.erase(0, begin);
    if (pipe.partial.size() > kMaxPartialLine) {
      pipe.partial.clear();
    }
  }
  return lines;
}

void ChildProcess::signal(int number) const {
  if (!has_ended_) {
    ::kill(pid_, number);
  }
}

bool ChildProcess::poll_ended() {
  int status = 0;
  if (!has_ended_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    has_ended_ = true;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return has_ended_;
}

}  // namespace hobnob
