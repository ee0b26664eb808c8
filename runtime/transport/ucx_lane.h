#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/transport/bulk_lane.h"
#include "runtime/transport/ucx_link.h"
#include "runtime/transport/ucx_listener.h"
#include "runtime/transport/ucx_offer.h"
#include "runtime/transport/ucx_progress.h"
#include "runtime/transport/ucx_worker.h"

namespace hobnob {

// Lanes over UCX active messages. UCX's TCP ports trust whoever connects (remote memory write and
// crash, measured: design/transport.md section 1), and nothing above UCX can help: so it listens on
// trusted networks only, and the token that joins a connection to its lane prevents mix-ups, not
// attacks. Listener mode only: exchanging worker addresses crashes the survivor of a failure.
//
// ucx_lane.cc has what the owner calls, ucx_lane_events.cc what UCX, the links and the clock cause.
class UcxLane final : public BulkLane, private UcxLinkObserver {
 public:
  UcxLane(UvExecutor& executor,
          const BulkLaneConfig& config,
          Events events,
          std::unique_ptr<UcxWorker> worker);
  ~UcxLane() override;
  UcxLane(const UcxLane&) = delete;
  UcxLane& operator=(const UcxLane&) = delete;

  Result<Bytes> offer(const std::string& local_address) override;
  void accept(LaneKey key, std::uint64_t token) override;
  Result<void> connect(LaneKey key,
                       ByteSpan offer,
                       const std::string& remote_address,
                       std::uint64_t token) override;
  void send(LaneKey key, SharedBytes frame, std::function<void(bool)> done) override;
  void close(LaneKey key) override;

 private:
  struct Waiting {
    SharedBytes frame;
    std::function<void(bool)> done;
  };

  struct Lane {
    std::uint64_t token = 0;
    bool is_dialer = false;
    bool is_up = false;
    LinkId link = 0;  // 0: nobody has presented the token yet
    std::uint64_t since_ns = 0;
    std::vector<Waiting> waiting;  // for up
  };

  struct Connection {
    std::unique_ptr<UcxLink> link;
    LaneKey key = 0;
    bool has_lane = false;
    std::uint64_t since_ns = 0;
  };

  using Route = std::pair<std::uint64_t, bool>;  // token, towards the dialer

  void link_broke(LinkId id, const std::string& reason) override;
  void link_received(LinkId id, Bytes frame) override;
  void link_has_room(LinkId id) override;

  void link_is_gone(LinkId id) override { connections_.erase(id); }

  static ucs_status_t on_hello(void* self,
                               const void* header,
                               std::size_t header_length,
                               void* data,
                               std::size_t length,
                               const ucp_am_recv_param_t* param);
  static ucs_status_t on_hello_ack(void* self,
                                   const void* header,
                                   std::size_t header_length,
                                   void* data,
                                   std::size_t length,
                                   const ucp_am_recv_param_t* param);
  static ucs_status_t on_chunk(void* self,
                               const void* header,
                               std::size_t header_length,
                               void* data,
                               std::size_t length,
                               const ucp_am_recv_param_t* param);

  void handle_message(unsigned message, ucp_am_recv_callback_t callback);
  Connection& add_connection();
  void take_arrivals();
  void attach(LinkId id, std::uint64_t token);
  void mark_up(LaneKey key);
  void drop(LinkId id);
  void remove(std::map<LaneKey, Lane>::iterator lane);
  void lose(LaneKey key, const std::string& reason);
  void refuse(std::function<void(bool)> done);
  void watch();
  void check_deadlines();
  bool is_late(const Lane& lane, std::uint64_t now, std::string& reason) const;
  std::size_t count_strangers() const;
  LinkId find_route(std::uint64_t token, bool to_dialer) const;
  UcxLink* find_link(LinkId id) const;

  UvExecutor& executor_;
  const BulkLaneConfig config_;
  const Events events_;
  std::unique_ptr<UcxWorker> worker_;
  const LaneOffer identity_;
  UcxProgress progress_;
  UcxListeners listeners_;
  std::map<LaneKey, Lane> lanes_;
  std::map<std::uint64_t, LaneKey> expected_;  // by token
  std::map<Route, LinkId> routes_;
  std::unordered_map<LinkId, Connection> connections_;
  std::set<LaneKey> falling_;  // on_down is due
  LinkId next_link_ = 1;
  TimerId watchdog_ = 0;
};

}  // namespace hobnob
