// hobnob peer: one peer process. Three threads: loop (sockets, HTTP, signals; the main thread),
// gossip (Node), train (Trainer). run() wires them; reading it shows the program.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/identity.h"
#include "apps/hobnob/peer_board.h"
#include "apps/hobnob/peer_core.h"
#include "apps/hobnob/peer_plan.h"
#include "apps/hobnob/state_saver.h"
#include "apps/hobnob/status_pages.h"
#include "runtime/base/log.h"
#include "runtime/transport/bulk_lane.h"
#include "runtime/transport/tcp_transport.h"
#include "runtime/transport/threaded_transport.h"

namespace hobnob {

namespace {

constexpr Duration kReportInterval = std::chrono::milliseconds(200);
constexpr Duration kIdleInterval = std::chrono::seconds(1);
constexpr Duration kProgressInterval = std::chrono::seconds(2);

class LivePeer {
 public:
  LivePeer(const PeerOptions& options, PeerPlan plan, std::unique_ptr<Workload> workload)
      : options_(options),
        plan_(std::move(plan)),
        workload_(std::move(workload)),
        board_(plan_.job,
               {.peer = plan_.id,
                .name = plan_.name,
                .device = options.device,
                .shard = plan_.shard,
                .listen = plan_.listen,
                .http = plan_.http,
                .parameters = workload_->parameters().count()}),
        loop_(make_uv_executor()),
        gossip_(make_uv_executor()),
        train_(make_uv_executor()),
        saver_(std::make_unique<StateSaver>(plan_.store ? &*plan_.store : nullptr,
                                            SavedPeer{.id = plan_.id,
                                                      .name = plan_.name,
                                                      .incarnation = plan_.incarnation,
                                                      .shard = plan_.shard,
                                                      .job = plan_.job.document.dump()},
                                            options.save_every)) {}

  LivePeer(const LivePeer&) = delete;
  LivePeer& operator=(const LivePeer&) = delete;

  ~LivePeer() {
    core_.reset();
    shared_transport_.reset();
    http_.reset();
    transport_.reset();
  }

  Result<int> run();

 private:
  Result<void> open_sockets();
  Result<void> make_core();
  void watch_signals();
  void share_status();
  void report();
  void show_progress();
  void end(const Result<void>& ended);

  double seconds() const { return std::chrono::duration<double>(loop_->now()).count(); }

  const PeerOptions& options_;
  PeerPlan plan_;
  std::unique_ptr<Workload> workload_;
  PeerBoard board_;  // loop thread
  std::unique_ptr<UvExecutor> loop_;
  std::unique_ptr<UvExecutor> gossip_;
  std::unique_ptr<UvExecutor> train_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<ThreadedTransport> shared_transport_;
  std::unique_ptr<PeerCore> core_;
  std::unique_ptr<StateSaver> saver_;
  std::thread gossip_thread_;
  std::thread train_thread_;
  std::thread ender_;  // waits for the two
  bool is_interrupted_ = false;
  std::atomic<bool> has_begun_{false};
  Result<void> ended_;
  Result<void> saved_;
};

Result<void> LivePeer::open_sockets() {
  TcpTransportConfig config;
  config.hello = {.peer = plan_.id,
                  .process = random_word(),
                  .job_hash = plan_.job.hash(),
                  .advertise = plan_.advertise,
                  .name = plan_.name};
  config.trusted_networks = plan_.trusted;
  // No fragment is longer than twice the target; as raw values it is a snapshot, or a joiner's
  // state.
  const std::size_t values =
      std::min(workload_->parameters().count(), 2 * plan_.job.gossip.fragment_values);
  config.max_frame_bytes =
      kFrameHeaderBytes + 65536 + values * bytes_of(workload_->parameters().type()) * 9 / 8;
  MakeLane make_lane;
  if (!options_.no_ucx) {
    make_lane = [this, max_frame_bytes = config.max_frame_bytes](BulkLane::Events events) {
      BulkLaneConfig lane;
      lane.trusted_networks = plan_.trusted;
      lane.max_frame_bytes = max_frame_bytes;
      lane.shared_memory = options_.shared_memory;
      return make_ucx_lane(*loop_, lane, std::move(events));
    };
  }
  transport_ = make_tcp_transport(*loop_, config, make_lane);
  const Result<Endpoint> listening = transport_->listen(plan_.listen);
  if (!listening.ok()) {
    return listening.error();
  }
  plan_.listen = listening.value();
  if (plan_.can_be_dialed && plan_.advertise.host.empty()) {
    plan_.advertise.host = plan_.listen.host;
  }
  if (plan_.can_be_dialed && plan_.advertise.port == 0) {
    plan_.advertise.port = plan_.listen.port;
  }
  Result<std::unique_ptr<HttpServer>> http = make_http_server(
      *loop_, plan_.http,
      [this](const HttpRequest& request) { return serve_status(board_, request); });
  if (!http.ok()) {
    return Error{ErrorCode::kInvalidArgument, http.error().message};
  }
  http_ = std::move(http).value();
  board_.set_addresses(plan_.listen, http_->endpoint());
  shared_transport_ = std::make_unique<ThreadedTransport>(*transport_, *loop_, *gossip_);
  return {};
}

Result<void> LivePeer::make_core() {
  NodeConfig node = node_config(plan_.job);
  node.noise_seed = random_word();
  node.self = plan_.id;
  node.name = plan_.name;
  node.address = plan_.advertise;
  node.site = plan_.site;
  node.bootstrap = plan_.bootstrap;
  node.known = plan_.saved ? plan_.saved->known : std::vector<Endpoint>();
  node.min_peers = plan_.min_peers;
  node.shard = plan_.shard;
  node.incarnation = plan_.incarnation;
  node.age = std::chrono::steady_clock::now() - plan_.started;
  node.join_timeout = Duration{static_cast<std::int64_t>(options_.join_timeout * 1e9)};
  core_ = std::make_unique<PeerCore>(
      PeerCore::Places{*gossip_, *train_, *shared_transport_, *workload_}, plan_.job, node,
      trainer_config(plan_.job),
      PeerCore::Events{
          .on_round =
              [this](const RoundRecord& record) {
                loop_->post([this, record] { board_.add_round(record, seconds()); });
                saver_->offer(core_->trainer());
              },
          .on_finished =
              [this](const Evaluation& evaluation) {
                loop_->post([this, evaluation] { board_.set_final(evaluation); });
              },
          .on_flow = nullptr,
          .on_begin = [this](bool /*adopts*/) { has_begun_ = true; },
          .on_end =
              [this](const Result<void>& ended) { loop_->post([this, ended] { end(ended); }); }});
  if (!plan_.saved) {
    return {};
  }
  const Result<void> resumed = core_->resume(plan_.saved->trainer);
  if (!resumed.ok()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: %s; delete it to start anew, or name another --state directory",
                      plan_.store->file().c_str(), resumed.error().message.c_str());
  }
  log_info("%s: going on at round %llu, unless the swarm is further", plan_.store->file().c_str(),
           static_cast<unsigned long long>(plan_.saved->trainer.round));
  plan_.saved.reset();
  return {};
}

void LivePeer::watch_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    loop_->on_signal(signal, [this] {
      if (std::exchange(is_interrupted_, true)) {
        _exit(kExitInterrupted);  // asked twice: no goodbye
      }
      log_info("leaving the swarm; once more to leave at once");
      gossip_->post([this] { core_->node().leave(); });
    });
  }
}

// Gossip thread: the newest status goes to the loop thread.
void LivePeer::share_status() {
  NodeStatus status = core_->node().status();
  saver_->set_members(status.members);
  const bool is_idle =
      status.state == NodeState::kWaiting || status.state == NodeState::kConnecting;
  gossip_->after(is_idle ? kIdleInterval : kReportInterval, [this] { share_status(); });
  loop_->post([this, status = std::move(status)] { board_.set_status(status); });
}

// A line for `hobnob swarm`; one that does not fit into the pipe is skipped.
void LivePeer::report() {
  board_.tick(seconds());
  const bool is_watched = options_.report_fd >= 0;
  loop_->after(is_watched ? kReportInterval : kIdleInterval / 2, [this] { report(); });
  if (is_watched) {
    const std::string line = status_document(board_).dump() + "\n";
    [[maybe_unused]] const ssize_t written = write(options_.report_fd, line.data(), line.size());
  }
}

void LivePeer::show_progress() {
  loop_->after(kProgressInterval, [this] { show_progress(); });
  const NodeStatus& status = board_.status();
  if (status.state != NodeState::kTraining) {
    return;
  }
  const std::string accuracy = board_.evaluation()
                                   ? format(", accuracy %.4f", board_.evaluation()->accuracy)
                                   : std::string();
  log_info(
      "round %llu of %llu, loss %.4f%s, %.0f samples/s, %.1f MB out, %zu members, longest stall "
      "%.0f ms",
      static_cast<unsigned long long>(status.round),
      static_cast<unsigned long long>(plan_.job.rounds), board_.loss(), accuracy.c_str(),
      board_.samples_per_second(), static_cast<double>(board_.bytes_sent()) / 1e6,
      status.view.size(), board_.longest_stall_ms());
}

// The loop goes on until the other threads are done, so that a second Ctrl-C is heard.
void LivePeer::end(const Result<void>& ended) {
  if (ender_.joinable()) {
    return;
  }
  ended_ = ended;
  core_->trainer().stop();
  // Behind what is on its way to the trainer already: a flow that was delivered counts.
  train_->post([this] { train_->stop(); });
  gossip_->stop();
  ender_ = std::thread([this] {
    gossip_thread_.join();
    train_thread_.join();
    if (has_begun_) {
      saved_ = saver_->finish(core_->trainer(), core_->node().pending_flow());
    }
    loop_->stop();
  });
}

Result<int> LivePeer::run() {
  const Result<void> opened = open_sockets();
  if (!opened.ok()) {
    return opened.error();
  }
  if (options_.report_fd >= 0) {
    fcntl(options_.report_fd, F_SETFL, O_NONBLOCK);
  }
  const Result<void> made = make_core();
  if (!made.ok()) {
    return made.error();
  }
  watch_signals();
  log_info("%s listens on %s, status at http://%s/status", plan_.name.c_str(),
           plan_.listen.text().c_str(), http_->endpoint().text().c_str());
  const std::string warned = warning(plan_.job.gossip);
  if (plan_.bootstrap.empty() && !warned.empty()) {
    log_warn("%s", warned.c_str());
  }
  if (plan_.bootstrap.empty() && plan_.min_peers > 1) {
    log_info("waiting for %u peers; join with: hobnob peer --bootstrap %s", plan_.min_peers,
             plan_.advertise.text().c_str());
  }
  gossip_->post([this] {
    core_->node().start();
    share_status();
  });
  report();
  show_progress();
  gossip_thread_ = std::thread([this] { gossip_->run(); });
  train_thread_ = std::thread([this] { train_->run(); });
  loop_->run();
  ender_.join();
  board_.set_status(core_->node().status());
  report();
  if (!ended_.ok()) {
    return ended_.error();
  }
  if (options_.json) {
    std::printf("%s\n", status_document(board_).dump(2).c_str());
  } else if (board_.is_final()) {
    log_info("done: round %llu, accuracy %.4f, test loss %.4f",
             static_cast<unsigned long long>(plan_.job.rounds), board_.evaluation()->accuracy,
             board_.evaluation()->loss);
  }
  if (!saved_.ok()) {
    return saved_.error();
  }
  return is_interrupted_ ? kExitInterrupted : kExitDone;
}

}  // namespace

int run_peer(const PeerOptions& options) {
  set_log_level(options.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  Result<PeerPlan> made = make_peer_plan(options);
  if (!made.ok()) {
    return made.error().message == "interrupted" ? static_cast<int>(kExitInterrupted)
                                                 : report(made.error());
  }
  PeerPlan plan = std::move(made).value();
  set_log_name(plan.name);
  Result<std::unique_ptr<Workload>> workload =
      make_workload(plan.job.workload, plan.job.data, plan.shard, plan.job.seed, plan.id.key());
  if (!workload.ok()) {
    return report(workload.error());
  }
  LivePeer peer(options, std::move(plan), std::move(workload).value());
  const Result<int> code = peer.run();
  return code.ok() ? code.value() : report(code.error());
}

}  // namespace hobnob
