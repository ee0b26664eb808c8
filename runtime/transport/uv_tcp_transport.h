#pragma once

#include <uv.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/transport/tcp_transport.h"
#include "runtime/transport/uv_listener.h"
#include "runtime/transport/uv_resolver.h"
#include "runtime/transport/uv_tcp_link.h"
#include "runtime/wire/frame.h"

// Private to runtime/transport: the Transport that make_tcp_transport gives.

namespace hobnob {

// Loop thread only. Owns its listener, its connections and the lane; destroying it closes them
// without events.
//
// uv_tcp_handshake.cc has the way from dialing or accepting to a link that is up, or to none;
// uv_tcp_transport.cc what the owner calls and what becomes of links that are up.
class TcpTransport final : public Transport {
 public:
  TcpTransport(UvExecutor& executor, const TcpTransportConfig& config, const MakeLane& make_lane);
  ~TcpTransport() override;
  TcpTransport(const TcpTransport&) = delete;
  TcpTransport& operator=(const TcpTransport&) = delete;

  void start(Events events) override;
  Result<Endpoint> listen(const Endpoint& endpoint) override;
  void dial(const Endpoint& endpoint) override;
  bool send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) override;
  void close(const PeerId& peer, const std::string& reason) override;

  bool is_reliable() const override { return true; }

  std::vector<LinkStats> links() const override;

 private:
  // Handshake.
  void on_connection();
  void accept_connection();
  void connect(const Endpoint& endpoint, const sockaddr* address);
  void dial_failed(const Endpoint& endpoint, const std::string& why, RefuseCode code);
  TcpLink& add_link(const Endpoint& dialed);
  UvConnection::Events connection_events(TcpLink::Id id);
  void say_hello(TcpLink& link);
  Result<void> on_handshake_frame(TcpLink& link, const Frame& frame);
  Result<void> on_hello(TcpLink& link, ByteSpan payload);
  Result<void> on_refuse(TcpLink& link, ByteSpan payload);
  bool yields_to(const TcpLink& existing, const TcpLink& fresh) const;
  void take_place(TcpLink& link);
  void refuse(TcpLink& link, RefuseCode code, std::string reason);
  void offer_lane(TcpLink& link);
  Result<void> on_lane_offer(TcpLink& link, ByteSpan payload);
  void on_lane_up(TcpLink::Id id);
  void come_up(TcpLink& link);
  void handshake_failed(const TcpLink& link, const std::string& reason);

  // Links.
  void on_frame(TcpLink::Id id, Priority priority, Bytes bytes);
  void on_ping(TcpLink& link, std::uint64_t seq);
  void on_pong(TcpLink& link, std::uint64_t seq);
  void on_lane_frame(TcpLink::Id id, Bytes frame);
  void send_frame(TcpLink& link, FrameKind kind, ByteSpan payload, std::uint64_t seq = 0);
  void schedule_heartbeat();
  void heartbeat();
  void drop(TcpLink::Id id, const std::string& reason);

  TcpLink* find(TcpLink::Id id);
  TcpLink* link_of(const PeerId& peer);
  void later(Task task);

  uv_loop_t* loop() { return static_cast<uv_loop_t*>(executor_.native_loop()); }

  UvExecutor& executor_;
  TcpTransportConfig config_;
  std::shared_ptr<bool> alive_;
  Events events_;
  std::unique_ptr<BulkLane> lane_;  // null: no lanes here
  bool is_started_ = false;
  bool has_waiting_ = false;  // a connection came before start(); libuv holds it
  std::unique_ptr<UvListener> listener_;
  UvResolver resolver_;
  TcpLink::Id last_id_ = 0;
  std::map<TcpLink::Id, TcpLink> links_;
  std::map<PeerId, TcpLink::Id> by_peer_;     // accepted; the lane may not be up yet
  std::map<std::string, int> lane_failures_;  // by the other end's host
  std::set<std::string> dialing_;             // until the link is up or the dial has failed
  TimerId heartbeat_ = 0;
};

}  // namespace hobnob
