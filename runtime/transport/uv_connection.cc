#include "runtime/transport/uv_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

constexpr std::uint8_t kControlRecord = 1;
constexpr std::uint8_t kChunkRecord = 2;
constexpr std::uint8_t kLastChunkRecord = 3;
constexpr std::size_t kRecordHeaderBytes = 8;
constexpr std::size_t kMaxSealBytes = 64;  // what a session may add to a record
// Handed to libuv at a time: enough to fill a pipe, little enough for control frames to overtake.
constexpr std::size_t kMaxWritingBytes = std::size_t{1} << 20U;
constexpr std::size_t kReadBytes = std::size_t{256} << 10U;

std::string address_text(const sockaddr_storage& storage, bool with_port) {
  char name[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    uv_ip4_name(&v4, name, sizeof name);
    return with_port ? Endpoint{name, ntohs(v4.sin_port)}.text() : name;
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    uv_ip6_name(&v6, name, sizeof name);
    return with_port ? Endpoint{name, ntohs(v6.sin6_port)}.text() : name;
  }
  return "";
}

}  // namespace

struct UvConnection::Write {
  uv_write_t request{};
  UvConnection* connection = nullptr;
  Bytes bytes;
  std::size_t queued = 0;  // plain bytes this record takes off the queue count
  Transport::SendDone done;
};

UvConnection::UvConnection(uv_loop_t* loop, Events events)
    : events_(std::move(events)), read_buffer_(kReadBytes) {
  HOBNOB_CHECK(uv_tcp_init(loop, &tcp_) == 0, "uv_tcp_init failed");
  tcp_.data = this;
}

Result<UvConnection::Pointer> UvConnection::dial(uv_loop_t* loop,
                                                 const sockaddr* address,
                                                 Events events) {
  Pointer connection(new UvConnection(loop, std::move(events)));
  connection->connect_.data = connection.get();
  const int code = uv_tcp_connect(&connection->connect_, &connection->tcp_, address,
                                  [](uv_connect_t* request, int status) {
                                    auto* self = static_cast<UvConnection*>(request->data);
                                    if (self->is_closing_) {
                                      return;
                                    }
                                    if (status != 0) {
                                      self->fail(uv_strerror(status));
                                      return;
                                    }
                                    self->start_reading();
                                    self->events_.on_open();
                                  });
  if (code != 0) {
    return make_error(ErrorCode::kUnavailable, "%s", uv_strerror(code));
  }
  return connection;
}

UvConnection::Pointer UvConnection::accept(uv_stream_t* listener, Events events) {
  Pointer connection(new UvConnection(listener->loop, std::move(events)));
  if (uv_accept(listener, reinterpret_cast<uv_stream_t*>(&connection->tcp_)) != 0) {
    return nullptr;
  }
  connection->start_reading();
  return connection;
}

void UvConnection::start_reading() {
  is_open_ = true;
  uv_tcp_nodelay(&tcp_, 1);
  uv_read_start(reinterpret_cast<uv_stream_t*>(&tcp_), &on_alloc, &on_read);
}

void UvConnection::close() {
  if (is_closing_) {
    return;
  }
  is_closing_ = true;
  drop_queue();
  uv_close(reinterpret_cast<uv_handle_t*>(&tcp_),
           [](uv_handle_t* handle) { delete static_cast<UvConnection*>(handle->data); });
}

void UvConnection::fail(std::string reason) {
  if (is_closing_ || is_failed_) {
    return;
  }
  is_failed_ = true;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&tcp_));
  drop_queue();
  // May destroy this connection.
  const auto on_closed = events_.on_closed;
  on_closed(reason);
}

void UvConnection::drop_queue() {
  for (auto* queue : {&control_, &bulk_}) {
    std::deque<Outgoing> dropped;
    dropped.swap(*queue);
    for (Outgoing& each : dropped) {
      if (each.done) {
        each.done(false);
      }
    }
  }
}

void UvConnection::finish() {
  is_finishing_ = true;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&tcp_));
}

std::string UvConnection::local_address() const {
  sockaddr_storage storage{};
  int size = sizeof storage;
  uv_tcp_getsockname(&tcp_, reinterpret_cast<sockaddr*>(&storage), &size);
  return address_text(storage, false);
}

std::string UvConnection::remote_address() const {
  sockaddr_storage storage{};
  int size = sizeof storage;
  uv_tcp_getpeername(&tcp_, reinterpret_cast<sockaddr*>(&storage), &size);
  return address_text(storage, false);
}

std::string UvConnection::remote_text() const {
  sockaddr_storage storage{};
  int size = sizeof storage;
  uv_tcp_getpeername(&tcp_, reinterpret_cast<sockaddr*>(&storage), &size);
  return address_text(storage, true);
}

void UvConnection::send(Priority priority, SharedBytes frame, Transport::SendDone done) {
  if (is_closing_ || is_failed_ || is_finishing_) {
    if (done) {
      done(false);
    }
    return;
  }
  queued_bytes_ += frame->size();
  auto& queue = priority == Priority::kControl ? control_ : bulk_;
  queue.push_back(Outgoing{std::move(frame), 0, std::move(done)});
  pump();
}

void UvConnection::pump() {
  while (is_open_ && !is_failed_ && writing_bytes_ < kMaxWritingBytes) {
    if (!control_.empty()) {
      Outgoing next = std::move(control_.front());
      control_.pop_front();
      Bytes body = *next.frame;
      write_record(kControlRecord, std::move(body), std::move(next), true);
      continue;
    }
    if (bulk_.empty()) {
      return;
    }
    Outgoing& front = bulk_.front();
    const std::size_t left = front.frame->size() - front.sent;
    const std::size_t take = std::min(left, kChunkBytes);
    const auto begin = front.frame->begin() + static_cast<std::ptrdiff_t>(front.sent);
    Bytes body(begin, begin + static_cast<std::ptrdiff_t>(take));
    front.sent += take;
    if (take < left) {
      write_record(kChunkRecord, std::move(body), {}, false);
    } else {
      Outgoing last = std::move(front);
      bulk_.pop_front();
      write_record(kLastChunkRecord, std::move(body), std::move(last), true);
    }
  }
}

void UvConnection::write_record(std::uint8_t kind, Bytes body, Outgoing finished, bool is_last) {
  auto* write = new Write;
  write->connection = this;
  write->request.data = write;
  write->queued = body.size();
  if (is_last) {
    write->done = std::move(finished.done);
  }
  const Bytes sealed = session_->seal(std::move(body));
  write->bytes.reserve(kRecordHeaderBytes + sealed.size());
  ByteWriter writer(write->bytes);
  writer.put(static_cast<std::uint32_t>(sealed.size()));
  writer.put(kind);
  writer.put(std::uint8_t{0});
  writer.put(std::uint16_t{0});
  writer.put_bytes(sealed);
  writing_bytes_ += write->bytes.size();
  uv_buf_t buffer = uv_buf_init(reinterpret_cast<char*>(write->bytes.data()),
                                static_cast<unsigned>(write->bytes.size()));
  const int code =
      uv_write(&write->request, reinterpret_cast<uv_stream_t*>(&tcp_), &buffer, 1, &on_written);
  if (code != 0) {
    // The read side reports the broken connection; here only the promise about `done` is kept.
    writing_bytes_ -= write->bytes.size();
    queued_bytes_ -= write->queued;
    if (write->done) {
      write->done(false);
    }
    delete write;
  }
}

void UvConnection::on_written(uv_write_t* request, int status) {
  const std::unique_ptr<Write> write(static_cast<Write*>(request->data));
  UvConnection& self = *write->connection;
  self.writing_bytes_ -= write->bytes.size();
  self.queued_bytes_ -= write->queued;
  if (write->done) {
    write->done(status == 0);
  }
  if (self.is_closing_) {
    return;
  }
  if (status != 0) {
    self.fail(uv_strerror(status));
    return;
  }
  self.pump();
  if (self.is_finishing_ && self.writing_bytes_ == 0) {
    self.fail("finished");
  }
}

void UvConnection::on_alloc(uv_handle_t* handle, std::size_t /*suggested*/, uv_buf_t* buffer) {
  auto* self = static_cast<UvConnection*>(handle->data);
  *buffer =
      uv_buf_init(self->read_buffer_.data(), static_cast<unsigned>(self->read_buffer_.size()));
}

void UvConnection::on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
  auto* self = static_cast<UvConnection*>(stream->data);
  if (count < 0) {
    self->fail(count == UV_EOF ? kClosedByPeer : uv_strerror(static_cast<int>(count)));
    return;
  }
  self->receive(as_bytes(std::string_view(buffer->base, static_cast<std::size_t>(count))));
}

void UvConnection::receive(ByteSpan bytes) {
  received_bytes_ += bytes.size();
  input_.insert(input_.end(), bytes.begin(), bytes.end());
  while (!is_closing_ && !is_failed_ && !is_finishing_ && take_record()) {
  }
  if (is_closing_) {
    return;
  }
  input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(input_used_));
  input_used_ = 0;
}

// One record off the input; false when more bytes are needed or the connection failed.
bool UvConnection::take_record() {
  const ByteSpan available = ByteSpan(input_).subspan(input_used_);
  if (available.size() < kRecordHeaderBytes) {
    return false;
  }
  ByteReader reader(available);
  const auto length = reader.get<std::uint32_t>();
  const auto kind = reader.get<std::uint8_t>();
  const auto zero_a = reader.get<std::uint8_t>();
  const auto zero_b = reader.get<std::uint16_t>();
  const bool is_bulk = kind == kChunkRecord || kind == kLastChunkRecord;
  if ((kind != kControlRecord && !is_bulk) || zero_a != 0 || zero_b != 0 ||
      (is_bulk && max_bulk_bytes_ == 0)) {
    fail("not the hobnob protocol");
    return false;
  }
  const std::size_t limit = (is_bulk ? kChunkBytes : max_control_bytes_) + kMaxSealBytes;
  if (length > limit) {
    fail(format("record of %u bytes; the limit here is %zu", length, limit));
    return false;
  }
  const ByteSpan body = reader.get_bytes(length);
  if (!reader.ok()) {
    return false;
  }
  input_used_ += kRecordHeaderBytes + length;
  return take_body(kind, Bytes(body.begin(), body.end()));
}

bool UvConnection::take_body(std::uint8_t kind, Bytes body) {
  Result<Bytes> opened = session_->open(std::move(body));
  if (!opened.ok()) {
    fail(opened.error().message);
    return false;
  }
  Bytes plain = std::move(opened).value();
  if (kind == kControlRecord) {
    events_.on_frame(Priority::kControl, std::move(plain));
    return true;
  }
  if (assembling_.empty()) {
    // The first chunk holds the header, which says how long the frame will be.
    const Result<std::size_t> total = frame_bytes(plain);
    if (!total.ok()) {
      fail(total.error().message);
      return false;
    }
    if (total.value() > max_bulk_bytes_) {
      fail(
          format("bulk frame of %zu bytes; the limit here is %zu", total.value(), max_bulk_bytes_));
      return false;
    }
    assembling_total_ = total.value();
    assembling_.reserve(std::min(assembling_total_, 4 * kChunkBytes));
  }
  assembling_.insert(assembling_.end(), plain.begin(), plain.end());
  const bool is_last = kind == kLastChunkRecord;
  if (assembling_.size() > assembling_total_ ||
      (is_last && assembling_.size() != assembling_total_)) {
    fail("bulk frame of another length than its header says");
    return false;
  }
  if (is_last) {
    events_.on_frame(Priority::kBulk, std::exchange(assembling_, Bytes()));
  }
  return true;
}

}  // namespace hobnob
