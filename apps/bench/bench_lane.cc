// Frames of 64 MiB one way between two processes on loopback: a plain blocking socket, the bulk
// lane over TCP, the bulk lane over shared memory. Repetitions alternate; the best of each counts,
// since other load only slows. Prints one JSON line per measurement and one with the ratios. Usage:
// bench_lane [repetitions]

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/base/check.h"
#include "runtime/base/endpoint.h"
#include "runtime/loop/executor.h"
#include "runtime/transport/bulk_lane.h"

namespace hobnob {
namespace {

constexpr std::size_t kFrameBytes = std::size_t{64} << 20U;
constexpr std::size_t kFrameCount = 24;
constexpr std::size_t kMaxQueued = 3;
constexpr std::uint64_t kToken = 7;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void write_all(int fd, const std::byte* from, std::size_t count) {
  while (count > 0) {
    const ssize_t wrote = ::send(fd, from, count, MSG_NOSIGNAL);
    HOBNOB_CHECK(wrote > 0, "bench: send failed");
    from += wrote;
    count -= static_cast<std::size_t>(wrote);
  }
}

void read_all(int fd, std::byte* to, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(fd, to, count, 0);
    HOBNOB_CHECK(got > 0, "bench: recv failed");
    to += got;
    count -= static_cast<std::size_t>(got);
  }
}

// Both ends get a control socket to the other; at its end `receive` writes there the seconds that
// it took.
using Role = std::function<void(int control)>;

double measure(const char* path, const Role& receive, const Role& send) {
  std::array<int, 2> control{};
  HOBNOB_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, control.data()) == 0, "bench: socketpair");
  const double children_before = cpu_seconds(RUSAGE_CHILDREN);
  const pid_t receiver = ::fork();
  HOBNOB_CHECK(receiver >= 0, "bench: fork");
  if (receiver == 0) {
    receive(control[1]);
    std::_Exit(0);
  }
  // The sender is a child too: UCX should start afresh in each.
  std::array<int, 2> result{};
  HOBNOB_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, result.data()) == 0, "bench: socketpair");
  const pid_t sender = ::fork();
  HOBNOB_CHECK(sender >= 0, "bench: fork");
  if (sender == 0) {
    double spent = 0;
    send(control[0]);
    read_all(control[0], reinterpret_cast<std::byte*>(&spent), sizeof(spent));
    write_all(result[1], reinterpret_cast<const std::byte*>(&spent), sizeof(spent));
    std::_Exit(0);
  }
  ::close(result[1]);
  double spent = 0;
  read_all(result[0], reinterpret_cast<std::byte*>(&spent), sizeof(spent));
  ::waitpid(receiver, nullptr, 0);
  ::waitpid(sender, nullptr, 0);
  for (const int fd : {control[0], control[1], result[0]}) {
    ::close(fd);
  }
  const double gigabytes = static_cast<double>(kFrameBytes * kFrameCount) / 1e9;
  const double rate = gigabytes / spent;
  std::printf(
      "{\"path\": \"%s\", \"frame_bytes\": %zu, \"frames\": %zu, \"gb_per_s\": %.2f, "
      "\"cpu_s_per_gb\": %.3f}\n",
      path, kFrameBytes, kFrameCount, rate,
      (cpu_seconds(RUSAGE_CHILDREN) - children_before) / gigabytes);
  std::fflush(stdout);
  return rate;
}

void report(int control, double start) {
  const double spent = now() - start;
  write_all(control, reinterpret_cast<const std::byte*>(&spent), sizeof(spent));
}

double measure_socket() {
  return measure(
      "socket",
      [](int control) {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        HOBNOB_CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                         ::listen(listener, 1) == 0 &&
                         ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0,
                     "bench: listen");
        write_all(control, reinterpret_cast<const std::byte*>(&address), sizeof(address));
        const int fd = ::accept(listener, nullptr, nullptr);
        Bytes buffer(kFrameBytes);
        std::byte go{1};
        write_all(fd, &go, 1);
        const double start = now();
        for (std::size_t i = 0; i < kFrameCount; ++i) {
          read_all(fd, buffer.data(), buffer.size());
        }
        report(control, start);
      },
      [](int control) {
        sockaddr_in address{};
        read_all(control, reinterpret_cast<std::byte*>(&address), sizeof(address));
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        HOBNOB_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
                     "bench: connect");
        const Bytes frame(kFrameBytes, std::byte{42});
        std::byte go{};
        read_all(fd, &go, 1);
        for (std::size_t i = 0; i < kFrameCount; ++i) {
          write_all(fd, frame.data(), frame.size());
        }
      });
}

BulkLaneConfig lane_config(bool shared_memory) {
  BulkLaneConfig config;
  config.trusted_networks = {Cidr::parse("127.0.0.0/8", "bench").value()};
  config.shared_memory = shared_memory;
  return config;
}

void receive_on_lane(int control, bool shared_memory) {
  const std::unique_ptr<UvExecutor> executor = make_uv_executor();
  std::size_t received = 0;
  double start = 0;
  std::unique_ptr<BulkLane> lane;
  BulkLane::Events events;
  events.on_up = [&](LaneKey) { start = now(); };
  // The sender closes when it is told that everything came: what UCX has taken may still be on its
  // way.
  events.on_down = [&](LaneKey, const std::string& reason) {
    HOBNOB_CHECK(received == kFrameCount, reason.c_str());
    executor->stop();
  };
  events.on_frame = [&](LaneKey, Bytes frame) {
    HOBNOB_CHECK(frame.size() == kFrameBytes && frame.back() == std::byte{42}, "bench: bad frame");
    if (++received == kFrameCount) {
      report(control, start);
      lane->send(1, share(Bytes(1)), [](bool) {});
    }
  };
  lane = make_ucx_lane(*executor, lane_config(shared_memory), std::move(events));
  HOBNOB_CHECK(lane != nullptr, "bench: no ucx");
  const Bytes offer = lane->offer("127.0.0.1").value();
  lane->accept(1, kToken);
  const std::size_t size = offer.size();
  write_all(control, reinterpret_cast<const std::byte*>(&size), sizeof(size));
  write_all(control, offer.data(), offer.size());
  executor->run();
}

void send_on_lane(int control, bool shared_memory) {
  std::size_t size = 0;
  read_all(control, reinterpret_cast<std::byte*>(&size), sizeof(size));
  Bytes offer(size);
  read_all(control, offer.data(), offer.size());

  const std::unique_ptr<UvExecutor> executor = make_uv_executor();
  const SharedBytes frame = share(Bytes(kFrameBytes, std::byte{42}));
  std::unique_ptr<BulkLane> lane;
  std::size_t sent = 0;
  std::size_t done = 0;
  std::function<void()> send_more = [&] {
    while (sent < kFrameCount && sent - done < kMaxQueued) {
      ++sent;
      lane->send(2, frame, [&](bool ok) {
        HOBNOB_CHECK(ok, "bench: frame not sent");
        ++done;
        send_more();
      });
    }
  };
  BulkLane::Events events;
  events.on_up = [&](LaneKey) { send_more(); };
  events.on_down = [](LaneKey, const std::string& reason) { HOBNOB_CHECK(false, reason.c_str()); };
  events.on_frame = [&](LaneKey, const Bytes&) { executor->stop(); };
  lane = make_ucx_lane(*executor, lane_config(shared_memory), std::move(events));
  HOBNOB_CHECK(lane != nullptr, "bench: no ucx");
  HOBNOB_CHECK(lane->connect(2, offer, "127.0.0.1", kToken).ok(), "bench: connect");
  executor->run();
}

double measure_lane(bool shared_memory) {
  return measure(
      shared_memory ? "lane_shared_memory" : "lane_tcp",
      [=](int control) { receive_on_lane(control, shared_memory); },
      [=](int control) { send_on_lane(control, shared_memory); });
}

}  // namespace
}  // namespace hobnob

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 5;
  double socket = 0;
  double tcp = 0;
  double shared_memory = 0;
  for (int i = 0; i < repetitions; ++i) {
    socket = std::max(socket, hobnob::measure_socket());
    tcp = std::max(tcp, hobnob::measure_lane(false));
    shared_memory = std::max(shared_memory, hobnob::measure_lane(true));
  }
  std::printf("{\"tcp_ratio\": %.2f, \"shared_memory_ratio\": %.2f}\n", tcp / socket,
              shared_memory / socket);
  return 0;
}
