#include "runtime/transport/uv_tcp_transport.h"

#include <uv.h>

#include <utility>

namespace hobnob {

namespace {

constexpr std::size_t kMaxEarlyFrames = 64;

}  // namespace

TcpTransport::TcpTransport(UvExecutor& executor,
                           const TcpTransportConfig& config,
                           const MakeLane& make_lane)
    : executor_(executor),
      config_(config),
      alive_(std::make_shared<bool>(true)),
      resolver_(loop()) {
  if (make_lane) {
    lane_ = make_lane(
        {.on_up = [this](LaneKey id) { on_lane_up(id); },
         .on_down = [this](LaneKey id, const std::string& why) { drop(id, "bulk lane: " + why); },
         .on_frame = [this](LaneKey id, Bytes frame) { on_lane_frame(id, std::move(frame)); }});
  }
}

TcpTransport::~TcpTransport() {
  *alive_ = false;
  executor_.cancel(heartbeat_);
  for (auto& [id, link] : links_) {
    executor_.cancel(link.deadline);
  }
  lane_.reset();
  links_.clear();
}

void TcpTransport::start(Events events) {
  events_ = std::move(events);
  is_started_ = true;
  schedule_heartbeat();
  if (std::exchange(has_waiting_, false)) {
    accept_connection();
  }
}

Result<Endpoint> TcpTransport::listen(const Endpoint& endpoint) {
  Result<std::unique_ptr<UvListener>> listener =
      UvListener::listen(loop(), endpoint, [this] { on_connection(); });
  if (!listener.ok()) {
    return listener.error();
  }
  listener_ = std::move(listener).value();
  const Endpoint real{endpoint.host, listener_->port()};
  if (config_.hello.advertise.port == 0) {
    const bool has_host = !config_.hello.advertise.host.empty();
    config_.hello.advertise = {has_host ? config_.hello.advertise.host : real.host, real.port};
  }
  return real;
}

bool TcpTransport::send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) {
  TcpLink* link = link_of(peer);
  if (link == nullptr || !link->is_up() || link->queued_bytes() > config_.max_queued_bytes) {
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
                  if (TcpLink* still = find(id)) {
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
  const TcpLink* link = link_of(peer);
  if (link != nullptr) {
    drop(link->id, reason);
  }
}

std::vector<LinkStats> TcpTransport::links() const {
  std::vector<LinkStats> all;
  for (const auto& [id, link] : links_) {
    if (link.is_up()) {
      LinkStats stats = link.stats;
      stats.bulk = link.lane_up ? "ucx" : "tcp";
      stats.queued_bytes = link.queued_bytes();
      all.push_back(std::move(stats));
    }
  }
  return all;
}

void TcpTransport::on_frame(TcpLink::Id id, Priority priority, Bytes bytes) {
  TcpLink* link = find(id);
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
  const FrameHeader header = frame.value().header;
  if (header.kind == FrameKind::kPing) {
    on_ping(*link, header.seq);
    return;
  }
  if (header.kind == FrameKind::kPong) {
    on_pong(*link, header.seq);
    return;
  }
  if (header.kind <= FrameKind::kLaneAnswer) {
    const Result<void> handled = on_handshake_frame(*link, frame.value());
    if (!handled.ok()) {
      drop(id, handled.error().message);
    }
    return;
  }
  if (link->stage == LinkStage::kLane && priority == Priority::kControl &&
      link->early.size() < kMaxEarlyFrames) {
    link->early.push_back(std::move(bytes));
    return;
  }
  if (!link->is_up()) {
    drop(id, "frame before the link was up");
    return;
  }
  later([this, peer = link->remote.peer, moved = std::move(bytes)]() mutable {
    events_.on_frame(peer, std::move(moved));
  });
}

void TcpTransport::on_ping(TcpLink& link, std::uint64_t seq) {
  // Not to one that asks and does not read.
  if (link.connection->queued_bytes() <= config_.max_queued_bytes) {
    send_frame(link, FrameKind::kPong, {}, seq);
  }
}

// The echo carries the time at which this end sent its ping.
void TcpTransport::on_pong(TcpLink& link, std::uint64_t seq) {
  const Time now = executor_.now();
  if (seq > static_cast<std::uint64_t>(now.count())) {
    return;
  }
  const Duration sample = now - Time{static_cast<std::int64_t>(seq)};
  if (sample < std::chrono::hours(1)) {
    Duration& mean = link.stats.round_trip;
    mean = mean.count() == 0 ? sample : (7 * mean + sample) / 8;
  }
}

void TcpTransport::on_lane_frame(TcpLink::Id id, Bytes frame) {
  TcpLink* link = find(id);
  if (link == nullptr || !link->is_up()) {
    return;
  }
  link->last_heard = executor_.now();
  link->stats.bulk_bytes_received += frame.size();
  later([this, peer = link->remote.peer, moved = std::move(frame)]() mutable {
    events_.on_frame(peer, std::move(moved));
  });
}

void TcpTransport::send_frame(TcpLink& link, FrameKind kind, ByteSpan payload, std::uint64_t seq) {
  const FrameHeader header{.kind = kind, .seq = seq};
  Bytes frame = encode_frame(header, payload);
  link.stats.control_bytes_sent += frame.size();
  link.connection->send(Priority::kControl, share(std::move(frame)), nullptr);
}

void TcpTransport::schedule_heartbeat() {
  heartbeat_ = executor_.after(config_.heartbeat_interval, [this] {
    heartbeat();
    schedule_heartbeat();
  });
}

void TcpTransport::heartbeat() {
  std::vector<TcpLink::Id> silent;
  for (auto& [id, link] : links_) {
    if (!link.is_up()) {
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
  for (const TcpLink::Id id : silent) {
    drop(id, "silent for the watchdog time");
  }
}

// Forgets the link and tells whoever must know.
void TcpTransport::drop(TcpLink::Id id, const std::string& reason) {
  TcpLink* found = find(id);
  if (found == nullptr) {
    return;
  }
  TcpLink link = std::move(*found);
  links_.erase(id);
  executor_.cancel(link.deadline);
  if (lane_ != nullptr && link.stage >= LinkStage::kLane) {
    lane_->close(id);
  }
  const auto mapped = by_peer_.find(link.remote.peer);
  if (mapped != by_peer_.end() && mapped->second == id) {
    by_peer_.erase(mapped);
  }
  if (link.is_up()) {
    later([this, peer = link.remote.peer, reason] { events_.on_link_down(peer, reason); });
  } else {
    handshake_failed(link, reason);
  }
}

TcpLink* TcpTransport::find(TcpLink::Id id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : &found->second;
}

TcpLink* TcpTransport::link_of(const PeerId& peer) {
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() ? nullptr : find(found->second);
}

// Runs later on the loop, unless the transport is gone by then.
void TcpTransport::later(Task task) {
  executor_.post([alive = alive_, task = std::move(task)] {
    if (*alive) {
      task();
    }
  });
}

std::unique_ptr<Transport> make_tcp_transport(UvExecutor& executor,
                                              const TcpTransportConfig& config,
                                              const MakeLane& make_lane) {
  return std::make_unique<TcpTransport>(executor, config, make_lane);
}

}  // namespace hobnob
