#include "runtime/status/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/loop/executor.h"

namespace hobnob {
namespace {

// A blocking connection to 127.0.0.1; gives up after ten seconds of silence.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  ~Client() { ::close(fd_); }

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_connected() const { return is_connected_; }

  bool write(const std::string& text) {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  void end_writing() { ::shutdown(fd_, SHUT_WR); }

  // Everything until the server closes.
  std::string read_all() {
    std::string text;
    char piece[4096];
    ssize_t got = 0;
    while ((got = ::recv(fd_, piece, sizeof(piece), 0)) > 0) {
      text.append(piece, static_cast<std::size_t>(got));
    }
    return text;
  }

  std::string read_until(const std::string& end) {
    std::string text;
    char byte = 0;
    while (!text.ends_with(end) && ::recv(fd_, &byte, 1, 0) == 1) {
      text += byte;
    }
    return text;
  }

 private:
  int fd_;
  bool is_connected_ = false;
};

HttpResponse echo(const HttpRequest& request) {
  if (request.path == "/missing") {
    return {.status = 404, .content_type = "text/plain", .body = "no such page"};
  }
  std::string body = request.path;
  for (const auto& [key, value] : request.query) {
    body += " " + key + "=" + value;
  }
  return {.status = 200, .content_type = "text/plain", .body = body};
}

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() : executor_(make_uv_executor()) {
    auto made = make_http_server(*executor_, {.host = "127.0.0.1", .port = 0}, echo);
    EXPECT_TRUE(made.ok());
    if (made.ok()) {
      server_ = std::move(made).value();
    }
  }

  // Runs the loop while `talk` runs on a thread of its own.
  void serve(const std::function<void(std::uint16_t)>& talk) {
    std::thread client([&] {
      talk(server_->endpoint().port);
      executor_->stop();
    });
    executor_->run();
    client.join();
  }

  std::string ask(const std::string& request) {
    std::string reply;
    serve([&](std::uint16_t port) {
      Client client(port);
      client.write(request);
      reply = client.read_all();
    });
    return reply;
  }

  std::unique_ptr<UvExecutor> executor_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, ReportsThePortItBound) {
  EXPECT_EQ(server_->endpoint().host, "127.0.0.1");
  EXPECT_NE(server_->endpoint().port, 0);
}

TEST_F(HttpServerTest, GivesTheHandlerPathAndDecodedQuery) {
  const std::string reply =
      ask("GET /history?from=3&name=a%20b%26c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << reply;
  EXPECT_NE(reply.find("Content-Type: text/plain"), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\n/history from=3 name=a b&c")) << reply;
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  const std::string reply = ask("HEAD /abc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << reply;
  EXPECT_NE(reply.find("Content-Length: 4"), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\n")) << reply;
}

TEST_F(HttpServerTest, PassesTheHandlersStatusOn) {
  const std::string reply = ask("GET /missing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 404")) << reply;
  EXPECT_TRUE(reply.ends_with("no such page")) << reply;
}

TEST_F(HttpServerTest, RefusesOtherMethodsAndNamesTheAllowedOnes) {
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
    const std::string reply =
        ask(method + " / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 405")) << method << ": " << reply;
    EXPECT_NE(reply.find("Allow: GET, HEAD\r\n"), std::string::npos) << reply;
  }
}

TEST_F(HttpServerTest, RefusesBodiesAndCloses) {
  for (const std::string header : {"Content-Length: 5", "Transfer-Encoding: chunked"}) {
    const std::string reply = ask("GET / HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\nhello");
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 413")) << reply;
    EXPECT_EQ(reply.find("HTTP/1.1", 1), std::string::npos) << reply;
  }
}

TEST_F(HttpServerTest, RefusesLongHeadersAndCloses) {
  for (const std::size_t bytes : {17U << 10U, 64U << 10U}) {
    const std::string reply =
        ask("GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(bytes, 'a') + "\r\n\r\n");
    EXPECT_TRUE(reply.empty() || reply.starts_with("HTTP/1.1 4") || reply.starts_with("HTTP/1.0 4"))
        << reply;
  }
}

TEST_F(HttpServerTest, RefusesALongRequestLine) {
  const std::string reply = ask("GET /" + std::string(40000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(reply.empty() || reply.starts_with("HTTP/1.1 4") || reply.starts_with("HTTP/1.0 4"))
      << reply;
}

TEST_F(HttpServerTest, SurvivesGarbage) {
  serve([&](std::uint16_t port) {
    Client client(port);
    client.write("\x01\xff\x02 garbage\r\n\r\n");
    client.end_writing();
    client.read_all();
  });
  const std::string reply = ask("GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(reply.ends_with("/ok")) << reply;
}

TEST_F(HttpServerTest, ServesManyRequestsOnOneConnection) {
  serve([&](std::uint16_t port) {
    Client client(port);
    for (int i = 0; i < 20; ++i) {
      const std::string path = "/number" + std::to_string(i) + ".";
      ASSERT_TRUE(client.write("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"));
      EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
      EXPECT_EQ(client.read_until("."), path);
    }
  });
}

TEST_F(HttpServerTest, RefusesATakenPortAndNamesTheRemedy) {
  const auto second = make_http_server(*executor_, server_->endpoint(), echo);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kIo);
  EXPECT_EQ(second.error().message, "http: cannot listen on " + server_->endpoint().text() +
                                        ": address in use; choose another --http");
}

TEST_F(HttpServerTest, RefusesAnAddressThatIsNotHere) {
  const auto made = make_http_server(*executor_, {.host = "198.51.100.1", .port = 0}, echo);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kIo);
}

TEST_F(HttpServerTest, LeavesTheLoopRunningWhenDestroyed) {
  serve([&](std::uint16_t port) {
    Client held(port);
    held.write("GET /half HTTP/1.1\r\n");
    executor_->post([&] { server_.reset(); });
    EXPECT_EQ(held.read_all(), "");
  });
  EXPECT_EQ(server_, nullptr);
  bool ran = false;
  executor_->after(std::chrono::milliseconds(1), [&] {
    ran = true;
    executor_->stop();
  });
  executor_->run();
  EXPECT_TRUE(ran);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_F(HttpServerTest, SleepsWhileConnectionsAreIdleEvenAtTheLimit) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 80; ++i) {
    clients.push_back(std::make_unique<Client>(server_->endpoint().port));
    EXPECT_TRUE(clients.back()->is_connected());
  }
  double before = 0;
  executor_->after(std::chrono::milliseconds(50), [&] { before = cpu_seconds(); });
  executor_->after(std::chrono::milliseconds(350), [&] { executor_->stop(); });
  executor_->run();
  EXPECT_LT(cpu_seconds() - before, 0.05);
}

}  // namespace
}  // namespace hobnob
