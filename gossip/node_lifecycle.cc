// Node's coming and going: joining, the member list, leaving. The round itself is in node.cc.

#include <algorithm>
#include <utility>

#include "gossip/node.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace hobnob {

namespace {

constexpr Duration kTick = std::chrono::milliseconds(250);
// While the others are no further than this, a peer of the first hour still begins with its own
// parameters, which are theirs.
constexpr std::uint64_t kFirstRounds = 32;
// Time for the last transactions and the goodbye to reach the others.
constexpr Duration kLeaveGrace = std::chrono::seconds(5);
constexpr Duration kLeavePoll = std::chrono::milliseconds(20);
// So long a peer that was here before looks for the others before it begins alone.
constexpr Duration kLookAround = std::chrono::seconds(3);
constexpr Duration kDonorGrace = std::chrono::seconds(3);
constexpr Duration kForgetAfter = std::chrono::seconds(30);
constexpr Duration kGoodbyeGrace = std::chrono::milliseconds(50);

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void Node::resume(std::uint64_t round, std::shared_ptr<Buffer> parameters) {
  HOBNOB_CHECK(round > 0, "nothing to resume");
  published_ = std::move(parameters);
  round_ = round - 1;
  membership_.self().round = round_;
}

void Node::start() {
  started_at_ = executor_.now();
  transport_.start(
      {.on_link_up = [this](const Hello& hello) { on_link_up(hello); },
       .on_link_down = [this](const PeerId& peer,
                              const std::string& why) { on_link_down(peer, why); },
       .on_frame = [this](const PeerId& peer, const Bytes& bytes) { on_frame(peer, bytes); },
       .on_dial_failed =
           [this](const Endpoint& endpoint, const Error& error, RefuseCode code) {
             roster_.on_dial_failed(endpoint, error);
             const bool is_bootstrap =
                 std::ranges::find(config_.bootstrap, endpoint) != config_.bootstrap.end();
             // Later it is only a stranger where a member used to be.
             if (code == RefuseCode::kJobDiffers && is_bootstrap &&
                 state_ == NodeState::kConnecting) {
               fail(Error{ErrorCode::kCancelled, error.message});
             }
           }});
  if (config_.bootstrap.empty()) {
    membership_.self().state = MemberState::kAlive;
    state_ = NodeState::kWaiting;
    roster_.set_bootstrap(config_.known);
  }
  tick();
}

void Node::on_link_up(const Hello& hello) {
  if (hello.job_hash == 0) {
    return;  // a guest: only asks for the job
  }
  log_debug("link to %s (%s) up", hello.name.c_str(), hello.peer.short_hex().c_str());
  roster_.on_link_up(hello.peer);
  greet_process(hello);
  on_membership(membership_.heard(hello.peer, executor_.now()));
  send_members({hello.peer});
  exchange_->on_link_up(hello.peer);
}

// A peer that restarted under its id knows nothing of its old process's transactions.
void Node::greet_process(const Hello& hello) {
  if (processes_.size() >= kMaxMembers && !processes_.contains(hello.peer)) {
    processes_.erase(processes_.begin());
  }
  const auto [known, is_new] = processes_.try_emplace(hello.peer, hello.process);
  if (!is_new && std::exchange(known->second, hello.process) != hello.process) {
    membership_.restarted(hello.peer);
    exchange_->reset(hello.peer);
  }
}

void Node::on_link_down(const PeerId& peer, const std::string& reason) {
  roster_.on_link_down(peer);
  answered_guests_.erase(peer);
  if (membership_.find(peer) == nullptr) {
    return;
  }
  on_membership(membership_.link_lost(peer, reason, executor_.now()));
  barrier_.excuse(peer);
  if (download_) {
    download_->on_donor_lost(peer);
  }
  check_round();
}

void Node::on_membership(const std::vector<MembershipChange>& changes) {
  bool is_news = false;
  for (const MembershipChange& change : changes) {
    const Member* member = membership_.find(change.peer);
    log_info("peer %s (%s) %s%s%s", member->record.name.c_str(), change.peer.short_hex().c_str(),
             name_of(change.after), member->suspicion.empty() ? "" : ": ",
             member->suspicion.c_str());
    const bool is_guess =
        change.after == MemberState::kSuspect || change.before == MemberState::kSuspect;
    is_news = is_news || !is_guess || change.after == MemberState::kDead;
    if (change.after != MemberState::kAlive) {
      barrier_.excuse(change.peer);
    }
    exchange_->set_dead(change.peer, change.after == MemberState::kDead);
  }
  if (is_news && !is_ending_) {
    roster_.dial_missing();
    spread_members();
  }
  if (!changes.empty()) {
    check_round();
  }
}

void Node::tick() {
  tick_ = executor_.after(kTick, [this] { tick(); });
  on_membership(membership_.tick(executor_.now()));
  forget_the_gone();
  roster_.dial_missing();
  spread_members();
  advance();
}

// A goodbye may overtake the last reply, which still counts.
void Node::forget_the_gone() {
  for (const auto& [peer, member] : membership_.members()) {
    if (member.record.state == MemberState::kLeft &&
        executor_.now() - member.last_heard > kForgetAfter) {
      exchange_->forget(peer);
    }
  }
}

void Node::spread_members() {
  send_members(roster_.gossip_targets());
}

void Node::send_members(const std::vector<PeerId>& targets) {
  const std::vector<MemberRecord> all = membership_.records();
  for (std::size_t begin = 0; begin < all.size(); begin += kMaxMembersPerFrame) {
    const std::size_t end = std::min(begin + kMaxMembersPerFrame, all.size());
    const Bytes list = encode_members({all.begin() + static_cast<std::ptrdiff_t>(begin),
                                       all.begin() + static_cast<std::ptrdiff_t>(end)});
    for (const PeerId& peer : targets) {
      send(peer, {.kind = FrameKind::kMembers}, list);
    }
  }
}

// The furthest round among the members that could give this peer their parameters: what they said
// themselves, not what others said of them.
std::uint64_t Node::furthest_round() const {
  std::uint64_t furthest = 0;
  for (const auto& [peer, member] : membership_.members()) {
    if (peer != config_.self && is_reachable(peer)) {
      furthest = std::max(furthest, member.heard_round);
    }
  }
  return furthest;
}

// Moves on from waiting states when what they wait for is there.
void Node::advance() {
  const Duration age = executor_.now() - started_at_;
  const std::uint64_t furthest = furthest_round();
  if (state_ == NodeState::kConnecting) {
    const bool has_met = membership_.members().size() > 1 && !roster_.linked().empty();
    if (has_met && (published_ ? is_outrun_by(furthest) : furthest > 0)) {
      start_download();
    } else if (has_met) {
      membership_.self().state = MemberState::kAlive;
      state_ = NodeState::kWaiting;
    } else if (age > config_.join_timeout) {
      fail(make_error(
          ErrorCode::kUnavailable,
          "no member reached in %.0f s: %s; check --bootstrap and that a peer listens there",
          seconds(config_.join_timeout),
          roster_.last_error().empty() ? "no answer" : roster_.last_error().c_str()));
    }
  }
  if (state_ == NodeState::kWaiting && is_outrun_by(furthest)) {
    start_download();  // the others began while this peer was still counting them
  } else if (state_ == NodeState::kWaiting && has_quorum()) {
    const std::uint64_t round = published_ ? round_ + 1 : 0;
    log_info("training starts at round %llu with %zu peers", static_cast<unsigned long long>(round),
             membership_.active());
    begin_training(round, nullptr);
  }
  if (state_ == NodeState::kJoining) {
    wait_for_donor(furthest);
  }
  if (state_ == NodeState::kFinished) {
    // A joiner counts: this peer may be the last that has the parameters.
    const bool all_done = std::ranges::all_of(membership_.members(), [this](const auto& each) {
      return is_gone(each.second.record.state) || each.second.record.round >= config_.rounds;
    });
    if (all_done || executor_.now() - finished_at_ > config_.linger) {
      leave();
    }
  }
}

// Whether a member at `furthest` has parameters that are worth more than this peer's own.
bool Node::is_outrun_by(std::uint64_t furthest) const {
  return furthest > (published_ ? round_ + config_.gossip.rejoin_lag : kFirstRounds);
}

void Node::begin_training(std::uint64_t round, std::shared_ptr<Buffer> parameters) {
  state_ = NodeState::kTraining;
  has_begun_ = true;
  events_.begin(round, std::move(parameters));
}

// Enough members, or a swarm that trains already and may have fewer; and linked to all of them: a
// first round with half of the links would set the peers apart.
bool Node::has_quorum() const {
  if (!config_.known.empty() && roster_.linked().empty() &&
      executor_.now() - started_at_ < kLookAround) {
    return false;
  }
  const MembershipView view = membership_.view();
  const std::size_t active = view.size();
  const std::uint32_t self = view.rank(config_.self).value_or(0);
  std::size_t met = 0;  // who can be linked to at all, self included
  for (std::uint32_t rank = 0; rank < active; ++rank) {
    met += rank == self || view.can_meet(self, rank) ? 1U : 0U;
  }
  const std::size_t links = std::min(met, Roster::kFullMeshPeers) - 1;
  const bool is_moving = std::ranges::any_of(membership_.members(), [](const auto& each) {
    return each.second.heard_round > each.second.first_round;
  });
  return (active >= config_.min_peers || is_moving) && roster_.linked().size() >= links;
}

// A download whose donors are all gone: one that has parameters goes on with them, one that has
// none gives up in the end.
void Node::wait_for_donor(std::uint64_t furthest) {
  if (furthest > 0) {
    donor_seen_at_ = executor_.now();
    return;
  }
  const Duration alone = executor_.now() - donor_seen_at_;
  if (published_ && alone > kDonorGrace) {
    log_info("no peer left to take parameters from: going on with the old ones");
    download_.reset();
    membership_.self().state = MemberState::kAlive;
    spread_members();
    if (has_begun_) {
      state_ = NodeState::kTraining;
      deliver_flow();
    } else {
      begin_training(round_ + 1, nullptr);
    }
  } else if (!published_ && alone > config_.join_timeout) {
    fail(Error{ErrorCode::kTimeout,
               "the peers that had the parameters are gone; start the swarm anew"});
  }
}

void Node::start_download() {
  state_ = NodeState::kJoining;
  donor_seen_at_ = executor_.now();
  download_began_ = executor_.now();
  MemberRecord& self = membership_.self();
  if (self.state != MemberState::kJoining) {
    // Out of the others' plans until it has caught up: they would wait for it in vain.
    ++self.incarnation;
    self.state = MemberState::kJoining;
    spread_members();
  }
  download_ = std::make_unique<StateDownload>(
      executor_, fragments_,
      config_.ops->allocate(type_, fragments_.back().offset + fragments_.back().count),
      StateDownload::Events{
          .request =
              [this](const PeerId& donor, std::uint32_t fragment) {
                return send(donor, {.kind = FrameKind::kStateRequest, .fragment = fragment}, {});
              },
          .pick_donor =
              [this](const std::set<PeerId>& tried) {
                std::optional<PeerId> best;
                for (const auto& [peer, member] : membership_.members()) {
                  const bool is_further =
                      !best || member.heard_round > membership_.find(*best)->heard_round;
                  if (peer != config_.self && is_reachable(peer) && !tried.contains(peer) &&
                      member.heard_round > 0 && is_further) {
                    best = peer;
                  }
                }
                return best;
              },
          .on_done = [this](std::uint64_t round, const std::shared_ptr<Buffer>& parameters,
                            const PeerId& donor) { on_downloaded(round, parameters, donor); }});
  download_->start();
}

void Node::on_downloaded(std::uint64_t round,
                         const std::shared_ptr<Buffer>& parameters,
                         const PeerId& donor) {
  const Duration took =
      has_begun_ ? executor_.now() - download_began_ : executor_.now() - started_at_ + config_.age;
  if (!has_begun_) {
    counters_.join_time = took;
  }
  const std::uint64_t donor_round = std::min(round, config_.rounds);
  log_info("%s at round %llu after %.2f s, with %zu fragments from %s",
           has_begun_ ? "back" : "joined", static_cast<unsigned long long>(donor_round),
           seconds(took), download_->total(), donor.short_hex().c_str());
  membership_.self().state = MemberState::kAlive;
  membership_.self().round = donor_round;
  // The flow gathered meanwhile belonged to the parameters given up.
  if (published_) {
    spare_ =
        mixer_->take(std::make_shared<Buffer>(config_.ops->allocate(type_, published_->count())));
  }
  begin_training(donor_round + 1, parameters);
  spread_members();
  executor_.post([this] { download_.reset(); });
}

void Node::on_training_finished() {
  state_ = NodeState::kFinished;
  finished_at_ = executor_.now();
  round_ = config_.rounds;
  membership_.self().round = config_.rounds;
  spread_members();
  advance();
}

// New requests are refused from here on; what is in flight gets its reply, so that no flow is
// applied at one end only.
void Node::leave() {
  if (is_ending_) {
    return;
  }
  is_ending_ = true;
  state_ = NodeState::kLeaving;
  membership_.self().state = MemberState::kLeft;
  download_.reset();
  exchange_->stop();
  executor_.cancel(deadline_);
  executor_.cancel(probe_);
  executor_.cancel(tick_);
  finished_at_ = executor_.now();
  wait_for_answers();
}

void Node::wait_for_answers() {
  if (exchange_->in_flight() == 0 || executor_.now() - finished_at_ > kLeaveGrace) {
    say_goodbye();
  } else {
    executor_.after(kLeavePoll, [this] { wait_for_answers(); });
  }
}

void Node::say_goodbye() {
  for (const PeerId& peer : roster_.linked()) {
    const std::uint8_t settled = exchange_->in_flight(peer) == 0 ? kFlagSettled : std::uint8_t{0};
    send(peer, {.kind = FrameKind::kLeave, .flags = settled}, {});
  }
  executor_.after(kGoodbyeGrace, [this] {
    state_ = NodeState::kLeft;
    events_.on_end({});
  });
}

void Node::fail(Error error) {
  if (is_ending_) {
    return;
  }
  is_ending_ = true;
  state_ = NodeState::kFailed;
  counters_.error = error.message;
  download_.reset();
  executor_.cancel(tick_);
  executor_.post([this, error = std::move(error)] { events_.on_end(error); });
}

}  // namespace hobnob
