#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compress/codec_config.h"
#include "runtime/base/peer_id.h"
#include "runtime/compute/vector.h"

namespace hobnob {

// One fragment on one edge.
struct EdgeKey {
  PeerId peer;
  std::uint32_t fragment = 0;

  auto operator<=>(const EdgeKey&) const = default;
};

struct ChannelMessage {
  bool is_snapshot = false;  // the value itself; else the difference to what the other end holds
  CodecId codec = CodecId::kRaw;
  ByteSpan payload;
  // The difference is not worth sending, and there is no payload: both ends go on with what they
  // hold.
  bool is_silent = false;
};

// What the two ends of an edge believe of each other. For each edge: `sent`, the value the
// neighbour holds of this peer, and `received`, the value this peer holds of the neighbour. Both
// ends hold the same two vectors, bit for bit, with the names swapped: so the flows they compute
// are exact negatives. Gossip thread only.
class Channel {
 public:
  virtual ~Channel() = default;

  struct Encoded {
    bool is_snapshot = false;
    CodecId codec = CodecId::kRaw;
    std::size_t poisoned_blocks = 0;
  };

  // Encodes `value` for this edge, and changes nothing. Appends the payload to `out`. A snapshot
  // where the channel has no base, or where `as_snapshot` asks for it: the other end said that it
  // has none.
  virtual Encoded encode(const EdgeKey& edge, ConstVec value, bool as_snapshot, Bytes& out) = 0;

  // Whether encode() has a base for a difference.
  virtual bool has_base(const EdgeKey& edge) const = 0;
  // |value - sent|^2; there is a base.
  virtual double squared_change(const EdgeKey& edge, ConstVec value) const = 0;

  // No message about a fragment of `count` values is longer.
  virtual std::size_t max_bytes(std::size_t count) const = 0;

  // Whether the message's base is here: a snapshot always, a difference only with replicas.
  virtual bool can_apply(const EdgeKey& edge, bool is_snapshot) const = 0;
  // Advances `received`, or kMalformed and no change.
  virtual Result<void> receive(const EdgeKey& edge,
                               const ChannelMessage& message,
                               std::size_t count) = 0;
  // Advances `sent` by a message of this end's own making: the neighbour has applied it.
  virtual void commit(const EdgeKey& edge, const ChannelMessage& message, std::size_t count) = 0;

  // into += scale * (received - sent), after receive and commit of one transaction.
  virtual void add_difference(const EdgeKey& edge, double scale, Vec into) const = 0;
  virtual double squared_difference(const EdgeKey& edge) const = 0;
  // The transaction is over: what is not needed for the next is freed.
  virtual void settle(const EdgeKey& edge) = 0;
  virtual void drop(const EdgeKey& edge) = 0;

  // 64-bit hashes of the two vectors, 0 when there are none.
  virtual std::uint64_t sent_hash(const EdgeKey& edge) const = 0;
  virtual std::uint64_t received_hash(const EdgeKey& edge) const = 0;
};

// `kind`:
//   snapshot        each message is the value; nothing is kept
//   edge-replica    differences to what the other end holds: two vectors an edge (CHOCO-SGD
//                   1902.00340, per edge)
//   error-feedback  each message is the value and what codecs have rounded off it so far on this
//                   edge, which is all that is kept: a message lost or a peer that comes anew harms
//                   nothing (DeepSqueeze 1907.07346)
// `type` is the working precision. Codecs that round or select at
// random draw from `noise_seed`, which no two peers share.
std::unique_ptr<Channel> make_channel(const std::string& kind,
                                      const CodecConfig& codec,
                                      DType type,
                                      std::uint64_t noise_seed = 0,
                                      const VectorOps& ops = cpu_vector_ops());

}  // namespace hobnob
