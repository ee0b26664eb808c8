#include <uv.h>

#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/transport/ucx_lane.h"

namespace hobnob {
namespace {

// Connections that have not said hello yet.
constexpr std::size_t kMaxStrangers = 64;
// How often deadlines are looked at, as a part of the deadline.
constexpr int kChecksPerDeadline = 8;

}  // namespace

void UcxLane::take_arrivals() {
  for (const UcxListeners::Arrival& arrival : listeners_.take_arrivals()) {
    if (count_strangers() >= kMaxStrangers) {
      ucp_listener_reject(arrival.listener, arrival.request);
      continue;
    }
    UcxLink& link = *add_connection().link;
    if (const ucs_status_t status = link.take(arrival.request); status != UCS_OK) {
      log_debug("bulk lane: connection not taken: %s", ucs_status_string(status));
      link.force_close();
    }
  }
  watch();
}

ucs_status_t UcxLane::on_hello(void* self,
                               const void* header,
                               std::size_t header_length,
                               void*,
                               std::size_t,
                               const ucp_am_recv_param_t* param) {
  UcxLane& lane = *static_cast<UcxLane*>(self);
  ByteReader reader({static_cast<const std::byte*>(header), header_length});
  const auto token = reader.get<std::uint64_t>();
  if (!reader.done() || (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) {
    return UCS_OK;
  }
  for (const auto& [id, connection] : lane.connections_) {
    if (connection.link->endpoint() == param->reply_ep && !connection.has_lane) {
      lane.progress_.later([&lane, id = id, token] { lane.attach(id, token); });
    }
  }
  return UCS_OK;
}

void UcxLane::attach(LinkId id, std::uint64_t token) {
  const auto connection = connections_.find(id);
  if (connection == connections_.end() || connection->second.has_lane ||
      connection->second.link->is_closed()) {
    return;
  }
  UcxLink& link = *connection->second.link;
  const auto found = expected_.find(token);
  if (found == expected_.end()) {
    log_debug("bulk lane: connection with an unknown token");
    link.force_close();
    return;
  }
  const LaneKey key = found->second;
  expected_.erase(found);
  connection->second.key = key;
  connection->second.has_lane = true;
  lanes_.at(key).link = id;
  routes_[{token, false}] = id;
  link.set_route(token, false);
  link.send_hello(kHelloAckMessage);
  mark_up(key);
}

ucs_status_t UcxLane::on_hello_ack(void* self,
                                   const void* header,
                                   std::size_t header_length,
                                   void*,
                                   std::size_t,
                                   const ucp_am_recv_param_t*) {
  UcxLane& lane = *static_cast<UcxLane*>(self);
  ByteReader reader({static_cast<const std::byte*>(header), header_length});
  const LinkId id = lane.find_route(reader.get<std::uint64_t>(), true);
  if (reader.done() && id != 0) {
    lane.progress_.later([&lane, key = lane.connections_.at(id).key] { lane.mark_up(key); });
  }
  return UCS_OK;
}

// From here on frames pass; what waited for it goes first.
void UcxLane::mark_up(LaneKey key) {
  const auto found = lanes_.find(key);
  if (found == lanes_.end() || found->second.is_up) {
    return;
  }
  found->second.is_up = true;
  UcxLink& link = *find_link(found->second.link);
  for (Waiting& each : found->second.waiting) {
    link.send(std::move(each.frame), std::move(each.done));
  }
  found->second.waiting.clear();
  link.pump();
  watch();
  events_.on_up(key);
}

ucs_status_t UcxLane::on_chunk(void* self,
                               const void* header,
                               std::size_t header_length,
                               void* data,
                               std::size_t length,
                               const ucp_am_recv_param_t* param) {
  UcxLane& lane = *static_cast<UcxLane*>(self);
  const bool is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  const Result<ChunkHeader> chunk =
      decode_chunk_header({static_cast<const std::byte*>(header), header_length});
  const LinkId id =
      chunk.ok() ? lane.find_route(chunk.value().token, chunk.value().to_dialer != 0) : 0;
  if (id == 0) {
    // Of a lane that is closed here, or of nobody.
    return is_rendezvous ? UCS_ERR_CANCELED : UCS_OK;
  }
  const Connection& connection = lane.connections_.at(id);
  const auto found = lane.lanes_.find(connection.key);
  if (found != lane.lanes_.end() && !found->second.is_up) {
    // The frame overtook the answer to our hello and says the same.
    lane.progress_.later([&lane, key = connection.key] { lane.mark_up(key); });
  }
  return connection.link->receive(chunk.value(), data, length, param);
}

void UcxLane::lose(LaneKey key, const std::string& reason) {
  const auto found = lanes_.find(key);
  if (found == lanes_.end()) {
    return;
  }
  remove(found);
  falling_.insert(key);
  // After the sends that are done with false, unless one of those closes the lane.
  progress_.later([this, key, reason] {
    if (falling_.erase(key) > 0) {
      events_.on_down(key, reason);
    }
  });
}

void UcxLane::link_broke(LinkId id, const std::string& reason) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.link->is_closed()) {
    return;
  }
  if (found->second.has_lane) {
    lose(found->second.key, reason);
  } else {
    found->second.link->force_close();
  }
}

void UcxLane::link_received(LinkId id, Bytes frame) {
  const auto found = connections_.find(id);
  if (found != connections_.end() && !found->second.link->is_closed()) {
    events_.on_frame(found->second.key, std::move(frame));
  }
}

void UcxLane::link_has_room(LinkId id) {
  if (UcxLink* const link = find_link(id)) {
    link->pump();
  }
}

void UcxLane::watch() {
  if (watchdog_ == 0) {
    watchdog_ = executor_.after(config_.progress_deadline / kChecksPerDeadline,
                                [this] { check_deadlines(); });
  }
}

bool UcxLane::is_late(const Lane& lane, std::uint64_t now, std::string& reason) const {
  const auto deadline = static_cast<std::uint64_t>(config_.progress_deadline.count());
  const UcxLink* const link = find_link(lane.link);
  const auto deadline_ms = static_cast<unsigned long long>(deadline / 1'000'000);
  if (!lane.is_up) {
    reason = format("not connected within %llu ms", deadline_ms);
    return now - lane.since_ns > deadline;
  }
  reason = format("no progress for %llu ms", deadline_ms);
  return link != nullptr && link->has_sends() && now - link->progress_ns() > deadline;
}

// UCX says nothing about a peer that is frozen or behind a dead link.
void UcxLane::check_deadlines() {
  watchdog_ = 0;
  const std::uint64_t now = uv_hrtime();
  std::vector<std::pair<LaneKey, std::string>> late;
  bool is_waiting = false;
  for (const auto& [key, lane] : lanes_) {
    std::string reason;
    if (is_late(lane, now, reason)) {
      late.emplace_back(key, std::move(reason));
    }
    const UcxLink* const link = find_link(lane.link);
    is_waiting = is_waiting || !lane.is_up || (link != nullptr && link->has_sends());
  }
  for (const auto& [key, reason] : late) {
    lose(key, reason);
  }
  for (auto& [id, connection] : connections_) {
    if (connection.has_lane || connection.link->is_closed()) {
      continue;
    }
    if (now - connection.since_ns > static_cast<std::uint64_t>(config_.progress_deadline.count())) {
      connection.link->force_close();
    } else {
      is_waiting = true;
    }
  }
  if (is_waiting) {
    watch();
  }
}

std::size_t UcxLane::count_strangers() const {
  std::size_t count = 0;
  for (const auto& [id, connection] : connections_) {
    count += connection.has_lane ? 0 : 1;
  }
  return count;
}

}  // namespace hobnob
