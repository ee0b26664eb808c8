#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/base/endpoint.h"
#include "runtime/wire/frame.h"

namespace hobnob::testing {

// A bare TCP socket to a listener on 127.0.0.1, for saying what no transport would say.
class RawPeer {
 public:
  explicit RawPeer(const Endpoint& target) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(target.port);
    is_connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  RawPeer(RawPeer&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        is_connected_(other.is_connected_),
        is_closed_(other.is_closed_) {}

  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  ~RawPeer() { close(); }

  bool is_connected() const { return is_connected_; }

  // How many of the bytes the kernel took.
  std::size_t say(ByteSpan bytes) const {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  // Reads what came; true once the other end has closed.
  bool is_closed() {
    char buffer[4096];
    while (!is_closed_) {
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        break;
      }
      is_closed_ = count <= 0;
    }
    return is_closed_;
  }

  void close() {
    if (socket_ >= 0) {
      ::close(socket_);
      socket_ = -1;
    }
  }

 private:
  int socket_;
  bool is_connected_ = false;
  bool is_closed_ = false;
};

inline constexpr std::uint8_t kControlRecord = 1;
inline constexpr std::uint8_t kChunkRecord = 2;
inline constexpr std::uint8_t kLastChunkRecord = 3;

// A record of the TCP link whose header claims `length` bytes (FORMAT.md).
inline Bytes record_claiming(std::uint32_t length, std::uint8_t kind, ByteSpan body) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(length);
  writer.put(kind);
  writer.put_bytes(Bytes(3));
  writer.put_bytes(body);
  return bytes;
}

inline Bytes record(std::uint8_t kind, ByteSpan body) {
  return record_claiming(static_cast<std::uint32_t>(body.size()), kind, body);
}

inline Bytes control_record(const FrameHeader& header, ByteSpan payload) {
  return record(kControlRecord, encode_frame(header, payload));
}

inline Bytes joined(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace hobnob::testing
