#include "runtime/transport/uv_listener.h"

#include <netdb.h>

#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

constexpr int kBacklog = 128;

}  // namespace

UvListener::UvListener(uv_loop_t* loop, Task on_connection)
    : tcp_(new uv_tcp_t), on_connection_(std::move(on_connection)) {
  HOBNOB_CHECK(uv_tcp_init(loop, tcp_) == 0, "uv_tcp_init failed");
  tcp_->data = this;
}

UvListener::~UvListener() {
  uv_close(reinterpret_cast<uv_handle_t*>(tcp_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_tcp_t*>(handle); });
}

Result<std::unique_ptr<UvListener>> UvListener::listen(uv_loop_t* loop,
                                                       const Endpoint& endpoint,
                                                       Task on_connection) {
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
  std::unique_ptr<UvListener> listener(new UvListener(loop, std::move(on_connection)));
  int code = uv_tcp_bind(listener->tcp_, found->ai_addr, 0);
  freeaddrinfo(found);
  if (code == 0) {
    code = uv_listen(listener->stream(), kBacklog, [](uv_stream_t* stream, int status) {
      if (status == 0) {
        static_cast<UvListener*>(stream->data)->on_connection_();
      }
    });
  }
  if (code != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "listen %s: %s; choose another address, or port 0 for any free port",
                      endpoint.text().c_str(), uv_strerror(code));
  }
  return listener;
}

std::uint16_t UvListener::port() const {
  sockaddr_storage bound{};
  int size = sizeof bound;
  uv_tcp_getsockname(tcp_, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  return ntohs(port);
}

}  // namespace hobnob
