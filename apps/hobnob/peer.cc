// hobnob peer: one peer process. Three threads: loop (sockets, HTTP, signals; the main thread),
// gossip (Node), train (Trainer). run() wires them; reading it shows the program.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include "apps/hobnob/commands.h"
#include "apps/hobnob/fetch_job.h"
#include "apps/hobnob/identity.h"
#include "apps/hobnob/job.h"
#include "apps/hobnob/peer_board.h"
#include "apps/hobnob/status_pages.h"
#include "gossip/node.h"
#include "gossip/trainer.h"
#include "runtime/base/log.h"
#include "runtime/transport/bulk_lane.h"
#include "runtime/transport/tcp_transport.h"
#include "runtime/transport/threaded_transport.h"

namespace hobnob {

namespace {

constexpr Duration kReportInterval = std::chrono::milliseconds(200);
constexpr Duration kIdleInterval = std::chrono::seconds(1);
constexpr Duration kProgressInterval = std::chrono::seconds(2);
constexpr std::uint32_t kDefaultShards = 8;

// Everything argv and the swarm have to say, checked.
struct PeerPlan {
  Job job;
  Endpoint listen;
  Endpoint advertise;
  Endpoint http;
  std::vector<Endpoint> bootstrap;
  std::vector<Cidr> trusted;
  std::uint32_t shard = 0;
  std::uint32_t min_peers = 1;
  std::string name;
  PeerId id;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

bool is_loopback(const Endpoint& endpoint) {
  return endpoint.host == "localhost" || endpoint.host == "::1" ||
         endpoint.host.rfind("127.", 0) == 0;
}

Result<void> read_addresses(const PeerOptions& options, PeerPlan& plan) {
  const Result<Endpoint> listen = parse_endpoint(options.listen, "--listen");
  const Result<Endpoint> http = parse_endpoint(options.http, "--http");
  for (const Result<Endpoint>* each : {&listen, &http}) {
    if (!each->ok()) {
      return each->error();
    }
  }
  plan.listen = listen.value();
  plan.http = http.value();
  if (!is_loopback(plan.http) && !options.http_open) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--http %s: the status pages have no password; stay on 127.0.0.1, or add --http-open",
        options.http.c_str());
  }
  const bool is_any = plan.listen.host == "0.0.0.0" || plan.listen.host == "::";
  if (!options.advertise.empty()) {
    const Result<Endpoint> advertise = parse_endpoint(options.advertise, "--advertise");
    if (!advertise.ok()) {
      return advertise.error();
    }
    plan.advertise = advertise.value();
  } else if (is_any) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--listen %s: others cannot dial that; add --advertise HOST:PORT with an address they can",
        options.listen.c_str());
  }
  if (!options.bootstrap.empty()) {
    const auto bootstrap = parse_endpoints(options.bootstrap, "--bootstrap");
    if (!bootstrap.ok()) {
      return bootstrap.error();
    }
    plan.bootstrap = bootstrap.value();
  }
  const std::vector<std::string> loopback = {"127.0.0.0/8"};
  for (const std::string& text :
       options.trusted_networks.empty() ? loopback : options.trusted_networks) {
    const Result<Cidr> network = Cidr::parse(text, "--trusted-network");
    if (!network.ok()) {
      return network.error();
    }
    plan.trusted.push_back(network.value());
  }
  return {};
}

// The job from the file, from the swarm, or from both and equal.
Result<void> find_job(const PeerOptions& options,
                      PeerPlan& plan,
                      std::vector<MemberRecord>& members) {
  if (options.job.empty() && plan.bootstrap.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "peer needs --job FILE to start a swarm, or --bootstrap HOST:PORT to join one"};
  }
  Result<Job> own = options.job.empty() ? Result<Job>(Job()) : read_job(options.job);
  if (!own.ok()) {
    return own.error();
  }
  plan.job = std::move(own).value();
  if (plan.bootstrap.empty()) {
    return {};
  }
  Result<SwarmInvitation> invitation = fetch_job(plan.bootstrap, options.join_timeout);
  if (!invitation.ok()) {
    return invitation.error();
  }
  members = invitation.value().members;
  Result<Job> theirs = parse_job(invitation.value().job, "the swarm's job");
  if (!theirs.ok()) {
    return make_error(ErrorCode::kCancelled, "%s; do both run the same hobnob?",
                      theirs.error().message.c_str());
  }
  if (!options.job.empty() && theirs.value().hash() != plan.job.hash()) {
    const std::string key = first_difference(plan.job.document, theirs.value().document);
    return make_error(ErrorCode::kCancelled,
                      "--job %s: differs from the swarm's job in %s; make them equal, or leave "
                      "--job out to take the "
                      "swarm's",
                      options.job.c_str(), key.c_str());
  }
  plan.job = std::move(theirs).value();
  return {};
}

Result<PeerPlan> make_plan(const PeerOptions& options) {
  PeerPlan plan;
  plan.id = random_peer_id();
  plan.name = options.name.empty() ? "peer-" + plan.id.short_hex().substr(0, 4)
                                   : options.name.substr(0, kMaxNameBytes);
  if (!std::ranges::all_of(plan.name, [](char c) { return c >= ' ' && c <= '~'; })) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--name: printable ASCII only, at most %zu characters", kMaxNameBytes);
  }
  if (options.device != "cpu") {
    return make_error(ErrorCode::kInvalidArgument, "--device %s: this build trains on cpu only",
                      options.device.c_str());
  }
  const Result<void> addresses = read_addresses(options, plan);
  if (!addresses.ok()) {
    return addresses.error();
  }
  std::vector<MemberRecord> members;
  const Result<void> found = find_job(options, plan, members);
  if (!found.ok()) {
    return found.error();
  }
  if (!options.data.empty()) {
    plan.job.data.path =
        options.data;  // where this machine keeps it; not part of what peers compare
  }
  PartitionConfig& partition = plan.job.data.partition;
  if (partition.kind != "iid" && partition.shards == 0) {
    partition.shards = kDefaultShards;
    log_info("data.partition.shards is not set: cutting the data into %u", kDefaultShards);
  }
  if (options.shard >= 0) {
    plan.shard = static_cast<std::uint32_t>(options.shard);
  } else {
    MemberRecord self;
    self.peer = plan.id;
    Membership swarm({}, self);
    swarm.merge(members, Time{0});
    const std::uint32_t rows = static_cast<std::uint32_t>(plan.job.workload.curvature.size());
    plan.shard = swarm.free_shard(std::max({partition.shards, rows, 1U}));
  }
  plan.min_peers = options.min_peers > 0 ? options.min_peers : plan.bootstrap.empty() ? 2 : 1;
  return plan;
}

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
        train_(make_uv_executor()) {}

  LivePeer(const LivePeer&) = delete;
  LivePeer& operator=(const LivePeer&) = delete;

  ~LivePeer() {
    node_.reset();
    shared_transport_.reset();
    http_.reset();
    transport_.reset();
  }

  Result<int> run();

 private:
  Result<void> open_sockets();
  void make_trainer();
  void make_node();
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
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Node> node_;
  std::thread gossip_thread_;
  std::thread train_thread_;
  std::thread ender_;  // waits for the two
  bool is_interrupted_ = false;
  Result<void> ended_;
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
  if (plan_.advertise.host.empty()) {
    plan_.advertise.host = plan_.listen.host;
  }
  if (plan_.advertise.port == 0) {
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

void LivePeer::make_trainer() {
  const TrainerConfig config{.order = plan_.job.gossip.order,
                             .local_steps = plan_.job.gossip.local_steps,
                             .rounds = plan_.job.rounds,
                             .evaluate_every = plan_.job.evaluate_every,
                             .optimizer = plan_.job.optimizer};
  trainer_ = std::make_unique<Trainer>(
      *train_, *workload_, config,
      Trainer::Events{.publish =
                          [this](std::uint64_t round, std::shared_ptr<Buffer> y) {
                            gossip_->post(
                                [this, round, y = std::move(y)] { node_->on_published(round, y); });
                          },
                      .on_round =
                          [this](const RoundRecord& record) {
                            loop_->post([this, record] { board_.add_round(record, seconds()); });
                          },
                      .on_finished =
                          [this](const Evaluation& evaluation) {
                            loop_->post([this, evaluation] { board_.set_final(evaluation); });
                            gossip_->post([this] { node_->on_training_finished(); });
                          },
                      .on_flow = nullptr});
}

void LivePeer::make_node() {
  NodeConfig config;
  config.self = plan_.id;
  config.name = plan_.name;
  config.address = plan_.advertise;
  config.bootstrap = plan_.bootstrap;
  config.min_peers = plan_.min_peers;
  config.shard = plan_.shard;
  config.rounds = plan_.job.rounds;
  config.seed = plan_.job.seed;
  config.gossip = plan_.job.gossip;
  config.job = plan_.job.document.dump();
  config.age = std::chrono::steady_clock::now() - plan_.started;
  config.join_timeout = Duration{static_cast<std::int64_t>(options_.join_timeout * 1e9)};
  node_ = std::make_unique<Node>(
      *gossip_, *shared_transport_, config,
      cut_fragments(workload_->tensors(), plan_.job.gossip.fragment_values),
      workload_->parameters().type(),
      Node::Events{
          .begin =
              [this](std::uint64_t round, std::shared_ptr<Buffer> parameters) {
                train_->post([this, round, parameters = std::move(parameters)] {
                  trainer_->begin(round, parameters);
                });
              },
          .deliver =
              [this](std::uint64_t round, std::uint64_t next, std::shared_ptr<Buffer> flow) {
                train_->post([this, round, next, flow = std::move(flow)] {
                  trainer_->deliver(round, next, flow);
                });
              },
          .on_end =
              [this](const Result<void>& ended) { loop_->post([this, ended] { end(ended); }); }});
}

void LivePeer::watch_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    loop_->on_signal(signal, [this] {
      if (std::exchange(is_interrupted_, true)) {
        _exit(kExitInterrupted);  // asked twice: no goodbye
      }
      log_info("leaving the swarm; once more to leave at once");
      gossip_->post([this] { node_->leave(); });
    });
  }
}

// Gossip thread: the newest status goes to the loop thread.
void LivePeer::share_status() {
  NodeStatus status = node_->status();
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
  trainer_->stop();
  train_->stop();
  gossip_->stop();
  ender_ = std::thread([this] {
    gossip_thread_.join();
    train_thread_.join();
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
  make_trainer();
  make_node();
  watch_signals();
  log_info("%s listens on %s, status at http://%s/status", plan_.name.c_str(),
           plan_.listen.text().c_str(), http_->endpoint().text().c_str());
  if (plan_.bootstrap.empty() && plan_.min_peers > 1) {
    log_info("waiting for %u peers; join with: hobnob peer --bootstrap %s", plan_.min_peers,
             plan_.advertise.text().c_str());
  }
  gossip_->post([this] {
    node_->start();
    share_status();
  });
  report();
  show_progress();
  gossip_thread_ = std::thread([this] { gossip_->run(); });
  train_thread_ = std::thread([this] { train_->run(); });
  loop_->run();
  ender_.join();
  board_.set_status(node_->status());
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
  return is_interrupted_ ? kExitInterrupted : kExitDone;
}

}  // namespace

int run_peer(const PeerOptions& options) {
  set_log_level(options.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  Result<PeerPlan> made = make_plan(options);
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
