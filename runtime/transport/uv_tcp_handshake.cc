// TcpTransport's handshake: hello both ways, accept or refuse by the end with the lower id, a lane
// offered by the end that was dialed, up.

#include <uv.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/transport/uv_tcp_transport.h"

namespace hobnob {

namespace {

// A lane that does not come up costs a handshake deadline: after so many to an address, bulk to it
// goes over TCP.
constexpr int kMaxLaneFailures = 2;

}  // namespace

void TcpTransport::on_connection() {
  if (is_started_) {
    accept_connection();
  } else {
    has_waiting_ = true;
  }
}

void TcpTransport::accept_connection() {
  const auto pending =
      std::ranges::count_if(links_, [](const auto& each) { return !each.second.is_up(); });
  TcpLink& link = add_link(Endpoint{});
  link.connection = UvConnection::accept(listener_->stream(), connection_events(link.id));
  if (link.connection == nullptr || static_cast<std::size_t>(pending) >= config_.max_pending) {
    drop(link.id, "too many connections still shaking hands");
    return;
  }
  say_hello(link);
}

void TcpTransport::dial(const Endpoint& endpoint) {
  if (!dialing_.insert(endpoint.text()).second) {
    return;
  }
  if (endpoint.port == 0) {
    dial_failed(endpoint, "no port", RefuseCode::kFull);
    return;
  }
  resolver_.resolve(endpoint, [this, endpoint](const Result<const sockaddr*>& address) {
    if (address.ok()) {
      connect(endpoint, address.value());
    } else {
      dial_failed(endpoint, address.error().message, RefuseCode::kFull);
    }
  });
}

void TcpTransport::connect(const Endpoint& endpoint, const sockaddr* address) {
  TcpLink& link = add_link(endpoint);
  Result<UvConnection::Pointer> connection =
      UvConnection::dial(loop(), address, connection_events(link.id));
  if (connection.ok()) {
    link.connection = std::move(connection).value();
    return;
  }
  later([this, id = link.id, why = connection.error().message] { drop(id, why); });
}

void TcpTransport::dial_failed(const Endpoint& endpoint, const std::string& why, RefuseCode code) {
  dialing_.erase(endpoint.text());
  later([this, endpoint, why, code] {
    events_.on_dial_failed(
        endpoint,
        make_error(ErrorCode::kUnavailable, "connect %s: %s", endpoint.text().c_str(), why.c_str()),
        code);
  });
}

TcpLink& TcpTransport::add_link(const Endpoint& dialed) {
  const TcpLink::Id id = ++last_id_;
  TcpLink& link = links_[id];
  link.id = id;
  link.dialed = dialed;
  link.last_heard = executor_.now();
  link.deadline =
      executor_.after(config_.handshake_deadline, [this, id] { drop(id, "no handshake in time"); });
  return link;
}

UvConnection::Events TcpTransport::connection_events(TcpLink::Id id) {
  return {.on_open =
              [this, id] {
                if (TcpLink* link = find(id)) {
                  say_hello(*link);
                }
              },
          .on_frame = [this, id](Priority priority,
                                 Bytes bytes) { on_frame(id, priority, std::move(bytes)); },
          .on_closed = [this, id](const std::string& reason) { drop(id, reason); }};
}

void TcpTransport::say_hello(TcpLink& link) {
  link.stage = LinkStage::kHello;
  link.remote_text = link.connection->remote_text();
  link.remote_host = link.connection->remote_address();
  send_frame(link, FrameKind::kHello, encode_hello(config_.hello));
}

// Every frame has its stage; out of turn it ends the connection.
Result<void> TcpTransport::on_handshake_frame(TcpLink& link, const Frame& frame) {
  switch (frame.header.kind) {
    case FrameKind::kHello:
      if (link.stage == LinkStage::kHello) {
        return on_hello(link, frame.payload);
      }
      break;
    case FrameKind::kAccept:
      if (link.stage == LinkStage::kAwaitAccept) {
        take_place(link);
        offer_lane(link);
        return {};
      }
      break;
    case FrameKind::kRefuse:
      return on_refuse(link, frame.payload);
    case FrameKind::kLaneOffer:
      if (link.stage == LinkStage::kLane && link.is_dialed()) {
        return on_lane_offer(link, frame.payload);
      }
      break;
    case FrameKind::kLaneAnswer:
      if (link.stage == LinkStage::kLane && !link.is_dialed() && lane_ != nullptr) {
        if (frame.header.seq == 0) {
          lane_->close(link.id);
          come_up(link);
        }
        return {};
      }
      break;
    default:
      break;
  }
  return make_error(ErrorCode::kMalformed, "handshake frame out of turn");
}

// The lower id decides which of two connections stays, so both ends agree.
Result<void> TcpTransport::on_hello(TcpLink& link, ByteSpan payload) {
  Result<Hello> hello = parse_hello(payload);
  if (!hello.ok()) {
    return hello.error();
  }
  link.remote = std::move(hello).value();
  const Hello& mine = config_.hello;
  if (link.remote.peer == mine.peer) {
    refuse(link, RefuseCode::kSelf, "that is this peer itself");
    return {};
  }
  const bool has_guest = link.remote.job_hash == 0 || mine.job_hash == 0;
  if (!has_guest && link.remote.job_hash != mine.job_hash) {
    refuse(link, RefuseCode::kJobDiffers, "this swarm trains another job");
    return {};
  }
  const TcpLink* existing = link_of(link.remote.peer);
  if (existing == nullptr && by_peer_.size() >= config_.max_links) {
    refuse(link, RefuseCode::kFull, "this peer has all the links it can hold");
    return {};
  }
  // A guest asks one question; it has no use for bulk.
  link.connection->trust(has_guest ? 0 : config_.max_frame_bytes);
  if (link.remote.peer < mine.peer) {
    link.stage = LinkStage::kAwaitAccept;
    return {};
  }
  if (existing != nullptr && !yields_to(*existing, link)) {
    refuse(link, RefuseCode::kDuplicate, "a link exists already");
    return {};
  }
  take_place(link);
  send_frame(link, FrameKind::kAccept, {});
  offer_lane(link);
  return {};
}

// True when the existing link should give way: its process is gone, or it has been silent for two
// heartbeats.
bool TcpTransport::yields_to(const TcpLink& existing, const TcpLink& fresh) const {
  return existing.remote.process != fresh.remote.process ||
         executor_.now() - existing.last_heard > 2 * config_.heartbeat_interval;
}

// Becomes the link to its peer; the one before it, if any, gives way.
void TcpTransport::take_place(TcpLink& link) {
  const TcpLink* existing = link_of(link.remote.peer);
  if (existing != nullptr && existing->id != link.id) {
    drop(existing->id, "replaced by a newer link");
  }
  by_peer_[link.remote.peer] = link.id;
}

void TcpTransport::refuse(TcpLink& link, RefuseCode code, std::string reason) {
  link.refusal = Refusal{code, std::move(reason)};
  link.is_refused = true;
  send_frame(link, FrameKind::kRefuse, encode_refusal(link.refusal));
  link.connection->finish();
}

Result<void> TcpTransport::on_refuse(TcpLink& link, ByteSpan payload) {
  Result<Refusal> refusal = parse_refusal(payload);
  if (!refusal.ok()) {
    return refusal.error();
  }
  link.refusal = std::move(refusal).value();
  link.is_refused = true;
  return make_error(ErrorCode::kUnavailable, "%s", link.refusal.reason.c_str());
}

// The accepting end offers; an empty offer says that bulk goes over this connection.
void TcpTransport::offer_lane(TcpLink& link) {
  link.stage = LinkStage::kLane;
  if (link.is_dialed()) {
    return;
  }
  LaneInvite offer;
  const std::string local = link.connection->local_address();
  const bool has_guest = link.remote.job_hash == 0 || config_.hello.job_hash == 0;
  const bool is_hopeless = lane_failures_[link.remote_host] >= kMaxLaneFailures;
  if (lane_ != nullptr && !has_guest && !is_hopeless &&
      is_inside(config_.trusted_networks, local) &&
      is_inside(config_.trusted_networks, link.connection->remote_address())) {
    Result<Bytes> bytes = lane_->offer(local);
    if (bytes.ok()) {
      offer.offer = std::move(bytes).value();
      uv_random(nullptr, nullptr, &offer.token, sizeof offer.token, 0, nullptr);
      link.has_offered = true;
      lane_->accept(link.id, offer.token);
    } else {
      log_debug("no bulk lane on %s: %s", local.c_str(), bytes.error().message.c_str());
    }
  }
  send_frame(link, FrameKind::kLaneOffer, encode_lane_offer(offer));
  if (offer.offer.empty()) {
    come_up(link);
  }
}

Result<void> TcpTransport::on_lane_offer(TcpLink& link, ByteSpan payload) {
  const Result<LaneInvite> offer = parse_lane_offer(payload);
  if (!offer.ok()) {
    return offer.error();
  }
  if (offer.value().offer.empty()) {
    come_up(link);
    return {};
  }
  const std::string remote = link.connection->remote_address();
  Result<void> connected =
      make_error(ErrorCode::kUnavailable, "network not trusted here, or no UCX");
  if (lane_ != nullptr && is_inside(config_.trusted_networks, remote)) {
    connected = lane_->connect(link.id, offer.value().offer, remote, offer.value().token);
  }
  if (!connected.ok() && connected.error().code == ErrorCode::kMalformed) {
    return connected;
  }
  send_frame(link, FrameKind::kLaneAnswer, {}, connected.ok() ? 1 : 0);
  if (!connected.ok()) {
    log_info("bulk to %s goes over tcp: %s", link.remote_text.c_str(),
             connected.error().message.c_str());
    come_up(link);
  }
  return {};
}

void TcpTransport::on_lane_up(TcpLink::Id id) {
  TcpLink* link = find(id);
  if (link != nullptr && link->stage == LinkStage::kLane) {
    link->lane_up = true;
    lane_failures_.erase(link->remote_host);
    come_up(*link);
  }
}

void TcpTransport::come_up(TcpLink& link) {
  link.stage = LinkStage::kUp;
  executor_.cancel(link.deadline);
  if (link.is_dialed()) {
    dialing_.erase(link.dialed.text());
  }
  link.stats.peer = link.remote.peer;
  link.stats.remote = link.remote_text;
  link.stats.dialed = link.is_dialed();
  later([this, hello = link.remote, early = std::exchange(link.early, {})]() mutable {
    events_.on_link_up(hello);
    for (Bytes& frame : early) {
      events_.on_frame(hello.peer, std::move(frame));
    }
  });
}

// Tells whoever must know why there will be no link.
void TcpTransport::handshake_failed(const TcpLink& link, const std::string& reason) {
  if (link.stage == LinkStage::kLane && link.has_offered &&
      ++lane_failures_[link.remote_host] == kMaxLaneFailures) {
    log_warn("no bulk lane to %s comes up (%s): bulk goes over tcp", link.remote_host.c_str(),
             reason.c_str());
  }
  const bool is_duplicate = link.is_refused && link.refusal.code == RefuseCode::kDuplicate;
  if (link.is_dialed() && is_duplicate) {
    dialing_.erase(link.dialed.text());
  } else if (link.is_dialed()) {
    dial_failed(link.dialed, link.is_refused ? link.refusal.reason : reason,
                link.is_refused ? link.refusal.code : RefuseCode::kFull);
  } else if (!link.is_refused && reason == UvConnection::kClosedByPeer) {
    log_debug("a connection from %s closed before it was a link", link.remote_text.c_str());
  } else if (!link.is_refused) {
    log_warn("dropped a connection from %s: %s", link.remote_text.c_str(), reason.c_str());
  }
}

}  // namespace hobnob
