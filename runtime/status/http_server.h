#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/loop/executor.h"

namespace hobnob {

struct HttpRequest {
  std::string path;                          // "/history"
  std::map<std::string, std::string> query;  // decoded
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// GET and HEAD over HTTP/1.1 on the loop's own thread (libmicrohttpd, driven by its epoll
// descriptor). Other methods get 405, a request line and headers over 16 KiB or a body get 4xx and
// the connection is closed.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  virtual ~HttpServer() = default;

  // With the port that was really bound.
  virtual const Endpoint& endpoint() const = 0;
};

// kIo when the address cannot be bound; the message names it and the remedy. The handler runs on
// the loop thread.
Result<std::unique_ptr<HttpServer>> make_http_server(UvExecutor& executor,
                                                     const Endpoint& listen,
                                                     HttpServer::Handler handler);

}  // namespace hobnob
