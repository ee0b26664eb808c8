#include "runtime/transport/threaded_transport.h"

#include <algorithm>
#include <utility>

namespace hobnob {

ThreadedTransport::ThreadedTransport(Transport& inner, Executor& loop, Executor& user)
    : inner_(inner), loop_(loop), user_(user) {}

void ThreadedTransport::start(Events events) {
  events_ = std::move(events);
  Events posting;
  posting.on_link_up = [this](const Hello& hello) {
    user_.post([this, hello] {
      queued_[hello.peer] = 0;
      events_.on_link_up(hello);
    });
  };
  posting.on_link_down = [this](const PeerId& peer, const std::string& reason) {
    user_.post([this, peer, reason] {
      queued_.erase(peer);
      events_.on_link_down(peer, reason);
    });
  };
  posting.on_frame = [this](const PeerId& peer, Bytes bytes) {
    const std::size_t size = bytes.size();
    if (inbox_bytes_.fetch_add(size) + size > kMaxInboxBytes) {
      inbox_bytes_.fetch_sub(size);
      inner_.close(peer, "sends faster than this peer can handle");
      return;
    }
    user_.post([this, peer, moved = std::move(bytes)]() mutable {
      inbox_bytes_.fetch_sub(moved.size());
      events_.on_frame(peer, std::move(moved));
    });
  };
  posting.on_dial_failed = [this](const Endpoint& endpoint, const Error& error, RefuseCode code) {
    user_.post([this, endpoint, error, code] { events_.on_dial_failed(endpoint, error, code); });
  };
  loop_.post([this, posting = std::move(posting)] { inner_.start(posting); });
}

void ThreadedTransport::dial(const Endpoint& endpoint) {
  loop_.post([this, endpoint] { inner_.dial(endpoint); });
}

bool ThreadedTransport::send(const PeerId& peer,
                             Priority priority,
                             SharedBytes frame,
                             SendDone done) {
  const auto found = queued_.find(peer);
  if (found == queued_.end() || found->second > kMaxQueuedBytes) {
    return false;
  }
  const std::size_t size = frame->size();
  found->second += size;
  SendDone finished = [this, peer, size, done = std::move(done)](bool sent) {
    user_.post([this, peer, size, done, sent] {
      const auto still = queued_.find(peer);
      if (still != queued_.end()) {
        still->second -= std::min(size, still->second);
      }
      if (done) {
        done(sent);
      }
    });
  };
  loop_.post([this, peer, priority, frame = std::move(frame), finished = std::move(finished)] {
    if (!inner_.send(peer, priority, frame, finished)) {
      finished(false);
    }
  });
  return true;
}

void ThreadedTransport::close(const PeerId& peer, const std::string& reason) {
  loop_.post([this, peer, reason] { inner_.close(peer, reason); });
}

std::vector<LinkStats> ThreadedTransport::links() const {
  if (!is_refreshing_) {
    is_refreshing_ = true;
    loop_.post([this] {
      user_.post([this, links = inner_.links()] {
        links_ = links;
        is_refreshing_ = false;
      });
    });
  }
  return links_;
}

}  // namespace hobnob
