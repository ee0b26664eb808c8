#include <netdb.h>
#include <uv.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/transport/tcp_transport.h"
#include "runtime/transport/uv_connection.h"

namespace hobnob {

namespace {

using LinkId = LaneKey;

constexpr std::size_t kMaxEarlyFrames = 64;
// A lane that does not come up costs a handshake deadline: after so many to an address, bulk to it
// goes over TCP.
constexpr int kMaxLaneFailures = 2;

enum class Stage { kConnecting, kHello, kAwaitAccept, kLane, kUp };

struct Link {
  LinkId id = 0;
  Stage stage = Stage::kConnecting;
  Endpoint dialed;  // port 0: accepted
  UvConnection::Pointer connection;
  TimerId deadline = 0;
  Hello remote;
  std::string remote_text;
  std::string remote_host;
  bool has_offered = false;  // a lane
  bool lane_up = false;
  std::vector<Bytes> early;  // frames of an other end that saw its lane come up first
  Refusal refusal;           // received, or sent
  bool is_refused = false;
  Time last_heard{0};
  std::uint64_t received_bytes = 0;   // of the connection, at the last heartbeat
  std::size_t lane_queued_bytes = 0;  // handed to the lane and not done

  std::size_t queued_bytes() const { return connection->queued_bytes() + lane_queued_bytes; }

  LinkStats stats;

  bool is_dialed() const { return dialed.port != 0; }
};

class TcpTransport;

// A name being looked up; outlives the transport if need be.
struct Lookup {
  uv_getaddrinfo_t request{};
  TcpTransport* owner = nullptr;
  Endpoint endpoint;
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(UvExecutor& executor, const TcpTransportConfig& config, const MakeLane& make_lane)
      : executor_(executor), config_(config), alive_(std::make_shared<bool>(true)) {
    if (make_lane) {
      lane_ = make_lane(
          {.on_up = [this](LaneKey key) { on_lane_up(key); },
           .on_down = [this](LaneKey key, const std::string& why) { on_lane_down(key, why); },
           .on_frame = [this](LaneKey key, Bytes frame) { on_lane_frame(key, std::move(frame)); }});
    }
  }

  TcpTransport(const TcpTransport&) = delete;
  TcpTransport& operator=(const TcpTransport&) = delete;

  ~TcpTransport() override {
    *alive_ = false;
    executor_.cancel(heartbeat_);
    for (auto& [id, link] : links_) {
      executor_.cancel(link.deadline);
    }
    for (Lookup* lookup : lookups_) {
      lookup->owner = nullptr;
      uv_cancel(reinterpret_cast<uv_req_t*>(&lookup->request));
    }
    lane_.reset();
    links_.clear();
    if (listener_ != nullptr) {
      uv_close(reinterpret_cast<uv_handle_t*>(listener_),
               [](uv_handle_t* handle) { delete reinterpret_cast<uv_tcp_t*>(handle); });
    }
  }

  void start(Events events) override {
    events_ = std::move(events);
    is_started_ = true;
    schedule_heartbeat();
    if (std::exchange(has_waiting_, false)) {
      accept_connection();
    }
  }

  Result<Endpoint> listen(const Endpoint& endpoint) override;
  void dial(const Endpoint& endpoint) override;
  bool send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) override;
  void close(const PeerId& peer, const std::string& reason) override;

  bool is_reliable() const override { return true; }

  std::vector<LinkStats> links() const override;

 private:
  uv_loop_t* loop() { return static_cast<uv_loop_t*>(executor_.native_loop()); }

  // Runs later on the loop, unless the transport is gone by then.
  void later(Task task) {
    executor_.post([alive = alive_, task = std::move(task)] {
      if (*alive) {
        task();
      }
    });
  }

  Link* find(LinkId id) {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : &found->second;
  }

  Link* link_of(const PeerId& peer) {
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? nullptr : find(found->second);
  }

  Link& add_link(const Endpoint& dialed);
  UvConnection::Events connection_events(LinkId id);
  void on_connection();
  void accept_connection();
  void connect(const Endpoint& endpoint, const sockaddr* address);
  void dial_failed(const Endpoint& endpoint, const std::string& why, RefuseCode code);

  void say_hello(Link& link);
  void send_frame(Link& link, FrameKind kind, ByteSpan payload, std::uint64_t seq = 0);
  void on_frame(LinkId id, Priority priority, Bytes bytes);
  Result<void> on_transport_frame(Link& link, const Frame& frame);
  Result<void> on_hello(Link& link, ByteSpan payload);
  Result<void> on_lane_offer(Link& link, ByteSpan payload);
  bool yields_to(const Link& existing, const Link& fresh) const;
  void refuse(Link& link, RefuseCode code, std::string reason);
  void offer_lane(Link& link);
  void come_up(Link& link);
  void drop(LinkId id, const std::string& reason);

  void on_lane_up(LaneKey key);
  void on_lane_down(LaneKey key, const std::string& reason);
  void on_lane_frame(LaneKey key, Bytes frame);

  void schedule_heartbeat();
  void heartbeat();

  UvExecutor& executor_;
  TcpTransportConfig config_;
  std::shared_ptr<bool> alive_;
  Events events_;
  std::unique_ptr<BulkLane> lane_;
  bool is_started_ = false;
  bool has_waiting_ =
      false;  // a connection came before start(); libuv holds it and those behind it
  uv_tcp_t* listener_ = nullptr;
  LinkId last_id_ = 0;
  std::map<LinkId, Link> links_;
  std::map<PeerId, LinkId> by_peer_;
  std::map<std::string, int> lane_failures_;  // by the other end's host
  std::set<std::string> dialing_;
  std::set<Lookup*> lookups_;
  TimerId heartbeat_ = 0;
};

Result<Endpoint> TcpTransport::listen(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int lookup =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (lookup != 0) {
    return make_error(ErrorCode::kInvalidArgument, "listen %s: %s; name an address of this machine",
                      endpoint.text().c_str(), gai_strerror(lookup));
  }
  auto listener = std::make_unique<uv_tcp_t>();
  HOBNOB_CHECK(uv_tcp_init(loop(), listener.get()) == 0, "uv_tcp_init failed");
  listener_ = listener.release();
  listener_->data = this;
  int code = uv_tcp_bind(listener_, found->ai_addr, 0);
  freeaddrinfo(found);
  if (code == 0) {
    code = uv_listen(reinterpret_cast<uv_stream_t*>(listener_), 128,
                     [](uv_stream_t* stream, int status) {
                       if (status == 0) {
                         static_cast<TcpTransport*>(stream->data)->on_connection();
                       }
                     });
  }
  if (code != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "listen %s: %s; choose another address, or port 0 for any free port",
                      endpoint.text().c_str(), uv_strerror(code));
  }
  sockaddr_storage bound{};
  int size = sizeof bound;
  uv_tcp_getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  const Endpoint real{endpoint.host, ntohs(port)};
  if (config_.hello.advertise.port == 0) {
    const bool has_host = !config_.hello.advertise.host.empty();
    config_.hello.advertise = {has_host ? config_.hello.advertise.host : real.host, real.port};
  }
  return real;
}

Link& TcpTransport::add_link(const Endpoint& dialed) {
  const LinkId id = ++last_id_;
  Link& link = links_[id];
  link.id = id;
  link.dialed = dialed;
  link.last_heard = executor_.now();
  link.deadline =
      executor_.after(config_.handshake_deadline, [this, id] { drop(id, "no handshake in time"); });
  return link;
}

UvConnection::Events TcpTransport::connection_events(LinkId id) {
  return {.on_open =
              [this, id] {
                if (Link* link = find(id)) {
                  say_hello(*link);
                }
              },
          .on_frame = [this, id](Priority priority,
                                 Bytes bytes) { on_frame(id, priority, std::move(bytes)); },
          .on_closed = [this, id](const std::string& reason) { drop(id, reason); }};
}

void TcpTransport::on_connection() {
  if (is_started_) {
    accept_connection();
  } else {
    has_waiting_ = true;
  }
}

void TcpTransport::accept_connection() {
  const auto pending = std::ranges::count_if(
      links_, [](const auto& each) { return each.second.stage != Stage::kUp; });
  Link& link = add_link(Endpoint{});
  link.connection =
      UvConnection::accept(reinterpret_cast<uv_stream_t*>(listener_), connection_events(link.id));
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
  sockaddr_in v4{};
  if (uv_ip4_addr(endpoint.host.c_str(), endpoint.port, &v4) == 0) {
    connect(endpoint, reinterpret_cast<const sockaddr*>(&v4));
    return;
  }
  auto* lookup = new Lookup;
  lookup->owner = this;
  lookup->endpoint = endpoint;
  lookup->request.data = lookup;
  lookups_.insert(lookup);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  const auto done = [](uv_getaddrinfo_t* request, int status, addrinfo* found) {
    const std::unique_ptr<Lookup> finished(static_cast<Lookup*>(request->data));
    if (finished->owner != nullptr) {
      finished->owner->lookups_.erase(finished.get());
      if (status == 0) {
        finished->owner->connect(finished->endpoint, found->ai_addr);
      } else {
        finished->owner->dial_failed(finished->endpoint, uv_strerror(status), RefuseCode::kFull);
      }
    }
    uv_freeaddrinfo(found);
  };
  const int code = uv_getaddrinfo(loop(), &lookup->request, done, endpoint.host.c_str(),
                                  std::to_string(endpoint.port).c_str(), &hints);
  if (code != 0) {
    lookups_.erase(lookup);
    delete lookup;
    dial_failed(endpoint, uv_strerror(code), RefuseCode::kFull);
  }
}

void TcpTransport::connect(const Endpoint& endpoint, const sockaddr* address) {
  Link& link = add_link(endpoint);
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

void TcpTransport::say_hello(Link& link) {
  link.stage = Stage::kHello;
  link.remote_text = link.connection->remote_text();
  link.remote_host = link.connection->remote_address();
  send_frame(link, FrameKind::kHello, encode_hello(config_.hello));
}

void TcpTransport::send_frame(Link& link, FrameKind kind, ByteSpan payload, std::uint64_t seq) {
  const FrameHeader header{.kind = kind, .seq = seq};
  Bytes frame = encode_frame(header, payload);
  link.stats.control_bytes_sent += frame.size();
  link.connection->send(Priority::kControl, share(std::move(frame)), nullptr);
}

void TcpTransport::on_frame(LinkId id, Priority priority, Bytes bytes) {
  Link* link = find(id);
  if (link == nullptr) {
    return;
  }
  link->last_heard = executor_.now();
  (priority == Priority::kBulk ? link->stats.bulk_bytes_received
                               : link->stats.control_bytes_received) += bytes.size();
  const Result<Frame> frame = parse_frame(bytes);
  if (!frame.ok()) {
    drop(id, frame.error().message);
    return;
  }
  if (frame.value().header.kind <= FrameKind::kLaneAnswer) {
    const Result<void> handled = on_transport_frame(*link, frame.value());
    if (!handled.ok()) {
      drop(id, handled.error().message);
    }
    return;
  }
  if (link->stage == Stage::kLane && priority == Priority::kControl &&
      link->early.size() < kMaxEarlyFrames) {
    link->early.push_back(std::move(bytes));
    return;
  }
  if (link->stage != Stage::kUp) {
    drop(id, "frame before the link was up");
    return;
  }
  later([this, peer = link->remote.peer, moved = std::move(bytes)]() mutable {
    events_.on_frame(peer, std::move(moved));
  });
}

Result<void> TcpTransport::on_transport_frame(Link& link, const Frame& frame) {
  const FrameHeader& header = frame.header;
  const Error unexpected{ErrorCode::kMalformed, "handshake frame out of turn"};
  switch (header.kind) {
    case FrameKind::kHello:
      return link.stage == Stage::kHello ? on_hello(link, frame.payload) : Result<void>(unexpected);
    case FrameKind::kAccept: {
      if (link.stage != Stage::kAwaitAccept) {
        return unexpected;
      }
      const Link* existing = link_of(link.remote.peer);
      if (existing != nullptr && existing->id != link.id) {
        drop(existing->id, "replaced by a newer link");
      }
      by_peer_[link.remote.peer] = link.id;
      offer_lane(link);
      return {};
    }
    case FrameKind::kRefuse: {
      const Result<Refusal> refusal = parse_refusal(frame.payload);
      if (!refusal.ok()) {
        return refusal.error();
      }
      link.refusal = refusal.value();
      link.is_refused = true;
      return make_error(ErrorCode::kUnavailable, "%s", link.refusal.reason.c_str());
    }
    case FrameKind::kPing:
      // Not to one that asks and does not read.
      if (link.connection->queued_bytes() <= config_.max_queued_bytes) {
        send_frame(link, FrameKind::kPong, {}, header.seq);
      }
      return {};
    case FrameKind::kPong: {
      const Time now = executor_.now();
      if (header.seq > static_cast<std::uint64_t>(now.count())) {
        return {};
      }
      const Duration sample = now - Time{static_cast<std::int64_t>(header.seq)};
      if (sample < std::chrono::hours(1)) {
        Duration& mean = link.stats.round_trip;
        mean = mean.count() == 0 ? sample : (7 * mean + sample) / 8;
      }
      return {};
    }
    case FrameKind::kLaneOffer:
      return link.stage == Stage::kLane && link.is_dialed() ? on_lane_offer(link, frame.payload)
                                                            : Result<void>(unexpected);
    case FrameKind::kLaneAnswer:
      if (link.stage != Stage::kLane || link.is_dialed() || lane_ == nullptr) {
        return unexpected;
      }
      if (header.seq == 0) {
        lane_->close(link.id);
        come_up(link);
      }
      return {};
    default:
      return unexpected;
  }
}

// True when the existing link should give way: its process is gone, or it has been silent for two
// heartbeats.
bool TcpTransport::yields_to(const Link& existing, const Link& fresh) const {
  return existing.remote.process != fresh.remote.process ||
         executor_.now() - existing.last_heard > 2 * config_.heartbeat_interval;
}

// The lower id decides which of two connections stays, so both ends agree.
Result<void> TcpTransport::on_hello(Link& link, ByteSpan payload) {
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
  const Link* existing = link_of(link.remote.peer);
  if (existing == nullptr && by_peer_.size() >= config_.max_links) {
    refuse(link, RefuseCode::kFull, "this peer has all the links it can hold");
    return {};
  }
  // A guest asks one question; it has no use for bulk.
  link.connection->trust(has_guest ? 0 : config_.max_frame_bytes);
  if (link.remote.peer < mine.peer) {
    link.stage = Stage::kAwaitAccept;
    return {};
  }
  if (existing != nullptr) {
    if (!yields_to(*existing, link)) {
      refuse(link, RefuseCode::kDuplicate, "a link exists already");
      return {};
    }
    drop(existing->id, "replaced by a newer link");
  }
  by_peer_[link.remote.peer] = link.id;
  send_frame(link, FrameKind::kAccept, {});
  offer_lane(link);
  return {};
}

void TcpTransport::refuse(Link& link, RefuseCode code, std::string reason) {
  link.refusal = Refusal{code, std::move(reason)};
  link.is_refused = true;
  send_frame(link, FrameKind::kRefuse, encode_refusal(link.refusal));
  link.connection->finish();
}

// The accepting end offers; an empty offer says that bulk goes over this connection.
void TcpTransport::offer_lane(Link& link) {
  link.stage = Stage::kLane;
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

Result<void> TcpTransport::on_lane_offer(Link& link, ByteSpan payload) {
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

void TcpTransport::come_up(Link& link) {
  link.stage = Stage::kUp;
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

// Forgets the link and tells whoever must know.
void TcpTransport::drop(LinkId id, const std::string& reason) {
  Link* found = find(id);
  if (found == nullptr) {
    return;
  }
  Link link = std::move(*found);
  links_.erase(id);
  executor_.cancel(link.deadline);
  if (lane_ != nullptr && link.stage >= Stage::kLane) {
    lane_->close(id);
  }
  if (link.stage == Stage::kLane && link.has_offered &&
      ++lane_failures_[link.remote_host] == kMaxLaneFailures) {
    log_warn("no bulk lane to %s comes up (%s): bulk goes over tcp", link.remote_host.c_str(),
             reason.c_str());
  }
  const auto mapped = by_peer_.find(link.remote.peer);
  if (mapped != by_peer_.end() && mapped->second == id) {
    by_peer_.erase(mapped);
  }
  if (link.stage == Stage::kUp) {
    later([this, peer = link.remote.peer, reason] { events_.on_link_down(peer, reason); });
    return;
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

bool TcpTransport::send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) {
  Link* link = link_of(peer);
  if (link == nullptr || link->stage != Stage::kUp ||
      link->queued_bytes() > config_.max_queued_bytes) {
    return false;
  }
  SendDone posted;
  if (done) {
    // A connection may report a cancelled write when this transport is gone.
    posted = [this, alive = alive_, done = std::move(done)](bool sent) {
      if (*alive) {
        later([done, sent] { done(sent); });
      }
    };
  }
  const bool is_bulk = priority == Priority::kBulk;
  (is_bulk ? link->stats.bulk_bytes_sent : link->stats.control_bytes_sent) += frame->size();
  if (is_bulk && link->lane_up) {
    const std::size_t size = frame->size();
    link->lane_queued_bytes += size;
    lane_->send(link->id, std::move(frame),
                [this, id = link->id, size, posted = std::move(posted)](bool sent) {
                  if (Link* still = find(id)) {
                    still->lane_queued_bytes -= size;
                  }
                  if (posted) {
                    posted(sent);
                  }
                });
  } else {
    link->connection->send(priority, std::move(frame), std::move(posted));
  }
  return true;
}

void TcpTransport::close(const PeerId& peer, const std::string& reason) {
  const Link* link = link_of(peer);
  if (link != nullptr) {
    drop(link->id, reason);
  }
}

std::vector<LinkStats> TcpTransport::links() const {
  std::vector<LinkStats> all;
  for (const auto& [id, link] : links_) {
    if (link.stage == Stage::kUp) {
      LinkStats stats = link.stats;
      stats.bulk = link.lane_up ? "ucx" : "tcp";
      stats.queued_bytes = link.queued_bytes();
      all.push_back(std::move(stats));
    }
  }
  return all;
}

void TcpTransport::on_lane_up(LaneKey key) {
  Link* link = find(key);
  if (link != nullptr && link->stage == Stage::kLane) {
    link->lane_up = true;
    lane_failures_.erase(link->remote_host);
    come_up(*link);
  }
}

void TcpTransport::on_lane_down(LaneKey key, const std::string& reason) {
  drop(key, "bulk lane: " + reason);
}

void TcpTransport::on_lane_frame(LaneKey key, Bytes frame) {
  Link* link = find(key);
  if (link == nullptr || link->stage != Stage::kUp) {
    return;
  }
  link->last_heard = executor_.now();
  link->stats.bulk_bytes_received += frame.size();
  later([this, peer = link->remote.peer, moved = std::move(frame)]() mutable {
    events_.on_frame(peer, std::move(moved));
  });
}

void TcpTransport::schedule_heartbeat() {
  heartbeat_ = executor_.after(config_.heartbeat_interval, [this] {
    heartbeat();
    schedule_heartbeat();
  });
}

void TcpTransport::heartbeat() {
  std::vector<LinkId> silent;
  for (auto& [id, link] : links_) {
    if (link.stage != Stage::kUp) {
      continue;
    }
    // Part of a long frame is a sign of life too.
    const std::uint64_t received = link.connection->received_bytes();
    if (std::exchange(link.received_bytes, received) != received) {
      link.last_heard = executor_.now();
    }
    if (executor_.now() - link.last_heard > config_.watchdog) {
      silent.push_back(id);
    } else {
      send_frame(link, FrameKind::kPing, {}, static_cast<std::uint64_t>(executor_.now().count()));
    }
  }
  for (const LinkId id : silent) {
    drop(id, "silent for the watchdog time");
  }
}

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(UvExecutor& executor,
                                              const TcpTransportConfig& config,
                                              const MakeLane& make_lane) {
  return std::make_unique<TcpTransport>(executor, config, make_lane);
}

}  // namespace hobnob
