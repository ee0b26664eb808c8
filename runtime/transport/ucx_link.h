#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/transport/ucx_frames.h"
#include "runtime/transport/ucx_progress.h"
#include "runtime/transport/ucx_worker.h"

namespace hobnob {

using LinkId = std::uint64_t;

// Active message numbers.
constexpr unsigned kHelloMessage = 1;     // header: token; dialer to acceptor
constexpr unsigned kHelloAckMessage = 2;  // header: token; acceptor to dialer
constexpr unsigned kChunkMessage = 3;     // header: ChunkHeader

constexpr std::size_t kMaxChunksInFlight = 4;

// What a link tells its lane. Runs as a task of the loop, never inside a UCX callback.
class UcxLinkObserver {
 public:
  virtual ~UcxLinkObserver() = default;
  virtual void link_broke(LinkId link, const std::string& reason) = 0;
  virtual void link_received(LinkId link, Bytes frame) = 0;
  // A chunk was handed over: there may be room for the next.
  virtual void link_has_room(LinkId link) = 0;
  // Closed, and UCX holds nothing of it any more: it may be destroyed.
  virtual void link_is_gone(LinkId link) = 0;
};

// One UCX endpoint: frames out in chunks, frames in. UCX holds pointers to it until link_is_gone.
class UcxLink {
 public:
  struct Place {
    LinkId id;
    ucp_worker_h worker;
    UcxProgress& turn;
    UcxLinkObserver& observer;
  };

  UcxLink(const Place& place, const FrameLimits& limits);
  UcxLink(const UcxLink&) = delete;
  UcxLink& operator=(const UcxLink&) = delete;

  ucs_status_t dial(const SocketAddress& remote);
  ucs_status_t take(ucp_conn_request_h request);
  void set_route(std::uint64_t token, bool is_dialer);
  // kHelloMessage or kHelloAckMessage with the token.
  void send_hello(unsigned message);
  void send(SharedBytes frame, std::function<void(bool)> done);
  // Starts chunks while there is room.
  void pump();
  // From inside kChunkMessage's callback.
  ucs_status_t receive(const ChunkHeader& header,
                       void* data,
                       std::size_t length,
                       const ucp_am_recv_param_t* param);
  // Everything unfinished is cancelled; link_is_gone follows. Not inside a UCX callback.
  void force_close();

  LinkId id() const { return place_.id; }

  ucp_ep_h endpoint() const { return endpoint_; }

  bool is_closed() const { return is_closed_; }

  bool is_gone() const { return is_closed_ && requests_ == 0; }

  bool has_sends() const { return !sends_.empty(); }

  // uv_hrtime of the last completion, or of the first send after a rest.
  std::uint64_t progress_ns() const { return progress_ns_; }

 private:
  struct Send {
    SharedBytes frame;
    std::function<void(bool)> done;
    std::uint64_t number = 0;
    std::size_t next_offset = 0;
    std::size_t chunks_unsent = 0;
    std::size_t chunks_unfinished = 0;
  };

  // What UCX reads while a message is in flight.
  struct Slot {
    UcxLink* link = nullptr;
    Bytes header;
    SharedBytes frame;
    std::uint64_t number = 0;
    bool is_busy = false;
  };

  // A chunk on its way into its frame.
  struct Landing {
    UcxLink* link;
    std::uint64_t frame;
    std::list<Landing>::iterator self;
  };

  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);
  static void on_sent(void* request, ucs_status_t status, void* slot);
  static void on_landed(void* request, ucs_status_t status, std::size_t length, void* landing);
  static void on_closed(void* request, ucs_status_t status, void* self);

  void fill_in(ucp_ep_params_t& params);
  void broke(const std::string& reason);
  Slot* free_slot();
  Send* next_send();
  bool start_chunk(Send& send, Slot& slot);
  void chunk_sent(Slot& slot, ucs_status_t status);
  void finish_sends();
  void chunk_landed(Landing& landing, ucs_status_t status);
  void deliver();
  void request_done();

  const Place place_;
  const FrameLimits limits_;
  std::uint64_t token_ = 0;
  bool is_dialer_ = false;
  bool is_closed_ = false;
  ucp_ep_h endpoint_ = nullptr;
  // link_has_room is on its way.
  bool room_is_due_ = false;
  // Callbacks that UCX still owes.
  std::size_t requests_ = 0;
  Slot hello_;
  std::array<Slot, kMaxChunksInFlight> slots_;
  std::deque<Send> sends_;
  std::uint64_t next_number_ = 0;
  std::uint64_t progress_ns_ = 0;
  FrameAssembler assembler_;
  std::list<Landing> landings_;
};

}  // namespace hobnob
