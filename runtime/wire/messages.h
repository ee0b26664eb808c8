#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/peer_id.h"
#include "runtime/base/result.h"
#include "runtime/wire/frame.h"

// Payloads of the control frames; byte tables in FORMAT.md. Every parse_* is total: a value or
// kMalformed, and nothing is reserved beyond the limits below.

namespace hobnob {

inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxSiteBytes = 32;
inline constexpr std::size_t kMaxHostBytes = 253;
inline constexpr std::size_t kMaxReasonBytes = 512;
inline constexpr std::size_t kMaxJobBytes = 512U << 10U;
inline constexpr std::size_t kMaxMembers = 4096;
// The longest records together stay within a control frame; longer lists travel in several.
inline constexpr std::size_t kMaxMembersPerFrame = 2048;
inline constexpr std::size_t kMaxLaneOfferBytes = 1024;

struct Hello {
  PeerId peer;
  std::uint64_t process = 0;   // random per process: tells a restart from a second connection
  std::uint64_t job_hash = 0;  // 0: a guest that only asks for the job
  Endpoint advertise;          // where others dial this peer; port 0: nowhere
  std::string name;

  bool operator==(const Hello&) const = default;
};

// ONLY APPEND TO THIS LIST.
enum class RefuseCode : std::uint8_t {
  kDuplicate = 1,   // we have a link already
  kSelf = 2,        // you dialed yourself
  kJobDiffers = 3,  // another job's swarm
  kFull = 4,        // too many links
  kLane = 5,        // the bulk lane did not come up
};

struct Refusal {
  RefuseCode code = RefuseCode::kDuplicate;
  std::string reason;

  bool operator==(const Refusal&) const = default;
};

// The payload of a kLaneOffer frame.
struct LaneInvite {
  std::uint64_t token = 0;
  Bytes offer;  // empty: no lane here

  bool operator==(const LaneInvite&) const = default;
};

// ONLY APPEND TO THIS LIST. The greater wins among records of one incarnation.
enum class MemberState : std::uint8_t {
  kJoining = 0,
  kAlive = 1,
  kSuspect = 2,
  kDead = 3,
  kLeft = 4
};

struct MemberRecord {
  PeerId peer;
  std::uint32_t incarnation = 0;
  MemberState state = MemberState::kJoining;
  std::uint32_t shard = 0;  // the part of the data this peer trains on
  std::uint64_t round = 0;
  Endpoint address;  // port 0: cannot be dialed, only dials
  std::string name;
  std::string site;  // peers of one site share a fast network; empty: not said

  bool operator==(const MemberRecord&) const = default;
};

// What stands before the codec's bytes in REQ, REP; and alone in NACK.
struct EdgeHead {
  std::uint32_t weight_numerator = 0;  // the sender's proposal for w_ij
  std::uint32_t weight_denominator = 1;
  std::uint64_t replica_hash =
      0;  // of what the sender holds the receiver to believe; 0: not stated

  bool operator==(const EdgeHead&) const = default;
};

inline constexpr std::size_t kEdgeHeadBytes = 16;

// ONLY APPEND TO THIS LIST.
enum class NackCode : std::uint8_t {
  kGap = 1,   // I do not hold the base you refer to: send a snapshot, with a seq above the one in
              // this frame
  kBusy = 2,  // not in this round
  kPast = 3,  // that round is over here; the frame's round is the one I am in
};

struct StateHead {
  std::uint32_t fragments = 0;
  std::uint64_t values = 0;  // of the whole parameter vector
};

Bytes encode_hello(const Hello& hello);
Result<Hello> parse_hello(ByteSpan payload);
Bytes encode_refusal(const Refusal& refusal);
Result<Refusal> parse_refusal(ByteSpan payload);
Bytes encode_lane_offer(const LaneInvite& offer);
Result<LaneInvite> parse_lane_offer(ByteSpan payload);
Bytes encode_members(const std::vector<MemberRecord>& members);
Result<std::vector<MemberRecord>> parse_members(ByteSpan payload);

// Writes the head; the caller appends the codec's bytes.
void put_edge_head(const EdgeHead& head, Bytes& out);
// Leaves the codec's bytes in the reader.
Result<EdgeHead> take_edge_head(ByteReader& reader);
void put_state_head(const StateHead& head, Bytes& out);
Result<StateHead> take_state_head(ByteReader& reader);

}  // namespace hobnob
