// Node's round, from the published value to the flow: start at on_published(). Coming and going is
// in node_lifecycle.cc, the edge transaction in edge_exchange.cc. Gossip thread.

#include "gossip/node.h"

#include <algorithm>
#include <utility>

#include "gossip/optimizer.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/log.h"

namespace hobnob {

namespace {

bool is_bulk(FrameKind kind) {
  return kind == FrameKind::kEdgeRequest || kind == FrameKind::kEdgeReply ||
         kind == FrameKind::kState;
}

}  // namespace

Node::Node(Executor& executor,
           Transport& transport,
           const NodeConfig& config,
           std::vector<Fragment> fragments,
           DType type,
           Events events)
    : executor_(executor),
      transport_(transport),
      config_(config),
      fragments_(std::move(fragments)),
      type_(type),
      events_(std::move(events)),
      schedule_(make_schedule(config.gossip.topology)),
      trigger_(
          make_trigger(config.gossip.trigger,
                       [optimizer = config.optimizer, rounds = config.rounds](std::uint64_t round) {
                         return learning_rate_scale(optimizer, round, rounds);
                       })),
      channel_(make_channel(config.gossip.channel,
                            config.gossip.codec,
                            type,
                            // Another life under the same id draws other noise.
                            hash3(config.noise_seed, config.self.key(), config.incarnation),
                            *config.ops)),
      mixer_(make_difference_mixer({.gamma = config.gossip.gamma, .clip = config.gossip.clip},
                                   type,
                                   fragments_.back().offset + fragments_.back().count,
                                   *config.ops)),
      barrier_(config.gossip.mode, config.gossip.real_deadline()),
      membership_(config.membership,
                  MemberRecord{.peer = config.self,
                               .incarnation = config.incarnation,
                               .state = MemberState::kJoining,
                               .shard = config.shard,
                               .round = 0,
                               .address = config.address,
                               .name = config.name,
                               .site = config.site}),
      roster_(executor, transport, membership_, RngKey{config.seed, config.self.key()}) {
  const EdgeExchangeConfig edge_config{.self = config.self,
                                       .reliable_transport = transport.is_reliable(),
                                       .waits_for_round = config.gossip.mode != ClockMode::kAsync,
                                       .gamma = config.gossip.gamma,
                                       .max_edges = config.gossip.max_edges,
                                       .stale_rounds = config.gossip.rejoin_lag,
                                       .ops = config.ops};
  exchange_ = std::make_unique<EdgeExchange>(
      executor, edge_config, fragments_, *channel_, *mixer_, *trigger_,
      EdgeExchange::Events{
          .send = [this](const PeerId& peer, FrameHeader header,
                         const Bytes& payload) { return send(peer, header, payload); },
          .on_settled = [this](const PeerId& peer, std::uint32_t fragment,
                               bool mixed) { on_settled(peer, fragment, mixed); },
          .on_round_seen = [this](const PeerId& peer,
                                  std::uint64_t round) { on_round_seen(peer, round); },
          .on_fell_behind = [this](const PeerId& /*peer*/,
                                   std::uint64_t round) { fall_behind(round); }});
  roster_.set_bootstrap(config.bootstrap);
}

Node::~Node() {
  for (const TimerId timer : {deadline_, probe_, tick_}) {
    executor_.cancel(timer);
  }
}

// ---- The round: y comes in, the plan says with whom, edges run, the flow goes out. ----

void Node::on_published(std::uint64_t round, std::shared_ptr<Buffer> y) {
  if (is_ending_) {
    return;
  }
  spare_ = std::exchange(published_, std::move(y));
  // What came since the last delivery belongs to the value that is shown: neighbours that answered
  // a value without it would correct the same difference twice, and the swarm would swing ever
  // wider.
  config_.ops->axpy(1.0, mixer_->pending(), published_->view());
  open_round(round);
  is_opening_ = true;
  for (const auto& [peer, weight] : plan_) {
    const std::uint64_t their_round = membership_.find(peer)->heard_round;
    if (barrier_.waits_for(peer) && their_round > round) {
      barrier_.excuse(peer);  // it has gone on without this round
      fall_behind(their_round);
    }
    // The lower id asks; in async mode both do, and the lower id's question stands.
    if (is_reachable(peer) && (config_.self < peer || config_.gossip.mode == ClockMode::kAsync)) {
      begin_edges(peer);
    }
  }
  exchange_->answer_held();
  is_opening_ = false;
  if (!barrier_.is_met()) {
    const Duration wait = barrier_.deadline();
    deadline_ = executor_.after(wait, [this] { on_deadline(); });
    probe_ = executor_.after(wait / 3, [this] { probe_missing(); });
  }
  check_round();
}

void Node::open_round(std::uint64_t round) {
  round_ = round;
  catch_up_ = 0;
  epoch_ = epoch_of(round);
  membership_.self().round = round;
  begun_.clear();
  plan_round();
  is_round_open_ = true;
  opened_at_ = executor_.now();
  barrier_.open(opened_at_);
  std::uint32_t turns = 0;
  for (std::uint32_t fragment = 0; fragment < fragments_.size(); ++fragment) {
    turns += trigger_->has_turn(fragment, round) ? 1U : 0U;
  }
  for (const auto& [peer, weight] : plan_) {
    if (is_reachable(peer) && turns > 0) {
      barrier_.expect(peer, turns);
    }
  }
  exchange_->publish(round, std::as_const(*published_).view(), plan_);
}

// A static graph is planned anew only when the members change.
void Node::plan_round() {
  const MembershipView view = membership_.view();
  const std::uint64_t digest = view.digest();
  const bool is_known = schedule_->traits().is_static && !plan_.empty() && digest == view_digest_;
  view_digest_ = digest;
  if (is_known) {
    return;
  }
  plan_.clear();
  const auto rank = view.rank(config_.self);
  HOBNOB_CHECK(rank.has_value(), "training outside the view");
  for (const Exchange& each : schedule_->plan(view, *rank, epoch_, round_).partners) {
    plan_[view.at(each.peer)] = each.symmetric();
  }
}

void Node::begin_edges(const PeerId& peer) {
  begun_.insert(peer);
  for (std::uint32_t fragment = 0; fragment < fragments_.size(); ++fragment) {
    if (trigger_->has_turn(fragment, round_) && !exchange_->begin(peer, fragment)) {
      barrier_.skip(peer);
    }
  }
}

void Node::on_settled(const PeerId& peer, std::uint32_t /*fragment*/, bool /*mixed*/) {
  barrier_.settle(peer, executor_.now());
  check_round();
}

void Node::check_round() {
  if (is_round_open_ && !is_opening_ && barrier_.is_met()) {
    finish_round();
  }
}

void Node::on_deadline() {
  counters_.late_edges += barrier_.missing().size();
  ++counters_.rounds_late;
  barrier_.give_up(executor_.now());
  check_round();
}

// An edge whose request does not come: ask the initiator whether it ever will.
void Node::probe_missing() {
  for (const PeerId& peer : barrier_.missing()) {
    if (peer < config_.self) {
      send(peer, {.kind = FrameKind::kEdgeProbe, .fragment = kAllFragments, .round = round_}, {});
    }
  }
}

void Node::on_probe(const PeerId& peer, const Frame& frame) {
  const std::uint64_t asked = frame.header.round;
  on_round_seen(peer, asked);
  if (asked > round_ || !has_begun_) {
    return;
  }
  if (asked == round_ && is_round_open_ && plan_.contains(peer)) {
    if (!begun_.contains(peer)) {
      begin_edges(peer);
    }
    return;
  }
  send(peer,
       {.kind = FrameKind::kEdgeNack,
        .codec = static_cast<std::uint8_t>(NackCode::kPast),
        .fragment = kAllFragments,
        .round = round_,
        .seq = asked},
       {});
}

void Node::on_probe_refused(const PeerId& peer, const Frame& frame) {
  on_round_seen(peer, frame.header.round);
  if (frame.header.seq == round_) {
    fall_behind(frame.header.round);
    barrier_.excuse(peer);
    check_round();
  }
}

void Node::on_round_seen(const PeerId& peer, std::uint64_t round) {
  const std::uint64_t real =
      std::min(round, config_.rounds);  // no peer can be further than the end
  membership_.set_round(peer, real);
  // It is for the lower id to ask, and that one has gone on: in its plan this round had no such
  // edge.
  if (peer < config_.self && real > round_ && is_round_open_ && barrier_.waits_for(peer)) {
    fall_behind(real);
    barrier_.excuse(peer);
    check_round();
  }
}

// A partner of this round has gone on to `round` without this peer: it was too late, as after a
// freeze. The next round is that one, so that the two plans meet again. Rounds of others say
// nothing: peers that are far apart in the graph may well be some rounds apart.
void Node::fall_behind(std::uint64_t round) {
  catch_up_ = std::max(catch_up_, std::min(round, config_.rounds));
}

void Node::finish_round() {
  is_round_open_ = false;
  executor_.cancel(deadline_);
  executor_.cancel(probe_);
  const Duration waited = executor_.now() - opened_at_;
  counters_.stall += waited;
  counters_.longest_stall = std::max(counters_.longest_stall, waited);
  if (catch_up_ > round_ + config_.gossip.rejoin_lag && state_ == NodeState::kTraining) {
    log_info("round %llu, the swarm is at %llu: taking a neighbour's parameters",
             static_cast<unsigned long long>(round_), static_cast<unsigned long long>(catch_up_));
    start_download();
    return;
  }
  deliver_flow();
}

void Node::deliver_flow() {
  if (!spare_) {
    spare_ = std::make_shared<Buffer>(config_.ops->allocate(type_, published_->count()));
  }
  // A peer whose partners have gone on jumps to where they are, or it would miss them in every
  // round to come.
  const std::uint64_t next = std::max(round_ + 1, catch_up_);
  events_.deliver(round_, next, mixer_->take(std::exchange(spare_, nullptr)));
}

bool Node::is_reachable(const PeerId& peer) const {
  const Member* member = membership_.find(peer);
  return member != nullptr && member->record.state == MemberState::kAlive &&
         roster_.is_linked(peer);
}

// ---- Frames. ----

bool Node::send(const PeerId& peer, const FrameHeader& header, ByteSpan payload) {
  FrameHeader full = header;
  full.epoch = epoch_;
  full.view_digest = view_digest_;
  Bytes frame = encode_frame(full, payload);
  const std::size_t bytes = frame.size();
  const Priority priority = is_bulk(header.kind) ? Priority::kBulk : Priority::kControl;
  const bool sent = transport_.send(peer, priority, share(std::move(frame)), nullptr);
  if (sent) {
    counters_.bytes_sent[static_cast<std::uint8_t>(header.kind)] += bytes;
  }
  return sent;
}

void Node::on_frame(const PeerId& peer, const Bytes& bytes) {
  const Result<Frame> parsed = parse_frame(bytes);
  if (!parsed.ok()) {
    transport_.close(peer, parsed.error().message);
    return;
  }
  const Frame& frame = parsed.value();
  if (!roster_.is_linked(peer)) {
    return on_guest_frame(peer, frame);
  }
  counters_.bytes_received[static_cast<std::uint8_t>(frame.header.kind)] += bytes.size();
  on_membership(membership_.heard(peer, executor_.now()));
  const bool is_edge =
      frame.header.kind == FrameKind::kEdgeRequest || frame.header.kind == FrameKind::kEdgeReply;
  if (is_edge && frame.header.view_digest != view_digest_) {
    ++counters_.view_mismatches;
  }
  switch (frame.header.kind) {
    case FrameKind::kEdgeRequest:
      return exchange_->on_request(peer, frame);
    case FrameKind::kEdgeReply:
      return exchange_->on_reply(peer, frame);
    case FrameKind::kEdgeNack:
      if (frame.header.fragment == kAllFragments) {
        return on_probe_refused(peer, frame);
      }
      return exchange_->on_nack(peer, frame);
    case FrameKind::kEdgeProbe:
      return on_probe(peer, frame);
    case FrameKind::kMembers: {
      const auto members = parse_members(frame.payload);
      if (!members.ok()) {
        transport_.close(peer, members.error().message);
        return;
      }
      on_membership(membership_.merge(members.value(), executor_.now()));
      for (const MemberRecord& record : members.value()) {
        if (record.peer == peer) {
          on_round_seen(peer, record.round);
        }
      }
      return advance();
    }
    case FrameKind::kLeave:
      if ((frame.header.flags & kFlagSettled) != 0) {
        exchange_->confirm_all(peer);
      }
      return on_membership(membership_.left(peer, executor_.now()));
    case FrameKind::kStateRequest:
      return send_state(peer, frame.header.fragment);
    case FrameKind::kState:
      if (download_) {
        download_->on_state(peer, frame);
      }
      return;
    default:
      log_debug("peer %s sent a frame of unknown kind %d", peer.short_hex().c_str(),
                static_cast<int>(frame.header.kind));
  }
}

// A guest has shown no job hash: it may ask what is trained here, once, and nothing else.
void Node::on_guest_frame(const PeerId& peer, const Frame& frame) {
  if (frame.header.kind == FrameKind::kJobRequest && answered_guests_.insert(peer).second) {
    send(peer, {.kind = FrameKind::kJob}, as_bytes(config_.job));
    send_members({peer});
  }
}

void Node::send_state(const PeerId& peer, std::uint32_t fragment) {
  if (!published_ || fragment >= fragments_.size()) {
    return;
  }
  const std::unique_ptr<Codec> raw = make_codec(CodecConfig{.kind = "raw"});
  const ConstVec values = std::as_const(*published_).view();
  Bytes payload;
  put_state_head({static_cast<std::uint32_t>(fragments_.size()), values.count()}, payload);
  raw->encode(values.slice(fragments_[fragment].offset, fragments_[fragment].count), RngKey{},
              payload);
  send(peer,
       {.kind = FrameKind::kState,
        .codec = static_cast<std::uint8_t>(raw->id()),
        .flags = kFlagSnapshot,
        .fragment = fragment,
        .round = round_},
       payload);
}

}  // namespace hobnob
