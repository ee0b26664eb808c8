#include "apps/hobnob/sim_swarm.h"

#include <algorithm>
#include <utility>

#include "apps/hobnob/sim_peer.h"
#include "apps/hobnob/sim_recorder.h"

namespace hobnob {

namespace {

constexpr Duration kStuckAfter = std::chrono::seconds(300);
// Rounds between the states that a simulated peer keeps for a restart.
constexpr std::uint64_t kSaveEvery = 16;

class Simulation {
 public:
  Simulation(const Job& job,
             const SimConfig& config,
             LoadedData data,
             std::function<void(const SimRecord&)> on_record)
      : job_(job),
        config_(config),
        data_(std::move(data)),
        executor_(make_sim_executor()),
        network_(make_sim_network(*executor_, config.link, RngKey{config.seed, 0x6E6574})),
        recorder_({*executor_, *network_, peers_}, job, config.record_every, std::move(on_record)) {
  }

  Result<SimResult> run(const std::function<void(std::uint64_t)>& on_progress);

 private:
  Result<void> add_peer(bool is_joiner);
  Result<void> start_peer(std::size_t index, bool is_joiner);
  NodeConfig node_of(std::size_t index, bool is_joiner) const;
  TrainerConfig trainer_of(std::size_t index) const;
  std::uint32_t shard_of(std::size_t index) const;
  void restart(std::size_t index);
  void schedule(const SimEvent& event);
  void happen(const SimEvent& event);
  void stop_counting(std::size_t index);
  void on_round(std::size_t index, const RoundRecord& record);
  bool is_done() const;
  std::uint64_t slowest() const;

  const Job& job_;
  const SimConfig& config_;
  LoadedData data_;
  std::unique_ptr<SimExecutor> executor_;
  std::unique_ptr<SimNetwork> network_;
  std::vector<std::unique_ptr<SimPeer>> peers_;
  // Of processes that were restarted: events of their hosts may still name them.
  std::vector<std::unique_ptr<Workload>> retired_workloads_;
  std::vector<std::unique_ptr<PeerCore>> retired_;
  std::vector<std::string> errors_;
  SimRecorder recorder_;
};

Endpoint address_of(std::size_t index) {
  return {"peer" + std::to_string(index), 1};
}

Result<void> Simulation::add_peer(bool is_joiner) {
  peers_.push_back(std::make_unique<SimPeer>());
  return start_peer(peers_.size() - 1, is_joiner);
}

std::uint32_t Simulation::shard_of(std::size_t index) const {
  const auto rows = std::max<std::size_t>(job_.workload.curvature.size(), 1);
  const auto shards = std::max<std::size_t>(data_.partition.shards, 1);
  return static_cast<std::uint32_t>(index % (job_.workload.kind == "quadratic" ? rows : shards));
}

TrainerConfig Simulation::trainer_of(std::size_t index) const {
  const double speed = config_.speeds.empty() ? 1.0 : config_.speeds[index % config_.speeds.size()];
  TrainerConfig trainer = trainer_config(job_);
  trainer.evaluate_every = 0;
  trainer.step_time =
      Duration{static_cast<std::int64_t>(static_cast<double>(config_.step_time.count()) / speed)};
  return trainer;
}

NodeConfig Simulation::node_of(std::size_t index, bool is_joiner) const {
  const SimPeer& peer = *peers_[index];
  NodeConfig node = node_config(job_);
  node.self = peer.id;
  node.name = "peer" + std::to_string(index);
  node.address = address_of(index);
  node.min_peers = static_cast<std::uint32_t>(
      peer.lives == 1 ? static_cast<std::ptrdiff_t>(config_.peers)
                      : std::ranges::count_if(peers_, [](const auto& each) {
                          return each->is_away ||
                                 (each->is_live && !each->is_finished);  // who may still come
                        }));
  node.shard = shard_of(index);
  node.site = config_.sites.empty() ? "" : config_.sites[index % config_.sites.size()];
  node.incarnation = static_cast<std::uint32_t>(peer.lives - 1);
  for (std::size_t other = 0; other < peers_.size(); ++other) {
    const bool is_known = is_joiner ? peers_[other]->is_live || peer.lives > 1 : other == 0;
    if (other != index && is_known) {
      node.bootstrap.push_back(address_of(other));
    }
  }
  return node;
}

Result<void> Simulation::start_peer(std::size_t index, bool is_joiner) {
  SimPeer& peer = *peers_[index];
  peer.id = PeerId{0, index + 1};
  auto workload = make_workload(job_.workload, data_, shard_of(index), job_.seed, peer.id.key());
  if (!workload.ok()) {
    return workload.error();
  }
  peer.workload = std::move(workload).value();
  peer.host = &network_->add_host({.peer = peer.id,
                                   .process = (++peer.lives << 32U) + index,
                                   .job_hash = job_.hash(),
                                   .advertise = address_of(index),
                                   .name = "peer" + std::to_string(index)});
  Executor& executor = peer.host->executor();
  peer.core = std::make_unique<PeerCore>(
      PeerCore::Places{executor, executor, peer.host->transport(), *peer.workload}, job_,
      node_of(index, is_joiner), trainer_of(index),
      PeerCore::Events{
          .on_round = [this, index](const RoundRecord& record) { on_round(index, record); },
          .on_finished =
              [this, &peer](const Evaluation& /*evaluation*/) {
                peer.is_finished = true;
                peer.round = job_.rounds;
                recorder_.emit_complete();
              },
          .on_flow = [this](std::uint64_t round,
                            ConstVec flow) { recorder_.add_flow(round, flow); },
          .on_begin =
              [this, &peer](bool adopts) {
                // One that starts over gives up its part of the mean.
                if (peer.has_begun && adopts) {
                  recorder_.lose_mean();
                }
                peer.has_begun = true;
              },
          .on_end =
              [this, index](const Result<void>& ended) {
                if (!ended.ok()) {
                  errors_.push_back(format("peer %zu: %s", index, ended.error().message.c_str()));
                }
                peers_[index]->core->trainer().stop();
                peers_[index]->is_live = false;
                recorder_.emit_complete();
              }});
  if (peer.saved) {
    const Result<void> resumed = peer.core->resume(*peer.saved);
    if (!resumed.ok()) {
      return resumed;
    }
  }
  (void)peer.host->transport().listen(address_of(index));
  executor.post([&peer] { peer.core->node().start(); });
  return {};
}

void Simulation::schedule(const SimEvent& event) {
  executor_->after(event.at, [this, event] { happen(event); });
}

void Simulation::happen(const SimEvent& event) {
  if (event.kind == SimEvent::Kind::kJoin) {
    const Result<void> added = add_peer(true);
    if (!added.ok()) {
      errors_.push_back(added.error().message);
    }
    return;
  }
  SimPeer& peer = *peers_[event.peer];
  if (peer.is_away) {
    return;  // nothing is there that it could happen to
  }
  switch (event.kind) {
    case SimEvent::Kind::kKill:
      network_->kill(peer.id);
      stop_counting(event.peer);
      break;
    case SimEvent::Kind::kRestart:
      network_->kill(peer.id);
      peer.is_away = true;
      stop_counting(event.peer);
      recorder_.forget_rounds();
      executor_->after(event.length, [this, index = event.peer] { restart(index); });
      break;
    case SimEvent::Kind::kLeave:
      peer.core->trainer().stop();
      peer.core->node().leave();
      stop_counting(event.peer);
      break;
    case SimEvent::Kind::kFreeze:
      network_->freeze(peer.id);
      executor_->after(event.length, [this, id = peer.id] { network_->thaw(id); });
      break;
    case SimEvent::Kind::kPartition: {
      const PeerId other = peers_[event.other]->id;
      network_->set_partitioned(peer.id, other, true);
      executor_->after(event.length, [this, id = peer.id, other] {
        network_->set_partitioned(id, other, false);
      });
      break;
    }
    case SimEvent::Kind::kJoin:
      break;
  }
}

// What live peers do with --state: the same id, a new process, the state of the last save.
void Simulation::restart(std::size_t index) {
  SimPeer& peer = *peers_[index];
  retired_.push_back(std::move(peer.core));
  retired_workloads_.push_back(std::move(peer.workload));
  peer.is_away = false;
  peer.is_live = true;
  peer.is_finished = false;
  peer.has_begun = false;
  const Result<void> started = start_peer(index, true);
  if (!started.ok()) {
    errors_.push_back(started.error().message);
  }
}

void Simulation::stop_counting(std::size_t index) {
  peers_[index]->is_live = false;
  recorder_.lose_mean();
  recorder_.emit_complete();
}

void Simulation::on_round(std::size_t index, const RoundRecord& record) {
  SimPeer& peer = *peers_[index];
  peer.round = record.round;
  if (record.round % kSaveEvery == 0) {
    peer.saved = peer.core->trainer().state();
  }
  recorder_.add_round(index, record.round);
  recorder_.emit_complete();
}

bool Simulation::is_done() const {
  return std::ranges::all_of(peers_, [](const auto& peer) {
    return !peer->is_away && (!peer->is_live || peer->is_finished);
  });
}

std::uint64_t Simulation::slowest() const {
  std::uint64_t least = job_.rounds;
  for (const auto& peer : peers_) {
    if (peer->is_live) {
      least = std::min(least, peer->round);
    }
  }
  return least;
}

Result<SimResult> Simulation::run(const std::function<void(std::uint64_t)>& on_progress) {
  for (std::size_t index = 0; index < config_.peers; ++index) {
    const Result<void> added = add_peer(false);
    if (!added.ok()) {
      return added.error();
    }
  }
  recorder_.set_optimum(peers_[0]->workload->optimum());
  for (const SimEvent& event : config_.events) {
    const std::size_t highest = std::max(event.peer, event.other);
    if (highest >= config_.peers) {
      return make_error(ErrorCode::kInvalidArgument,
                        "event names peer %zu; there are %zu, numbered from 0", highest,
                        config_.peers);
    }
    schedule(event);
  }
  std::uint64_t seen = 0;
  Time progressed_at{0};
  while (!is_done() && executor_->step()) {
    const std::uint64_t now_at = slowest();
    if (now_at != seen) {
      seen = now_at;
      progressed_at = executor_->now();
      if (on_progress && seen % 64 == 0) {
        on_progress(seen);
      }
    }
    if (executor_->now() - progressed_at > kStuckAfter || executor_->now() > config_.time_limit) {
      return make_error(
          ErrorCode::kTimeout,
          "no peer finished a round for %.0f virtual seconds; the slowest is at round %llu of %llu",
          std::chrono::duration<double>(executor_->now() - progressed_at).count(),
          static_cast<unsigned long long>(seen), static_cast<unsigned long long>(job_.rounds));
    }
  }
  recorder_.stop_clock();
  // Let the last replies and goodbyes arrive: only then do all flows cancel.
  executor_->run_until(executor_->now() + std::chrono::seconds(30));
  return recorder_.summary(errors_);
}

}  // namespace

Result<SimResult> run_simulation(const Job& job,
                                 const SimConfig& config,
                                 const std::function<void(const SimRecord&)>& on_record,
                                 const std::function<void(std::uint64_t)>& on_progress) {
  if (job.workload.kind == "quadratic" && job.workload.curvature.size() != config.peers) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--peers %zu: workload.curvature has %zu rows, one per peer", config.peers,
                      job.workload.curvature.size());
  }
  DataConfig data = job.data;
  if (data.partition.kind != "iid" && data.partition.shards == 0) {
    data.partition.shards = static_cast<std::uint32_t>(config.peers);
  }
  Result<LoadedData> loaded = load_data(data, job.seed);
  if (!loaded.ok()) {
    return loaded.error();
  }
  Simulation simulation(job, config, std::move(loaded).value(), on_record);
  return simulation.run(on_progress);
}

Json to_json(const SimRecord& record) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json json;
  json.set("round", record.round).set("err", number(record.err)).set("cons", record.cons);
  json.set("merr", number(record.merr)).set("loss", record.loss).set("accuracy", record.accuracy);
  json.set("virtual_seconds", record.virtual_seconds).set("bytes_per_peer", record.bytes_per_peer);
  json.set("messages", record.messages).set("sent_fraction", record.sent_fraction);
  json.set("invariant_mean", record.invariant_mean).set("invariant_correction", Json());
  json.set("live_peers", static_cast<std::int64_t>(record.live_peers));
  return json;
}

}  // namespace hobnob
