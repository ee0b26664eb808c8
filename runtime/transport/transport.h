#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/peer_id.h"
#include "runtime/base/result.h"
#include "runtime/loop/executor.h"
#include "runtime/wire/messages.h"

namespace hobnob {

// Frames sent as kControl overtake frames sent as kBulk; within each class the order is kept.
enum class Priority { kControl, kBulk };

// One end of a link, for people and metrics.
struct LinkStats {
  PeerId peer;
  std::string remote;   // address, as text
  std::string bulk;     // what carries bulk frames: "ucx", "tcp" or "sim"
  bool dialed = false;  // by this end
  Duration round_trip{0};
  std::uint64_t control_bytes_sent = 0;
  std::uint64_t control_bytes_received = 0;
  std::uint64_t bulk_bytes_sent = 0;
  std::uint64_t bulk_bytes_received = 0;
  std::uint64_t queued_bytes = 0;
};

// Links between peers that have said hello. At most one link to a peer. Events come on the executor
// the transport was made with, never from inside a call of this class.
class Transport {
 public:
  struct Events {
    std::function<void(const Hello&)> on_link_up;
    // Once for each on_link_up; nothing of that link after it.
    std::function<void(const PeerId&, const std::string& reason)> on_link_down;
    // One whole frame, header included, not yet parsed.
    std::function<void(const PeerId&, Bytes)> on_frame;
    // A dial that ended without a link of its own: unreachable, or refused by the other side. A
    // refusal as duplicate (the link exists already) is not reported.
    std::function<void(const Endpoint&, const Error&, RefuseCode)> on_dial_failed;
  };

  using SendDone = std::function<void(bool sent)>;

  virtual ~Transport() = default;

  // To be called once, before anything else.
  virtual void start(Events events) = 0;
  // Gives the address really bound.
  virtual Result<Endpoint> listen(const Endpoint& endpoint) = 0;
  // One attempt. Asking again for an address being dialed does nothing.
  virtual void dial(const Endpoint& endpoint) = 0;
  // False: no link, or its queue is over its limit; nothing was taken and `done` will not run.
  // True: `done` (may be null) runs exactly once, with true when the bytes were handed over and
  // false when the link went down first.
  virtual bool send(const PeerId& peer, Priority priority, SharedBytes frame, SendDone done) = 0;
  // Closes the link; on_link_down follows with that reason.
  virtual void close(const PeerId& peer, const std::string& reason) = 0;
  // Frames sent on a link arrive unless it goes down.
  virtual bool is_reliable() const = 0;
  virtual std::vector<LinkStats> links() const = 0;
};

}  // namespace hobnob
