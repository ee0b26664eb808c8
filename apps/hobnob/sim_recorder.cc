#include "apps/hobnob/sim_recorder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hobnob {

namespace {

constexpr std::uint64_t kRatePoints = 200;  // where nobody asked for records

}  // namespace

SimRecorder::SimRecorder(const World& world,
                         const Job& job,
                         std::uint64_t record_every,
                         std::function<void(const SimRecord&)> on_record)
    : world_(world),
      job_(job),
      record_every_(record_every > 0 || job.workload.kind != "quadratic"
                        ? record_every
                        : std::max<std::uint64_t>(job.rounds / kRatePoints, 1)),
      on_record_(record_every > 0 ? std::move(on_record) : nullptr),
      next_record_(record_every_ > 0 ? record_every_ - 1 : 0) {}

void SimRecorder::add_round(std::size_t index, std::uint64_t round) {
  while (record_every_ > 0 && round >= next_record_) {
    open_.push_back({next_record_, {}});
    next_record_ += record_every_;
  }
  for (Snapshot& snapshot : open_) {
    if (snapshot.round <= round && !snapshot.values.contains(index)) {
      snapshot.values[index] = to_doubles(world_.peers[index]->workload->parameters());
    }
  }
}

void SimRecorder::add_flow(std::uint64_t round, ConstVec flow) {
  flows_.add(round, to_doubles(flow), world_.peers.size());
}

void SimRecorder::emit_complete() {
  while (!open_.empty()) {
    const Snapshot& snapshot = open_.front();
    for (std::size_t index = 0; index < world_.peers.size(); ++index) {
      const SimPeer& peer = *world_.peers[index];
      const bool counts = peer.is_live && !peer.is_finished && peer.has_begun;
      if (counts && !snapshot.values.contains(index)) {
        return;
      }
    }
    if (!snapshot.values.empty() && !optimum_.empty()) {
      rate_.add(snapshot.round, spread_of(snapshot.values, optimum_).err.value_or(0.0));
    }
    if (!snapshot.values.empty() && on_record_) {
      on_record_(measure(snapshot));
    }
    open_.pop_front();
  }
}

void SimRecorder::stop_clock() {
  ended_at_ = world_.executor.now();
  ended_frames_ = world_.network.frames();
  ended_bytes_ = world_.network.bytes();
}

SimResult SimRecorder::summary(std::vector<std::string> errors) {
  SimResult result;
  Snapshot end{job_.rounds, {}};
  double loss = 0.0;
  double accuracy = 0.0;
  for (std::size_t index = 0; index < world_.peers.size(); ++index) {
    SimPeer& peer = *world_.peers[index];
    const NodeStatus status = peer.core->node().status();
    result.longest_stall.push_back(std::chrono::duration<double>(status.longest_stall).count());
    result.late_edges += status.late_edges;
    if (status.join_time.count() > 0) {
      result.join_seconds.push_back(std::chrono::duration<double>(status.join_time).count());
    }
    if (!peer.is_finished) {
      continue;
    }
    end.values[index] = to_doubles(peer.workload->parameters());
    const Evaluation evaluation = peer.workload->evaluate();
    loss += evaluation.loss;
    accuracy += evaluation.accuracy;
    flows_.add_undelivered(to_doubles(peer.core->node().pending_flow()));
  }
  result.errors = std::move(errors);
  result.events = world_.executor.events();
  if (end.values.empty()) {
    result.errors.emplace_back("no peer finished");
    return result;
  }
  result.last = measure(end);
  result.rate = rate_.value();
  result.last.virtual_seconds = std::chrono::duration<double>(ended_at_).count();
  result.last.messages = ended_frames_;
  result.last.bytes_per_peer =
      static_cast<double>(ended_bytes_) / static_cast<double>(world_.peers.size());
  result.last.loss = loss / static_cast<double>(end.values.size());
  result.last.accuracy = accuracy / static_cast<double>(end.values.size());
  if (!has_lost_mean_) {
    const double worst = flows_.sum(world_.peers.size());
    result.flow_sum = worst;
    if (job_.gossip.mode != ClockMode::kSync) {
      result.last.invariant_mean = worst;
    }
  }
  return result;
}

SimRecord SimRecorder::measure(const Snapshot& snapshot) const {
  SimRecord record;
  record.round = snapshot.round;
  record.virtual_seconds = std::chrono::duration<double>(world_.executor.now()).count();
  record.live_peers = snapshot.values.size();
  const Spread spread = spread_of(snapshot.values, optimum_);
  record.cons = spread.cons;
  record.err = spread.err;
  record.merr = spread.merr;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.accuracy = record.loss;
  record.bytes_per_peer =
      static_cast<double>(world_.network.bytes()) / static_cast<double>(world_.peers.size());
  record.messages = world_.network.frames();
  const bool has_rounds = job_.gossip.mode == ClockMode::kSync && !has_repeated_rounds_;
  record.invariant_mean = has_rounds ? flows_.worst_round() : record.loss;
  std::uint64_t offered = 0;
  std::uint64_t fired = 0;
  for (const auto& peer : world_.peers) {
    const NodeStatus status = peer->core->node().status();
    offered += status.exchange.offered;
    fired += status.exchange.fired;
  }
  record.sent_fraction =
      offered == 0 ? 0.0 : static_cast<double>(fired) / static_cast<double>(offered);
  return record;
}

}  // namespace hobnob
