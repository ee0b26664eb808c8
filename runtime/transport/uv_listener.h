#pragma once

#include <uv.h>

#include <cstdint>
#include <memory>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/loop/executor.h"

// Private to runtime/transport: a listening TCP socket on libuv.

namespace hobnob {

// Loop thread only. Destroying it closes the socket; no call of `on_connection` after that.
class UvListener {
 public:
  // `on_connection` runs for a connection that waits to be accepted; until it is, libuv holds it
  // and those behind it. kInvalidArgument when the address cannot be had.
  static Result<std::unique_ptr<UvListener>> listen(uv_loop_t* loop,
                                                    const Endpoint& endpoint,
                                                    Task on_connection);
  ~UvListener();
  UvListener(const UvListener&) = delete;
  UvListener& operator=(const UvListener&) = delete;

  // For uv_accept.
  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(tcp_); }

  // The port really bound.
  std::uint16_t port() const;

 private:
  UvListener(uv_loop_t* loop, Task on_connection);

  uv_tcp_t* tcp_;  // deleted when libuv has let go of it
  Task on_connection_;
};

}  // namespace hobnob
