#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/endpoint.h"
#include "runtime/loop/executor.h"
#include "runtime/transport/bulk_lane.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/uv_connection.h"
#include "runtime/wire/messages.h"

// Private to runtime/transport: what TcpTransport keeps of one connection.

namespace hobnob {

// How far a connection is on its way to being a link.
enum class LinkStage { kConnecting, kHello, kAwaitAccept, kLane, kUp };

// One connection, shaking hands or up, and its lane. Loop thread only.
struct TcpLink {
  using Id = LaneKey;  // names the lane too

  Id id = 0;
  LinkStage stage = LinkStage::kConnecting;
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
  LinkStats stats;

  bool is_dialed() const { return dialed.port != 0; }

  bool is_up() const { return stage == LinkStage::kUp; }

  std::size_t queued_bytes() const { return connection->queued_bytes() + lane_queued_bytes; }
};

}  // namespace hobnob
