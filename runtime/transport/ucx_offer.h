#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

namespace hobnob {

// What one end of a bulk lane tells the other over the control connection before UCX is touched:
// UCX aborts or hangs where the two ends differ, so they are compared first.
struct LaneOffer {
  std::string version;                  // of the UCX library, "1.13.1"
  std::uint64_t settings = 0;           // hash of every setting that both ends must share
  std::uint64_t host = 0;               // hash of the kernel's boot id
  std::uint64_t network_namespace = 0;  // inode of /proc/self/ns/net
  std::uint16_t port = 0;

  bool operator==(const LaneOffer&) const = default;
};

Bytes encode(const LaneOffer& offer);
Result<LaneOffer> decode_lane_offer(ByteSpan bytes);

// This process, without a port.
LaneOffer describe_process(const std::string& version, std::uint64_t settings);

// Why a lane from `mine` to `theirs` at `remote_address` cannot work, or nothing.
std::string find_mismatch(const LaneOffer& mine,
                          const LaneOffer& theirs,
                          const std::string& remote_address,
                          bool shared_memory);

}  // namespace hobnob
