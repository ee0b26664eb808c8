#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/transport/bulk_lane.h"
#include "runtime/transport/transport.h"

namespace hobnob {

struct TcpTransportConfig {
  // This end's introduction; advertise is filled in by listen() when its port is 0.
  Hello hello;
  // Networks on which bulk frames may go over the lane (UCX); elsewhere they go over the TCP
  // connection.
  std::vector<Cidr> trusted_networks;
  // From connecting to link up, lane included. Larger: a half-open connection costs a slot for
  // longer.
  Duration handshake_deadline = std::chrono::seconds(5);
  Duration heartbeat_interval = std::chrono::seconds(1);
  // Nothing heard for this long: the link goes down. Below 3 heartbeats a busy machine loses links
  // for nothing.
  Duration watchdog = std::chrono::seconds(5);
  // A longer bulk frame closes the link. What the job's largest fragment needs is enough.
  std::size_t max_frame_bytes = kFrameHeaderBytes + kMaxFramePayloadBytes;
  // Links, and connections still shaking hands. More are refused.
  std::size_t max_links = 1024;
  std::size_t max_pending = 64;
  // Waiting in one link's queue; send() says false above it.
  std::size_t max_queued_bytes = std::size_t{256} << 20U;
};

// Makes the lane when the transport has the events for it; may return null.
using MakeLane = std::function<std::unique_ptr<BulkLane>(BulkLane::Events)>;

// A link is one TCP connection on libuv, plus a bulk lane where both ends trust the network between
// them. Of two connections to the same peer the one that the lower id accepts first stays. Loop
// thread only.
std::unique_ptr<Transport> make_tcp_transport(UvExecutor& executor,
                                              const TcpTransportConfig& config,
                                              const MakeLane& make_lane);

}  // namespace hobnob
