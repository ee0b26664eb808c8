#include "gossip/edge_exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace hobnob {

namespace {

constexpr std::uint64_t kHashEvery = 64;  // transactions between replica comparisons
constexpr Duration kMaxRetransmitWait = std::chrono::seconds(2);
// A reliable link loses only what its full queue refused; a request may also be held for long by a
// peer that has not come to its round.
constexpr Duration kReliableWait = std::chrono::seconds(5);
constexpr Duration kMaxReliableWait = std::chrono::seconds(60);
constexpr Duration kLongestReckoned = std::chrono::seconds(2);
constexpr double kWeightSlack = 1e-9;

ChannelMessage message_of(const FrameHeader& header, ByteSpan payload) {
  return {.is_snapshot = (header.flags & kFlagSnapshot) != 0,
          .codec = static_cast<CodecId>(header.codec),
          .payload = payload,
          .is_silent = (header.flags & kFlagSilent) != 0};
}

}  // namespace

EdgeExchange::EdgeExchange(Executor& executor,
                           const EdgeExchangeConfig& config,
                           std::vector<Fragment> fragments,
                           Channel& channel,
                           Mixer& mixer,
                           Trigger& trigger,
                           Events events)
    : executor_(executor),
      config_(config),
      fragments_(std::move(fragments)),
      channel_(channel),
      mixer_(mixer),
      trigger_(trigger),
      events_(std::move(events)),
      spent_(fragments_.size(), 0.0),
      edges_(config.max_edges, fragments_.size(), [this](const PeerId& peer, Edge& edge) {
        on_drop(peer, edge);
      }) {}

EdgeExchange::~EdgeExchange() {
  for (auto& [peer, edge] : edges_.all()) {
    for (EdgeSlot& slot : edge.slots) {
      if (slot.pending) {
        executor_.cancel(slot.pending->timer);
      }
    }
  }
}

void EdgeExchange::publish(std::uint64_t round,
                           ConstVec value,
                           std::map<PeerId, Weight> proposals) {
  has_value_ = true;
  round_ = round;
  value_ = value;
  proposals_ = std::move(proposals);
  std::ranges::fill(spent_, 0.0);
  if (!config_.waits_for_round) {
    charge_in_flight();
  }
}

// What was asked with earlier values and not answered yet will still come, and this value has none
// of it: asked again and again meanwhile, neighbours would together correct more than the whole
// difference. A peer silent for long is no longer reckoned with.
void EdgeExchange::charge_in_flight() {
  for (const auto& [peer, edge] : edges_.all()) {
    for (std::size_t fragment = 0; fragment < fragments_.size(); ++fragment) {
      PendingRequest* pending = edge.slots[fragment].pending.get();
      if (pending != nullptr && executor_.now() - pending->begun < kLongestReckoned) {
        pending->charged_round = round_;
        spent_[fragment] += pending->proposal.value();
      }
    }
  }
}

void EdgeExchange::answer_held() {
  std::vector<std::pair<PeerId, Bytes>> held;
  for (auto& [peer, edge] : edges_.all()) {
    for (EdgeSlot& slot : edge.slots) {
      if (!slot.held.empty()) {
        held.emplace_back(peer, std::exchange(slot.held, Bytes()));
      }
    }
  }
  for (const auto& [peer, bytes] : held) {
    const Result<Frame> frame = parse_frame(bytes);
    HOBNOB_CHECK(frame.ok(), "a held frame was good once");
    on_request(peer, frame.value());
  }
}

bool EdgeExchange::begin(const PeerId& peer, std::uint32_t fragment) {
  HOBNOB_CHECK(has_value_ && fragment < fragments_.size(), "begin before publish");
  const Weight proposal = proposal_for(peer, Weight{0, 1});
  EdgeSlot& slot = edges_.at(peer).slots[fragment];
  if (slot.pending || is_stopped_ || !can_spend(fragment, proposal)) {
    return false;
  }
  spent_[fragment] += proposal.value();
  auto pending = std::make_unique<PendingRequest>();
  pending->seq = slot.done + 1;
  pending->proposal = proposal;
  pending->header = header(FrameKind::kEdgeRequest, fragment, pending->seq);
  pending->header.base_seq = slot.done;
  pending->payload = encode({peer, fragment}, proposal, false, pending->header);
  pending->wait = config_.reliable_transport ? kReliableWait : config_.retransmit_floor;
  pending->begun = executor_.now();
  pending->charged_round = round_;
  slot.pending = std::move(pending);
  send_request(peer, fragment);
  return true;
}

void EdgeExchange::on_request(const PeerId& peer, const Frame& frame) {
  const FrameHeader& asked = frame.header;
  if (asked.fragment >= fragments_.size()) {
    log_warn("peer %s asks for fragment %u of %zu", peer.short_hex().c_str(), asked.fragment,
             fragments_.size());
    return;
  }
  Edge& from = edges_.at(peer);
  from.stats.bytes_received += kFrameHeaderBytes + frame.payload.size();
  EdgeSlot& slot = from.slots[asked.fragment];
  events_.on_round_seen(peer, asked.round);
  if (asked.seq <= slot.done) {
    if (asked.seq == slot.answer.seq && slot.answer.seq != 0) {
      ++from.stats.retransmits;
      send(peer, from, slot.answer, slot.answer_payload);
    } else if (slot.answer.seq < asked.seq) {
      // A late copy, which the other end will not care for; or the answer went with an edge dropped
      // here, and it must ask anew.
      refuse(peer, frame, slot, NackCode::kGap);
    }
    return;
  }
  confirm(slot, asked.base_seq);
  if (slot.pending) {
    if (does_own_request_stand(peer, *slot.pending, asked)) {
      return;
    }
    settle_pending(peer, asked.fragment, false);
  }
  const bool is_early = !has_value_ || asked.round > round_;
  if (is_early && config_.waits_for_round && !is_stopped_) {
    const std::size_t longest =
        kEdgeHeadBytes + channel_.max_bytes(fragments_[asked.fragment].count);
    if (frame.payload.size() <= longest) {
      slot.held = encode_frame(asked, frame.payload);
    }
    return;
  }
  answer_request(peer, frame, slot);
}

// The two ends have asked each other: whose request is to be answered.
bool EdgeExchange::does_own_request_stand(const PeerId& peer,
                                          const PendingRequest& own,
                                          const FrameHeader& asked) const {
  if (asked.seq == own.seq) {
    return config_.self < peer;
  }
  // A greater seq that follows this end's: the other end has settled it, and the answer is on the
  // way. Else it asks again after a gap, and will not look at a lesser seq.
  return asked.seq < own.seq || asked.base_seq == own.seq;
}

void EdgeExchange::answer_request(const PeerId& peer, const Frame& frame, EdgeSlot& slot) {
  const FrameHeader& asked = frame.header;
  if (is_stopped_ || !has_value_) {
    refuse(peer, frame, slot, NackCode::kBusy);
    return;
  }
  if (asked.round < round_ && round_ - asked.round > config_.stale_rounds) {
    refuse(peer, frame, slot, NackCode::kPast);
    return;
  }
  ByteReader reader(frame.payload);
  const Result<EdgeHead> head = take_edge_head(reader);
  if (!head.ok()) {
    edges_.at(peer).stats.last_error = head.error().message;
    return;
  }
  const bool is_snapshot = (asked.flags & kFlagSnapshot) != 0;
  const EdgeKey key{peer, asked.fragment};
  const bool follows = is_snapshot || (asked.seq == slot.done + 1 && asked.base_seq == slot.done);
  if (!follows || !channel_.can_apply(key, is_snapshot) ||
      !do_replicas_agree(key, is_snapshot, head.value().replica_hash)) {
    refuse(peer, frame, slot, NackCode::kGap);
    return;
  }
  const Weight theirs{head.value().weight_numerator, head.value().weight_denominator};
  if (!can_spend(asked.fragment, std::min(theirs, proposal_for(peer, theirs)))) {
    refuse(peer, frame, slot, NackCode::kBusy);
    return;
  }
  apply_request(peer, frame, head.value(), reader.rest());
}

// A busy or past refusal uses the seq up at both ends. A gap does not: this end's seq may be lost,
// and the snapshot that follows carries one above both.
void EdgeExchange::refuse(const PeerId& peer, const Frame& frame, EdgeSlot& slot, NackCode code) {
  FrameHeader nack = header(FrameKind::kEdgeNack, frame.header.fragment, frame.header.seq);
  nack.codec = static_cast<std::uint8_t>(code);
  nack.base_seq = slot.done;
  if (code != NackCode::kGap) {
    slot.done = frame.header.seq;
    slot.answer = nack;
    slot.answer_payload.clear();
  }
  send(peer, edges_.at(peer), nack, {});
}

void EdgeExchange::apply_request(const PeerId& peer,
                                 const Frame& frame,
                                 const EdgeHead& head,
                                 ByteSpan payload) {
  const FrameHeader& asked = frame.header;
  const EdgeKey key{peer, asked.fragment};
  const Fragment& fragment = fragments_[asked.fragment];
  Edge& from = edges_.at(peer);
  EdgeSlot& slot = from.slots[asked.fragment];
  const bool is_snapshot = (asked.flags & kFlagSnapshot) != 0;
  const Weight theirs{head.weight_numerator, head.weight_denominator};
  const Weight mine = proposal_for(peer, theirs);

  // Encode before anything changes: the reply's difference is against what the other end holds now.
  FrameHeader reply = header(FrameKind::kEdgeReply, asked.fragment, asked.seq);
  reply.base_seq = asked.base_seq;
  Bytes reply_payload = encode(key, mine, is_snapshot, reply);

  const Result<void> received = channel_.receive(key, message_of(asked, payload), fragment.count);
  if (!received.ok()) {
    from.stats.last_error = received.error().message;
    log_warn("peer %s sent a bad request: %s", peer.short_hex().c_str(),
             received.error().message.c_str());
    refuse(peer, frame, slot, NackCode::kBusy);  // asked again it would be as bad
    return;
  }
  const ByteSpan own = ByteSpan(reply_payload).subspan(kEdgeHeadBytes);
  channel_.commit(key, message_of(reply, own), fragment.count);
  const Weight weight = std::min(theirs, mine);
  spent_[asked.fragment] += weight.value();
  slot.unconfirmed = mix(key, weight);
  slot.done = asked.seq;
  slot.answer = reply;
  slot.answer_payload = std::move(reply_payload);
  send(peer, from, slot.answer, slot.answer_payload);
  events_.on_settled(peer, asked.fragment, true);
}

void EdgeExchange::on_reply(const PeerId& peer, const Frame& frame) {
  const FrameHeader& reply = frame.header;
  Edge* edge = edges_.find(peer);
  if (edge == nullptr || reply.fragment >= fragments_.size()) {
    return;
  }
  Edge& from = *edge;
  from.stats.bytes_received += kFrameHeaderBytes + frame.payload.size();
  EdgeSlot& slot = from.slots[reply.fragment];
  if (!slot.pending || reply.seq != slot.pending->seq) {
    return;  // a second copy
  }
  see_round(peer, slot.pending->header.round, reply.round);
  ByteReader reader(frame.payload);
  const Result<EdgeHead> head = take_edge_head(reader);
  const EdgeKey key{peer, reply.fragment};
  const bool is_snapshot = (reply.flags & kFlagSnapshot) != 0;
  const Fragment& fragment = fragments_[reply.fragment];
  Result<void> received = head.ok() ? Result<void>() : Result<void>(head.error());
  if (received.ok() && !channel_.can_apply(key, is_snapshot)) {
    received = make_error(ErrorCode::kMalformed, "reply to a snapshot with a difference");
  }
  if (received.ok() && !do_replicas_agree(key, is_snapshot, head.value().replica_hash)) {
    received = make_error(ErrorCode::kMalformed, "replicas differ");
  }
  if (received.ok()) {
    received = channel_.receive(key, message_of(reply, reader.rest()), fragment.count);
  }
  if (!received.ok()) {
    from.stats.last_error = received.error().message;
    log_warn("peer %s sent a bad reply: %s", peer.short_hex().c_str(),
             received.error().message.c_str());
    count_one_sided(flow_at_risk(slot));
    channel_.drop(key);
    slot.done = reply.seq;
    settle_pending(peer, reply.fragment, false);
    return;
  }
  const FrameHeader& sent = slot.pending->header;
  const ByteSpan own = ByteSpan(slot.pending->payload).subspan(kEdgeHeadBytes);
  channel_.commit(key, message_of(sent, own), fragment.count);
  const Weight theirs{head.value().weight_numerator, head.value().weight_denominator};
  slot.unconfirmed = 0.0;  // the other end would not have answered without its own
  mix(key, std::min(theirs, slot.pending->proposal));
  slot.done = reply.seq;
  settle_pending(peer, reply.fragment, true);
}

void EdgeExchange::on_nack(const PeerId& peer, const Frame& frame) {
  const FrameHeader& nack = frame.header;
  Edge* edge = edges_.find(peer);
  if (edge == nullptr || nack.fragment >= fragments_.size()) {
    return;
  }
  EdgeSlot& slot = edge->slots[nack.fragment];
  if (!slot.pending || nack.seq != slot.pending->seq) {
    return;
  }
  see_round(peer, slot.pending->header.round, nack.round);
  if (static_cast<NackCode>(nack.codec) != NackCode::kGap) {
    slot.done = nack.seq;
    settle_pending(peer, nack.fragment, false);
    return;
  }
  // The other end lost its replica, or holds another: the same transaction again, as a snapshot of
  // the value now.
  channel_.drop({peer, nack.fragment});
  PendingRequest& pending = *slot.pending;
  if (pending.charged_round != round_) {
    if (!can_spend(nack.fragment, pending.proposal)) {
      slot.done = std::max(slot.done, nack.base_seq);
      settle_pending(peer, nack.fragment, false);
      return;
    }
    pending.charged_round = round_;
    spent_[nack.fragment] += pending.proposal.value();
  }
  pending.seq = std::max(pending.seq, nack.base_seq) + 1;
  pending.header = header(FrameKind::kEdgeRequest, nack.fragment, pending.seq);
  pending.header.base_seq = slot.done;
  pending.payload = encode({peer, nack.fragment}, pending.proposal, true, pending.header);
  send_request(peer, nack.fragment);
}

void EdgeExchange::see_round(const PeerId& peer, std::uint64_t asked, std::uint64_t answered) {
  events_.on_round_seen(peer, answered);
  if (asked == round_ && answered > round_) {
    events_.on_fell_behind(peer, answered);
  }
}

// The hash travels with one transaction in kHashEvery, else it is 0.
bool EdgeExchange::do_replicas_agree(const EdgeKey& key, bool is_snapshot, std::uint64_t claimed) {
  if (is_snapshot || claimed == 0) {
    return true;
  }
  ++totals_.replicas_compared;
  const bool agree = claimed == channel_.received_hash(key);
  totals_.replicas_differed += agree ? 0 : 1;
  return agree;
}

// Returns |flow|.
double EdgeExchange::mix(const EdgeKey& key, Weight weight) {
  const Fragment& fragment = fragments_[key.fragment];
  mixer_.add(channel_, key, weight.value(), fragment.offset, fragment.count);
  Edge& with = edges_.at(key.peer);
  with.stats.weight = weight;
  ++with.stats.transactions;
  EdgeSlot& slot = with.slots[key.fragment];
  slot.distance = std::sqrt(channel_.squared_difference(key));
  with.stats.consensus_distance = slot.distance;
  const std::uint64_t seq = slot.done + 1;
  if (key.fragment == 0 && (seq == 1 || seq % kHashEvery == 0)) {
    with.stats.replica_hash = channel_.received_hash(key);
    with.stats.replica_hash_seq = seq;
  }
  channel_.settle(key);
  return config_.gamma * weight.value() * slot.distance;
}

void EdgeExchange::settle_pending(const PeerId& peer, std::uint32_t fragment, bool mixed) {
  EdgeSlot& slot = edges_.at(peer).slots[fragment];
  executor_.cancel(slot.pending->timer);
  if (!mixed && slot.pending->charged_round == round_) {
    spent_[fragment] -= slot.pending->proposal.value();
  }
  slot.pending.reset();
  events_.on_settled(peer, fragment, mixed);
}

FrameHeader EdgeExchange::header(FrameKind kind, std::uint32_t fragment, std::uint64_t seq) const {
  return {.kind = kind, .fragment = fragment, .round = round_, .seq = seq};
}

// The trigger's word. A neighbour that holds nothing yet is always told.
bool EdgeExchange::is_worth_sending(const EdgeKey& key, ConstVec value) {
  const EdgeSlot& slot = edges_.at(key.peer).slots[key.fragment];
  const std::uint64_t silent = round_ > slot.sent_round ? round_ - slot.sent_round : 0;
  TriggerInput input{.edge = key, .round = round_, .silent_rounds = silent};
  if (trigger_.needs() == Trigger::Needs::kDistance) {
    input.squared_distance = channel_.squared_change(key, value);
  } else if (trigger_.needs() == Trigger::Needs::kNorm) {
    input.squared_norm = config_.ops->squared_norm(value);
  }
  return trigger_.fires(input);
}

// Head and codec bytes, which silence has none of; fills in the header's codec and flags.
Bytes EdgeExchange::encode(const EdgeKey& key,
                           Weight proposal,
                           bool as_snapshot,
                           FrameHeader& header) {
  EdgeHead head{.weight_numerator = proposal.numerator, .weight_denominator = proposal.denominator};
  if (!as_snapshot && header.seq % kHashEvery == 0) {
    head.replica_hash = channel_.sent_hash(key);
  }
  Bytes payload;
  put_edge_head(head, payload);
  const Fragment& fragment = fragments_[key.fragment];
  const ConstVec value = value_.slice(fragment.offset, fragment.count);
  ++totals_.offered;
  if (!as_snapshot && channel_.has_base(key) && !is_worth_sending(key, value)) {
    header.flags = kFlagSilent;
    return payload;
  }
  ++totals_.fired;
  edges_.at(key.peer).slots[key.fragment].sent_round = round_;
  const Channel::Encoded encoded = channel_.encode(key, value, as_snapshot, payload);
  header.codec = static_cast<std::uint8_t>(encoded.codec);
  header.flags = encoded.is_snapshot ? kFlagSnapshot : std::uint8_t{0};
  totals_.poisoned_blocks += encoded.poisoned_blocks;
  edges_.at(key.peer).stats.snapshots += encoded.is_snapshot ? 1 : 0;
  return payload;
}

void EdgeExchange::send(const PeerId& peer,
                        Edge& edge,
                        const FrameHeader& header,
                        const Bytes& payload) {
  edge.stats.bytes_sent += kFrameHeaderBytes + payload.size();
  events_.send(peer, header, payload);
}

void EdgeExchange::send_request(const PeerId& peer, std::uint32_t fragment) {
  Edge& to = edges_.at(peer);
  send(peer, to, to.slots[fragment].pending->header, to.slots[fragment].pending->payload);
  arm_retransmit(peer, fragment);
}

void EdgeExchange::arm_retransmit(const PeerId& peer, std::uint32_t fragment) {
  const Duration longest = config_.reliable_transport ? kMaxReliableWait : kMaxRetransmitWait;
  PendingRequest& pending = *edges_.at(peer).slots[fragment].pending;
  executor_.cancel(pending.timer);
  pending.timer = executor_.after(pending.wait, [this, peer, fragment, longest] {
    Edge& to = edges_.at(peer);
    ++to.stats.retransmits;
    PendingRequest& late = *to.slots[fragment].pending;
    late.wait = std::min(2 * late.wait, longest);
    send_request(peer, fragment);
  });
}

Weight EdgeExchange::proposal_for(const PeerId& peer, Weight otherwise) const {
  const auto found = proposals_.find(peer);
  return found == proposals_.end() ? otherwise : found->second;
}

bool EdgeExchange::can_spend(std::uint32_t fragment, Weight weight) const {
  return spent_[fragment] + weight.value() <= 1.0 + kWeightSlack;
}

}  // namespace hobnob
