#include "runtime/status/http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

// libmicrohttpd without a thread of its own: its epoll descriptor is watched by the loop, and a
// timer stands in for its time-outs. Nothing runs while no client does anything. Loop thread only.

namespace hobnob {
namespace {

// A connection's whole memory; half of it is the most that a request line and headers may fill.
constexpr std::size_t kConnectionBytes = std::size_t{32} * 1024;
constexpr std::size_t kMaxHeaderBytes = kConnectionBytes / 2;
constexpr unsigned int kMaxConnections = 64;
constexpr unsigned int kTimeoutSeconds = 10;

Error cannot_listen(const Endpoint& listen, const char* why) {
  return make_error(ErrorCode::kIo, "http: cannot listen on %s: %s; choose another --http",
                    listen.text().c_str(), why);
}

std::string errno_text(int code) {
  if (code == EADDRINUSE) {
    return "address in use";
  }
  std::string text = ::strerror(code);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

// A listening descriptor on exactly this address, or -1 with errno set.
int open_listener(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  const int on = 1;
  bool ok = ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0;
  if (address.ai_family == AF_INET6) {
    ok = ok && ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0;
  }
  ok = ok && ::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0;
  if (!ok) {
    const int code = errno;
    ::close(fd);
    errno = code;
    return -1;
  }
  return fd;
}

Result<int> listen_on(const Endpoint& listen) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed =
      ::getaddrinfo(listen.host.c_str(), std::to_string(listen.port).c_str(), &hints, &found);
  if (failed != 0) {
    return cannot_listen(listen, ::gai_strerror(failed));
  }
  int fd = -1;
  int code = EADDRNOTAVAIL;
  for (const addrinfo* address = found; address != nullptr && fd < 0; address = address->ai_next) {
    fd = open_listener(*address);
    code = fd < 0 ? errno : 0;
  }
  ::freeaddrinfo(found);
  if (fd < 0) {
    return cannot_listen(listen, errno_text(code).c_str());
  }
  return fd;
}

std::uint16_t bound_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

[[gnu::format(printf, 2, 0)]] void log_library(void*, const char* pattern, va_list arguments) {
  char line[256];
  std::vsnprintf(line, sizeof(line), pattern, arguments);
  line[std::strcspn(line, "\n")] = '\0';
  log_debug("http: %s", line);
}

MHD_Result add_argument(void* query, MHD_ValueKind, const char* key, const char* value) {
  static_cast<std::map<std::string, std::string>*>(query)->insert_or_assign(
      key, value == nullptr ? "" : value);
  return MHD_YES;
}

MHD_Result answer(MHD_Connection* connection, const HttpResponse& response, bool close) {
  // The library does not write through the pointer: MUST_COPY.
  MHD_Response* const reply = MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
  if (reply == nullptr) {
    return MHD_NO;
  }
  MHD_add_response_header(reply, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
  if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(reply, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  if (close) {
    MHD_add_response_header(reply, MHD_HTTP_HEADER_CONNECTION, "close");
  }
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned int>(response.status), reply);
  MHD_destroy_response(reply);
  return queued;
}

MHD_Result refuse(MHD_Connection* connection, unsigned int status, const char* why) {
  return answer(connection,
                {.status = static_cast<int>(status), .content_type = "text/plain", .body = why},
                true);
}

bool has_body(MHD_Connection* connection) {
  const char* const length =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return (length != nullptr && std::strcmp(length, "0") != 0) ||
         MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                     MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
}

bool has_long_headers(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const size =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return size == nullptr || size->header_size > kMaxHeaderBytes;
}

// The loop's side: both handles in one block that lives until the later of their close callbacks.
struct Watch {
  uv_poll_t poll;
  uv_timer_t timer;
  MHD_Daemon* daemon = nullptr;
  int open_handles = 0;
};

void release(uv_handle_t* handle) {
  Watch* const watch = static_cast<Watch*>(handle->data);
  if (--watch->open_handles == 0) {
    delete watch;
  }
}

void run_daemon(Watch& watch);

void on_timer(uv_timer_t* timer) {
  run_daemon(*static_cast<Watch*>(timer->data));
}

void run_daemon(Watch& watch) {
  MHD_run(watch.daemon);
  MHD_UNSIGNED_LONG_LONG wait_ms = 0;
  if (MHD_get_timeout(watch.daemon, &wait_ms) == MHD_YES) {
    uv_timer_start(&watch.timer, on_timer, wait_ms, 0);
  } else {
    uv_timer_stop(&watch.timer);
  }
}

void on_poll(uv_poll_t* poll, int, int) {
  run_daemon(*static_cast<Watch*>(poll->data));
}

class MhdServer : public HttpServer {
 public:
  MhdServer(Endpoint endpoint, Handler handler)
      : endpoint_(std::move(endpoint)), handler_(std::move(handler)) {}

  ~MhdServer() override;
  MhdServer(const MhdServer&) = delete;
  MhdServer& operator=(const MhdServer&) = delete;

  // Takes over `listener`.
  bool start(UvExecutor& executor, int listener);

  const Endpoint& endpoint() const override { return endpoint_; }

 private:
  static MHD_Result on_request(void* self,
                               MHD_Connection* connection,
                               const char* path,
                               const char* method,
                               const char* version,
                               const char* body,
                               size_t* body_bytes,
                               void** seen);
  MHD_Result handle(MHD_Connection* connection, const char* path);

  const Endpoint endpoint_;
  const Handler handler_;
  Watch* watch_ = nullptr;
  bool is_in_handler_ = false;
};

bool MhdServer::start(UvExecutor& executor, int listener) {
  MHD_Daemon* const daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, on_request, this,
      MHD_OPTION_EXTERNAL_LOGGER, log_library, nullptr, MHD_OPTION_LISTEN_SOCKET, listener,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_CONNECTION_LIMIT,
      kMaxConnections, MHD_OPTION_CONNECTION_TIMEOUT, kTimeoutSeconds, MHD_OPTION_END);
  if (daemon == nullptr) {
    return false;
  }
  const MHD_DaemonInfo* const descriptor = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  auto* const loop = static_cast<uv_loop_t*>(executor.native_loop());
  Watch* const watch = new Watch;
  watch->daemon = daemon;
  if (descriptor == nullptr || uv_poll_init(loop, &watch->poll, descriptor->epoll_fd) != 0) {
    MHD_stop_daemon(daemon);
    delete watch;
    return false;
  }
  uv_timer_init(loop, &watch->timer);
  watch->open_handles = 2;
  watch->poll.data = watch;
  watch->timer.data = watch;
  uv_poll_start(&watch->poll, UV_READABLE, on_poll);
  watch_ = watch;
  return true;
}

MhdServer::~MhdServer() {
  HOBNOB_CHECK(!is_in_handler_, "http server destroyed by its own handler");
  if (watch_ == nullptr) {
    return;
  }
  // First the watching, then the descriptor that is watched.
  MHD_Daemon* const daemon = watch_->daemon;
  uv_close(reinterpret_cast<uv_handle_t*>(&watch_->poll), release);
  uv_close(reinterpret_cast<uv_handle_t*>(&watch_->timer), release);
  MHD_stop_daemon(daemon);
}

// The library calls this twice for a request: with its headers, when refusing is still possible
// before a body is read, and at its end.
MHD_Result MhdServer::on_request(void* self,
                                 MHD_Connection* connection,
                                 const char* path,
                                 const char* method,
                                 const char*,
                                 const char*,
                                 size_t*,
                                 void** seen) {
  if (*seen != nullptr) {
    return static_cast<MhdServer*>(self)->handle(connection, path);
  }
  *seen = self;
  if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
      std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
    return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
  }
  if (has_body(connection)) {
    return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "a request has no body here\n");
  }
  if (has_long_headers(connection)) {
    return refuse(connection, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "headers too long\n");
  }
  return MHD_YES;
}

MHD_Result MhdServer::handle(MHD_Connection* connection, const char* path) {
  HttpRequest request{.path = path, .query = {}};
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &request.query);
  is_in_handler_ = true;
  const HttpResponse response = handler_(request);
  is_in_handler_ = false;
  return answer(connection, response, false);
}

}  // namespace

Result<std::unique_ptr<HttpServer>> make_http_server(UvExecutor& executor,
                                                     const Endpoint& listen,
                                                     HttpServer::Handler handler) {
  const Result<int> listener = listen_on(listen);
  if (!listener.ok()) {
    return listener.error();
  }
  const Endpoint bound{.host = listen.host, .port = bound_port(listener.value())};
  auto server = std::make_unique<MhdServer>(bound, std::move(handler));
  if (!server->start(executor, listener.value())) {
    return cannot_listen(listen, "the http library did not start");
  }
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace hobnob
