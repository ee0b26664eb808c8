// hobnob swarm: N peer processes on this machine, one live table, one summary.

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "apps/hobnob/child_process.h"
#include "apps/hobnob/commands.h"
#include "apps/hobnob/job.h"
#include "apps/hobnob/line_file.h"

namespace hobnob {

namespace {

using WallClock = std::chrono::steady_clock;

volatile std::sig_atomic_t interruptions = 0;  // NOLINT: what a signal handler may touch

struct SwarmPeer {
  std::string name;
  std::optional<ChildProcess> process;
  Json status;             // last report
  std::string last_words;  // last line of its log
};

double number_at(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found != nullptr && found->is_number() ? found->number() : 0.0;
}

double total_at(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found == nullptr ? 0.0 : number_at(*found, "total");
}

std::string text_at(const Json& json, const char* key) {
  const Json* found = json.find(key);
  return found != nullptr && found->is_text() ? found->text() : "";
}

// A file that is gone when the swarm is.
class TemporaryJob {
 public:
  TemporaryJob() = default;
  TemporaryJob(const TemporaryJob&) = delete;
  TemporaryJob& operator=(const TemporaryJob&) = delete;

  ~TemporaryJob() {
    if (!path_.empty()) {
      std::remove(path_.c_str());
    }
  }

  Result<void> write(const Job& job) {
    char name[] = "/tmp/hobnob-job-XXXXXX";
    const int fd = mkstemp(name);
    std::FILE* file = fd < 0 ? nullptr : fdopen(fd, "w");
    if (file == nullptr) {
      return make_error(ErrorCode::kIo, "cannot make %s: %s", name, std::strerror(errno));
    }
    path_ = name;
    const bool is_written = std::fputs(job.document.dump(2).c_str(), file) != EOF;
    if (std::fclose(file) != 0 || !is_written) {
      return make_error(ErrorCode::kIo, "cannot write %s: %s", name, std::strerror(errno));
    }
    return {};
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class SwarmRun {
 public:
  SwarmRun(const SwarmOptions& options, Job job, std::vector<std::string> sites)
      : options_(options),
        job_(std::move(job)),
        sites_(std::move(sites)),
        is_terminal_(isatty(STDERR_FILENO) != 0 && !options.json),
        started_(WallClock::now()) {}

  Result<int> run();

 private:
  Result<void> start_peer(std::size_t index);
  Result<void> start_all();
  void wait_and_read(int milliseconds);
  void read_peer(SwarmPeer& peer);
  void show(bool is_last);
  std::string row(const SwarmPeer& peer) const;
  bool all_ended();
  bool has_met_target() const;
  int summarize();

  double elapsed() const {
    return std::chrono::duration<double>(WallClock::now() - started_).count();
  }

  const SwarmOptions& options_;
  Job job_;
  std::vector<std::string> sites_;  // repeated over the peers; empty: none
  TemporaryJob file_;
  bool is_terminal_;
  WallClock::time_point started_;
  std::vector<SwarmPeer> peers_;
  std::unique_ptr<LineFile> out_;
  int forwarded_ = 0;
  std::size_t rows_shown_ = 0;
  double next_show_ = 0.0;
};

Result<void> SwarmRun::start_peer(std::size_t index) {
  SwarmPeer peer;
  peer.name = "peer" + std::to_string(index);
  std::vector<std::string> arguments = {"peer",
                                        "--job",
                                        file_.path(),
                                        "--name",
                                        peer.name,
                                        "--shard",
                                        std::to_string(index),
                                        "--min-peers",
                                        std::to_string(options_.peers)};
  if (index == 0 && !options_.http.empty()) {
    arguments.insert(arguments.end(), {"--http", options_.http});
  }
  if (index > 0) {
    arguments.insert(arguments.end(), {"--bootstrap", text_at(peers_[0].status, "listen")});
  }
  if (!sites_.empty()) {
    arguments.insert(arguments.end(), {"--site", sites_[index % sites_.size()]});
  }
  if (!options_.data.empty()) {
    arguments.insert(arguments.end(), {"--data", options_.data});
  }
  if (options_.no_ucx) {
    arguments.emplace_back("--no-ucx");
  }
  Result<ChildProcess> process = ChildProcess::start(arguments);
  if (!process.ok()) {
    return process.error();
  }
  peer.process.emplace(std::move(process).value());
  peers_.push_back(std::move(peer));
  return {};
}

// The first peer says where it listens; the others go there.
Result<void> SwarmRun::start_all() {
  Result<void> started = start_peer(0);
  while (started.ok() && peers_[0].status.is_null()) {
    wait_and_read(100);
    if (all_ended()) {
      return make_error(ErrorCode::kInvalidArgument, "%s", peers_[0].last_words.c_str());
    }
  }
  if (started.ok() && !options_.json) {
    std::fprintf(stderr, "status page: http://%s/status   join: hobnob peer --bootstrap %s\n",
                 text_at(peers_[0].status, "http").c_str(),
                 text_at(peers_[0].status, "listen").c_str());
  }
  for (std::size_t index = 1; started.ok() && index < options_.peers; ++index) {
    started = start_peer(index);
  }
  return started;
}

void SwarmRun::wait_and_read(int milliseconds) {
  std::vector<pollfd> watched;
  for (const SwarmPeer& peer : peers_) {
    for (const int fd : {peer.process->report_fd(), peer.process->log_fd()}) {
      if (fd >= 0) {
        watched.push_back({fd, POLLIN, 0});
      }
    }
  }
  poll(watched.data(), watched.size(), milliseconds);
  for (SwarmPeer& peer : peers_) {
    read_peer(peer);
  }
  if (interruptions > forwarded_) {
    forwarded_ = interruptions;
    for (const SwarmPeer& peer : peers_) {
      peer.process->signal(SIGINT);
    }
  }
}

void SwarmRun::read_peer(SwarmPeer& peer) {
  for (const std::string& line : peer.process->take_report()) {
    Result<Json> status = parse_json(line, peer.name);
    if (status.ok()) {
      peer.status = std::move(status).value();
      out_->write(line);
    }
  }
  for (const std::string& line : peer.process->take_log()) {
    const bool is_error = line.rfind("hobnob: ", 0) == 0;
    peer.last_words = is_error ? line.substr(8) : line;
    if (is_error || line.find(" error ") != std::string::npos ||
        line.find(" warn  ") != std::string::npos) {
      std::fprintf(stderr, "%s\n",
                   is_error ? (peer.name + ": " + peer.last_words).c_str() : line.c_str());
      rows_shown_ = 0;
    }
  }
  const bool had_ended = peer.process->has_ended();
  if (peer.process->poll_ended() && !had_ended && peer.process->exit_code() < 0) {
    std::fprintf(stderr, "%s (pid %d) was ended by signal %d\n", peer.name.c_str(),
                 peer.process->pid(), -peer.process->exit_code());
    rows_shown_ = 0;
  }
}

std::string SwarmRun::row(const SwarmPeer& peer) const {
  const Json& s = peer.status;
  std::string state = text_at(s, "state");
  if (peer.process->has_ended()) {
    state = peer.process->exit_code() == 0 ? "done" : format("exit %d", peer.process->exit_code());
  }
  const Json* accuracy = s.find("accuracy");
  const std::string shown = accuracy != nullptr && accuracy->is_number()
                                ? format("%.2f%%", 100.0 * accuracy->number())
                                : std::string("-");
  return format("%-7s %7d %-10s %7.0f %8.4f %8s %9.0f %8.1f %8.1f %5.0f %7.0f ms",
                peer.name.c_str(), peer.process->pid(), state.c_str(), number_at(s, "round"),
                number_at(s, "loss"), shown.c_str(), number_at(s, "samples_per_second"),
                total_at(s, "bytes_sent") / 1e6, total_at(s, "bytes_received") / 1e6,
                peer.process->has_ended() ? 0.0 : number_at(s, "members"),
                number_at(s, "longest_stall_ms"));
}

// A table redrawn in place on a terminal; elsewhere the same table every few seconds.
void SwarmRun::show(bool is_last) {
  if (options_.json || (elapsed() < next_show_ && !is_last)) {
    return;
  }
  next_show_ = elapsed() + (is_terminal_ ? 0.5 : 5.0);
  if (is_terminal_ && rows_shown_ > 0) {
    std::fprintf(stderr, "\x1b[%zuA", rows_shown_);
  }
  std::vector<std::string> rows = {format("%-7s %7s %-10s %7s %8s %8s %9s %8s %8s %5s %10s", "peer",
                                          "pid", "state", "round", "loss", "accuracy", "samples/s",
                                          "MB out", "MB in", "peers", "stall max")};
  for (const SwarmPeer& peer : peers_) {
    rows.push_back(row(peer));
  }
  winsize window{};
  const bool has_width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  for (const std::string& each : rows) {
    // A row that wraps would spoil the cursor's way back.
    const std::string shown = has_width ? each.substr(0, window.ws_col - 1U) : each;
    std::fprintf(stderr, "%s%s\n", shown.c_str(), is_terminal_ ? "\x1b[K" : "");
  }
  rows_shown_ = is_terminal_ ? rows.size() : 0;
}

bool SwarmRun::all_ended() {
  return std::ranges::all_of(peers_, [](SwarmPeer& peer) { return peer.process->poll_ended(); });
}

// Judged on the peers that finished; one that was killed from outside has no say.
bool SwarmRun::has_met_target() const {
  std::size_t finished = 0;
  for (const SwarmPeer& peer : peers_) {
    const Json* is_final = peer.status.find("final");
    if (peer.process->exit_code() == 0 && is_final != nullptr && is_final->boolean()) {
      ++finished;
      if (!job_.target.metric.empty() &&
          number_at(peer.status, "accuracy") < job_.target.at_least) {
        return false;
      }
    }
  }
  return finished > 0;
}

int SwarmRun::summarize() {
  const bool met = has_met_target();
  bool has_failed = false;
  Json list(Json::Array{});
  for (const SwarmPeer& peer : peers_) {
    const int code = peer.process->exit_code();
    has_failed = has_failed || (code != 0 && code != -SIGKILL);
    Json json;
    json.set("name", peer.name);
    for (const char* key : {"rounds_done", "round", "loss", "accuracy"}) {
      const Json* found = peer.status.find(key);
      json.set(key == std::string("rounds_done") ? "rounds" : key,
               found == nullptr ? Json() : *found);
    }
    json.set("bytes_sent", total_at(peer.status, "bytes_sent"));
    json.set("bytes_received", total_at(peer.status, "bytes_received"));
    const Json* sent = peer.status.find("bytes_sent");
    json.set("edge_bytes_sent", sent == nullptr ? Json() : Json(number_at(*sent, "edges")));
    json.set("longest_stall_ms", number_at(peer.status, "longest_stall_ms"));
    json.set("exit", code);
    list.push(std::move(json));
  }
  const double wall = elapsed();
  if (options_.json) {
    const Json document = Json()
                              .set("schema", "hobnob.swarm/1")
                              .set("peers", std::move(list))
                              .set("target_met", met)
                              .set("wall_seconds", wall);
    std::printf("%s\n", document.dump(2).c_str());
  } else {
    double worst = 1.0;
    double stall = 0.0;
    bool has_finished = false;
    for (const SwarmPeer& peer : peers_) {
      stall = std::max(stall, number_at(peer.status, "longest_stall_ms"));
      if (peer.process->exit_code() == 0) {
        worst = std::min(worst, number_at(peer.status, "accuracy"));
        has_finished = true;
      }
    }
    const std::string accuracy = has_finished ? format("lowest accuracy %.2f%%", 100.0 * worst)
                                              : std::string("no peer finished");
    const std::string target =
        job_.target.metric.empty()
            ? ""
            : format(" (target %.2f%% %s)", 100.0 * job_.target.at_least, met ? "met" : "missed");
    std::printf("%s: %zu peers, %.1f s, %s%s, longest stall of a peer %.0f ms\n", job_.name.c_str(),
                peers_.size(), wall, accuracy.c_str(), target.c_str(), stall);
  }
  if (interruptions > 0) {
    return kExitInterrupted;
  }
  return met && !has_failed ? kExitDone : kExitFailed;
}

Result<int> SwarmRun::run() {
  Result<std::unique_ptr<LineFile>> out = LineFile::open(options_.out, "--out");
  if (!out.ok()) {
    return out.error();
  }
  out_ = std::move(out).value();
  const Result<void> shared = file_.write(job_);
  if (!shared.ok()) {
    return shared.error();
  }
  const Result<void> started = start_all();
  if (!started.ok()) {
    return started.error();
  }
  while (!all_ended()) {
    wait_and_read(250);
    show(false);
  }
  wait_and_read(0);
  show(true);
  const Result<void> written = out_->close();
  const int code = summarize();
  return written.ok() ? Result<int>(code) : Result<int>(written.error());
}

}  // namespace

int run_swarm(const SwarmOptions& options) {
  Result<Job> read = read_job(options.job);
  if (!read.ok()) {
    return report(read.error());
  }
  Result<std::vector<std::string>> sites = parse_site_names(options.sites);
  if (!sites.ok()) {
    return report(sites.error());
  }
  Job job = std::move(read).value();
  if (job.data.partition.kind != "iid" && job.data.partition.shards == 0) {
    job.data.partition.shards = static_cast<std::uint32_t>(options.peers);
    job.refresh_document();
  }
  DataConfig data = job.data;
  data.path = options.data.empty() ? data.path : options.data;
  const Result<LoadedData> loaded =
      load_data(data, job.seed);  // one message instead of one from each peer
  if (!loaded.ok()) {
    return report(loaded.error());
  }
  std::signal(SIGINT, [](int /*signal*/) { interruptions = interruptions + 1; });
  std::signal(SIGTERM, [](int /*signal*/) { interruptions = interruptions + 1; });
  SwarmRun run(options, std::move(job), std::move(sites).value());
  const Result<int> code = run.run();
  return code.ok() ? code.value() : report(code.error());
}

}  // namespace hobnob
