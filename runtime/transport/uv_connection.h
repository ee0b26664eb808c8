#pragma once

#include <uv.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/transport/session.h"
#include "runtime/transport/transport.h"

// Private to runtime/transport: frames over one TCP connection on libuv.

namespace hobnob {

// Cuts frames into sealed records so that control frames overtake long bulk frames, and bounds what
// either side can make the other hold. Record: u32 length of the sealed body, u8 kind, u8[3] zero,
// body (FORMAT.md). Loop thread only.
class UvConnection {
 public:
  struct Events {
    std::function<void()> on_open;  // of a dialed connection
    std::function<void(Priority, Bytes)> on_frame;
    std::function<void(const std::string& reason)> on_closed;  // once; not after close()
  };

  struct Closer {
    void operator()(UvConnection* connection) const { connection->close(); }
  };

  // Destroying the pointer closes; the memory goes when libuv has let go of it. No event after
  // that.
  using Pointer = std::unique_ptr<UvConnection, Closer>;

  static Result<Pointer> dial(uv_loop_t* loop, const sockaddr* address, Events events);
  // Null when the connection was gone already.
  static Pointer accept(uv_stream_t* listener, Events events);

  void send(Priority priority, SharedBytes frame, Transport::SendDone done);
  // No more reading; on_closed("finished") when what is queued is written.
  void finish();

  // Addresses as text, without port; "" when not connected.
  std::string local_address() const;
  std::string remote_address() const;
  std::string remote_text() const;  // with port

  std::size_t queued_bytes() const { return queued_bytes_; }

  std::uint64_t received_bytes() const { return received_bytes_; }

  // The other end has introduced itself: from kMaxHelloBytes to the real limits. 0: no bulk.
  void trust(std::size_t max_bulk_bytes) {
    max_control_bytes_ = kFrameHeaderBytes + kMaxControlPayloadBytes;
    max_bulk_bytes_ = max_bulk_bytes;
  }

  static constexpr const char* kClosedByPeer = "closed by the other side";
  static constexpr std::size_t kMaxHelloBytes = 4096;
  static constexpr std::size_t kChunkBytes = std::size_t{256} << 10U;

 private:
  struct Outgoing {
    SharedBytes frame;
    std::size_t sent = 0;  // bytes already cut into records
    Transport::SendDone done;
  };
  struct Write;

  UvConnection(uv_loop_t* loop, Events events);
  ~UvConnection() = default;

  void close();
  void fail(std::string reason);
  void start_reading();
  void receive(ByteSpan bytes);
  bool take_record();
  bool take_body(std::uint8_t kind, Bytes body);
  void pump();
  void write_record(std::uint8_t kind, Bytes body, Outgoing finished, bool is_last);
  void drop_queue();

  static void on_alloc(uv_handle_t* handle, std::size_t suggested, uv_buf_t* buffer);
  static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer);
  static void on_written(uv_write_t* request, int status);

  uv_tcp_t tcp_{};
  uv_connect_t connect_{};
  Events events_;
  std::unique_ptr<Session> session_ = make_plain_session();
  bool is_closing_ = false;
  bool is_open_ = false;
  bool is_finishing_ = false;
  bool is_failed_ = false;

  std::deque<Outgoing> control_;
  std::deque<Outgoing> bulk_;
  std::size_t queued_bytes_ = 0;
  std::size_t writing_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;

  std::vector<char> read_buffer_;
  Bytes input_;
  std::size_t input_used_ = 0;
  Bytes assembling_;  // bulk frame so far
  std::size_t assembling_total_ = 0;
  std::size_t max_control_bytes_ = kMaxHelloBytes;
  std::size_t max_bulk_bytes_ = 0;
};

}  // namespace hobnob
