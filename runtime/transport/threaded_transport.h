#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "runtime/transport/transport.h"

namespace hobnob {

// Lets a node on its own thread use a transport that lives on the loop thread: calls are posted one
// way, events the other. The inner transport must be destroyed on, or after, its loop; this one
// after both loops have stopped.
class ThreadedTransport final : public Transport {
 public:
  // `inner` runs on `loop`; this object's calls and events are on `user`.
  ThreadedTransport(Transport& inner, Executor& loop, Executor& user);

  void start(Events events) override;

  // Before either loop runs.
  Result<Endpoint> listen(const Endpoint& endpoint) override { return inner_.listen(endpoint); }

  void dial(const Endpoint& endpoint) override;
  bool send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) override;
  void close(const PeerId& peer, const std::string& reason) override;

  bool is_reliable() const override { return inner_.is_reliable(); }

  // As of a moment ago; asking refreshes it.
  std::vector<LinkStats> links() const override;

  // Of one link, handed to the loop and not yet on their way: send() says false above it.
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{256} << 20U;
  // Received and not yet handled by the user's thread, all links together: the link that goes over
  // it is closed.
  static constexpr std::size_t kMaxInboxBytes = std::size_t{512} << 20U;

 private:
  Transport& inner_;
  Executor& loop_;
  Executor& user_;
  Events events_;
  std::map<PeerId, std::size_t> queued_;  // of links that are up; user thread
  std::atomic<std::size_t> inbox_bytes_{0};
  mutable std::vector<LinkStats> links_;  // user thread
  mutable bool is_refreshing_ = false;
};

}  // namespace hobnob
