#pragma once

#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/base/result.h"

// The 64-byte header that every frame starts with; byte table and rules in FORMAT.md.

namespace hobnob {

// ONLY APPEND TO THIS LIST.
enum class FrameKind : std::uint8_t {
  kHello = 1,        // transport: who I am
  kAccept = 2,       // transport: the link is up
  kRefuse = 3,       // transport: why it is not
  kPing = 4,         // transport: heartbeat
  kPong = 5,         // transport: its echo
  kLaneOffer = 6,    // transport: where my bulk lane listens
  kLaneAnswer = 7,   // transport: whether I use it
  kJobRequest = 16,  // what are you training?
  kJob = 17,
  kMembers = 18,       // the member list, by gossip
  kLeave = 19,         // I am going
  kEdgeRequest = 32,   // REQ of the edge transaction
  kEdgeReply = 33,     // REP
  kEdgeNack = 34,      // REQ not applied, and why
  kEdgeProbe = 35,     // where is your REQ for this round?
  kStateRequest = 48,  // a joiner asks for one fragment of the parameters
  kState = 49,
};

inline constexpr std::uint32_t kFrameMagic = 0x31424E48;  // "HNB1"
inline constexpr std::uint8_t kWireVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 64;
inline constexpr std::size_t kMaxControlPayloadBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxFramePayloadBytes = std::size_t{1} << 30U;

// NACK and PROBE: of the whole edge, not of one fragment.
inline constexpr std::uint32_t kAllFragments = 0xFFFFFFFF;

// Flags of edge and state frames.
inline constexpr std::uint8_t kFlagSnapshot =
    1;  // the payload is the value itself, not a difference
inline constexpr std::uint8_t kFlagSilent =
    2;  // no difference worth sending: both ends mix by what they hold
// Of LEAVE: the leaver has the answers to all it has asked this peer.
inline constexpr std::uint8_t kFlagSettled = 1;

struct FrameHeader {
  FrameKind kind = FrameKind::kPing;
  std::uint8_t codec = 0;
  std::uint8_t flags = 0;
  std::uint32_t fragment = 0;
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;
  std::uint64_t view_digest = 0;
  std::uint64_t seq = 0;
  std::uint64_t base_seq = 0;

  bool operator==(const FrameHeader&) const = default;
};

struct Frame {
  FrameHeader header;
  ByteSpan payload;  // borrowed from the parsed bytes
};

// Header and payload in one buffer, checksums filled in. A payload over kMaxFramePayloadBytes is a
// bug.
Bytes encode_frame(const FrameHeader& header, ByteSpan payload);

// Total: exactly one frame, or kMalformed. Unknown kinds and flags pass (the reader of the kind
// refuses them); a wrong magic, version, length, checksum or nonzero reserved byte does not.
Result<Frame> parse_frame(ByteSpan bytes);

// The frame length that a header promises, from its first kFrameHeaderBytes bytes; kMalformed when
// the header is bad. Lets a stream reader bound the payload before it arrives.
Result<std::size_t> frame_bytes(ByteSpan header_bytes);

}  // namespace hobnob
