#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/trainer.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/peer_id.h"
#include "runtime/base/result.h"

namespace hobnob {

inline constexpr std::size_t kMaxKnownPeers = 64;

// What a peer leaves for its next life.
struct SavedPeer {
  PeerId id;
  std::string name;
  std::uint32_t incarnation = 0;
  std::uint32_t shard = 0;
  std::vector<Endpoint> known;  // where other members were, at most kMaxKnownPeers
  std::string job;              // its canonical document
  TrainerState trainer;
};

// DIR of `hobnob peer --state DIR`: one file, peer.state, replaced as a whole (written beside, made
// durable, renamed), so that a crash at any moment leaves the old one or the new one; and a lock,
// so that no two processes are the same peer.
//
// peer.state, little-endian: "hobnobST", u32 version (1), id (2 x u64), u32 incarnation, u32 shard,
// u64 round, u64 steps, u8 type (0 float32, 1 float64), u64 parameter count, u64 optimizer bytes,
// u64 job bytes, name (u16 length, text), u8 count and as many
// times host (u16 length, text) and u16 port, job, parameters, optimizer, u64 hash_bytes of all
// before.
class StateStore {
 public:
  // Makes DIR where it is missing. kInvalidArgument: not a directory, not writable, or in use.
  static Result<StateStore> open(const std::string& directory);
  StateStore(StateStore&& other) noexcept;
  StateStore& operator=(StateStore&&) = delete;
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;
  ~StateStore();

  // Empty where nothing was saved yet. kInvalidArgument: not such a file, or damaged.
  Result<std::optional<SavedPeer>> load() const;
  // kIo: the old one stays.
  Result<void> save(const SavedPeer& peer) const;

  std::string file() const { return directory_ + "/peer.state"; }

  std::string partial() const { return file() + ".partial"; }

 private:
  StateStore(std::string directory, int lock) : directory_(std::move(directory)), lock_(lock) {}

  std::string directory_;
  int lock_;
};

// The bytes of peer.state. decode is total: any bytes give a peer or kMalformed.
Bytes encode_saved_peer(const SavedPeer& peer);
Result<SavedPeer> decode_saved_peer(ByteSpan bytes);

}  // namespace hobnob
