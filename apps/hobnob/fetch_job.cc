#include "apps/hobnob/fetch_job.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "apps/hobnob/identity.h"
#include "runtime/base/log.h"
#include "runtime/transport/tcp_transport.h"

namespace hobnob {

namespace {

class JobGuest {
 public:
  JobGuest(const std::vector<Endpoint>& endpoints, double seconds)
      : endpoints_(endpoints),
        executor_(make_uv_executor()),
        limit_(Duration{static_cast<std::int64_t>(seconds * 1e9)}) {
    TcpTransportConfig config;
    config.hello.peer = random_peer_id();
    config.hello.process = random_word();
    config.hello.name = "guest";
    transport_ = make_tcp_transport(*executor_, config, nullptr);
  }

  Result<SwarmInvitation> run() {
    transport_->start(
        {.on_link_up =
             [this](const Hello& hello) {
               const FrameHeader header{.kind = FrameKind::kJobRequest};
               transport_->send(hello.peer, Priority::kControl, share(encode_frame(header, {})),
                                nullptr);
             },
         .on_link_down = [this](const PeerId&, const std::string& why) { last_error_ = why; },
         .on_frame = [this](const PeerId& peer, const Bytes& bytes) { on_frame(peer, bytes); },
         .on_dial_failed = [this](const Endpoint&, const Error& error,
                                  RefuseCode) { last_error_ = error.message; }});
    executor_->on_signal(SIGINT, [this] { give_up(Error{ErrorCode::kCancelled, "interrupted"}); });
    executor_->after(limit_, [this] { time_out(); });
    dial();
    executor_->run();
    transport_.reset();
    return is_answered_ ? Result<SwarmInvitation>(std::move(invitation_))
                        : Result<SwarmInvitation>(*failure_);
  }

 private:
  void dial() {
    for (const Endpoint& endpoint : endpoints_) {
      transport_->dial(endpoint);
    }
    if (!last_error_.empty() && !has_warned_) {
      has_warned_ = true;
      log_warn("%s; trying again for %.0f s", last_error_.c_str(),
               std::chrono::duration<double>(limit_).count());
    }
    backoff_ = std::min<Duration>(2 * backoff_, std::chrono::seconds(2));
    executor_->after(backoff_, [this] { dial(); });
  }

  // The job comes first, then the members.
  void on_frame(const PeerId& peer, const Bytes& bytes) {
    const Result<Frame> frame = parse_frame(bytes);
    if (!frame.ok() || frame.value().payload.size() > kMaxJobBytes) {
      transport_->close(peer, "malformed job");
      return;
    }
    const ByteSpan payload = frame.value().payload;
    if (frame.value().header.kind == FrameKind::kJob) {
      invitation_.job = as_text(payload);
    } else if (frame.value().header.kind == FrameKind::kMembers && !invitation_.job.empty()) {
      Result<std::vector<MemberRecord>> members = parse_members(payload);
      if (members.ok()) {
        invitation_.members = std::move(members).value();
        is_answered_ = true;
        executor_->stop();
      }
    }
  }

  void time_out() {
    std::string tried;
    for (const Endpoint& endpoint : endpoints_) {
      tried += (tried.empty() ? "" : ", ") + endpoint.text();
    }
    give_up(make_error(ErrorCode::kUnavailable,
                       "--bootstrap %s: no peer answered in %.0f s (%s); check the address and "
                       "that a peer runs there",
                       tried.c_str(), std::chrono::duration<double>(limit_).count(),
                       last_error_.empty() ? "no answer" : last_error_.c_str()));
  }

  void give_up(Error error) {
    failure_ = std::move(error);
    executor_->stop();
  }

  const std::vector<Endpoint>& endpoints_;
  std::unique_ptr<UvExecutor> executor_;
  std::unique_ptr<Transport> transport_;
  Duration limit_;
  Duration backoff_ = std::chrono::milliseconds(50);
  std::string last_error_;
  bool has_warned_ = false;
  SwarmInvitation invitation_;
  bool is_answered_ = false;
  std::optional<Error> failure_;
};

}  // namespace

Result<SwarmInvitation> fetch_job(const std::vector<Endpoint>& endpoints, double seconds) {
  return JobGuest(endpoints, seconds).run();
}

}  // namespace hobnob
