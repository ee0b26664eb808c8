#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/loop/executor.h"

namespace hobnob {

// Names one lane at this end; chosen by the caller, never reused in a process.
using LaneKey = std::uint64_t;

struct BulkLaneConfig {
  // Lanes listen only on local addresses inside these networks, and only lanes to such addresses
  // are made. UCX gives whoever reaches its TCP ports write access to this process's memory: name
  // no network with strangers in it.
  std::vector<Cidr> trusted_networks;
  // A longer frame is refused by the sender and kills the lane at the receiver.
  std::size_t max_frame_bytes = std::size_t{1} << 30U;
  // No completion for this long with sends outstanding: the lane is closed by force.
  Duration progress_deadline = std::chrono::seconds(5);
  // Shared memory between processes of one host. About three times as fast as loopback TCP, but it
  // cannot sleep while sends are pending and collapses when processes outnumber cores: only where
  // each process has a core. Both ends must agree.
  bool shared_memory = false;
};

// Fast frames between processes on a trusted network, beside the control connection over which the
// two ends agree on it: the accepting end sends offer(), calls accept() with a token it made; the
// dialing end calls connect() with both. Order is kept within a lane; frames are whole; a frame is
// delivered once. Loop thread only. Callbacks come from the loop, never from inside a call of this
// class.
class BulkLane {
 public:
  struct Events {
    std::function<void(LaneKey)> on_up;
    // Exactly once for each lane that accept or connect was called for, unless close() came first;
    // nothing of that lane after it.
    std::function<void(LaneKey, const std::string& reason)> on_down;
    std::function<void(LaneKey, Bytes frame)> on_frame;
  };

  virtual ~BulkLane() = default;

  // What the other end needs: library version, settings, host and network namespace, port.
  // `local_address` is this end's address of the control connection. kUnavailable when that address
  // is not in a trusted network or the library will not listen there.
  virtual Result<Bytes> offer(const std::string& local_address) = 0;
  // Expects a connection that presents `token`.
  virtual void accept(LaneKey key, std::uint64_t token) = 0;
  // Dials the offer. kUnavailable when the two ends do not fit together (the message says why),
  // kMalformed when the offer is garbage.
  virtual Result<void> connect(LaneKey key,
                               ByteSpan offer,
                               const std::string& remote_address,
                               std::uint64_t token) = 0;

  // `done` runs exactly once: true when the bytes were handed over, false when the lane closed
  // first.
  virtual void send(LaneKey key, SharedBytes frame, std::function<void(bool)> done) = 0;
  // Forgets the lane; outstanding sends are done with false.
  virtual void close(LaneKey key) = 0;
};

// Null when this build has no UCX (runtime/transport/no_ucx_lane.cc) or UCX cannot start; a warning
// says why.
std::unique_ptr<BulkLane> make_ucx_lane(UvExecutor& executor,
                                        const BulkLaneConfig& config,
                                        BulkLane::Events events);

}  // namespace hobnob
