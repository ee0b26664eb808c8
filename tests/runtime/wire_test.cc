#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/rng.h"
#include "runtime/wire/frame.h"
#include "runtime/wire/messages.h"
#include "tests/support/frames.h"
#include "tests/support/golden.h"

namespace hobnob {
namespace {

using testing::random_bytes;

const FrameHeader kHeader{.kind = FrameKind::kEdgeRequest,
                          .codec = 3,
                          .flags = kFlagSnapshot,
                          .fragment = 7,
                          .epoch = 0x1122334455667788ULL,
                          .round = 9,
                          .view_digest = 0xA1A2A3A4A5A6A7A8ULL,
                          .seq = 11,
                          .base_seq = 10};

Bytes small_payload() {
  return {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
}

// A header whose checksum is right and whose payload length is a claim.
Bytes header_claiming(FrameKind kind, std::uint32_t payload_bytes) {
  Bytes bytes = encode_frame({.kind = kind}, {});
  Bytes changed;
  ByteWriter writer(changed);
  writer.put_bytes(ByteSpan(bytes).first(8));
  writer.put(payload_bytes);
  writer.put_bytes(ByteSpan(bytes).subspan(12, 48));
  writer.put(static_cast<std::uint32_t>(hash_bytes(changed)));
  return changed;
}

Hello sample_hello() {
  return {.peer = {1, 2},
          .process = 3,
          .job_hash = 4,
          .advertise = {"node.example", 7070},
          .name = "worker 5"};
}

std::vector<MemberRecord> sample_members() {
  return {{.peer = {1, 2},
           .incarnation = 3,
           .state = MemberState::kLeft,
           .shard = 4,
           .round = 5,
           .address = {"10.0.0.1", 6},
           .name = "a",
           .site = "zurich"},
          {.peer = {7, 8}, .state = MemberState::kSuspect, .address = {}, .name = {}}};
}

TEST(Frame, SurvivesTheWire) {
  for (const std::size_t size : {0U, 1U, 31U, 32U, 33U, 4097U}) {
    Rng rng({.seed = size, .stream = 0});
    const Bytes payload = random_bytes(rng, size);
    const Bytes bytes = encode_frame(kHeader, payload);
    EXPECT_EQ(bytes.size(), kFrameHeaderBytes + size);
    EXPECT_EQ(frame_bytes(bytes).value(), bytes.size());
    EXPECT_EQ(frame_bytes(ByteSpan(bytes).first(kFrameHeaderBytes)).value(), bytes.size());
    const Result<Frame> frame = parse_frame(bytes);
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(frame.value().header, kHeader);
    EXPECT_TRUE(std::ranges::equal(frame.value().payload, payload));
  }
}

// The golden bytes and these hashes come from a second implementation, in Python.
TEST(Frame, HasTheGoldenBytes) {
  EXPECT_EQ(encode_frame(kHeader, small_payload()),
            testing::golden_bytes("edge_request_frame.hex"));
}

TEST(Frame, ChecksumsAreTheGoldenHash) {
  Bytes hundred;
  for (int k = 0; k < 100; ++k) {
    hundred.push_back(static_cast<std::byte>(k));
  }
  EXPECT_EQ(hash_bytes({}), 0x2c976f8a1e36b703ULL);
  EXPECT_EQ(hash_bytes(as_bytes("hobnob")), 0xd29ce4bda0794a5bULL);
  EXPECT_EQ(hash_bytes(hundred, 5), 0x743a9c25edea1795ULL);
}

TEST(Frame, EveryTruncationAndExtensionIsRefused) {
  Bytes bytes = encode_frame(kHeader, small_payload());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Result<Frame> frame = parse_frame(ByteSpan(bytes).first(length));
    ASSERT_FALSE(frame.ok()) << length;
    EXPECT_EQ(frame.error().code, ErrorCode::kMalformed);
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(parse_frame(bytes).ok());
}

TEST(Frame, EverySingleBitFlipIsRefused) {
  const Bytes good = encode_frame(kHeader, small_payload());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const Result<Frame> frame = parse_frame(bad);
    ASSERT_FALSE(frame.ok()) << "bit " << bit;
    EXPECT_EQ(frame.error().code, ErrorCode::kMalformed);
    if (bit < 8 * kFrameHeaderBytes) {
      EXPECT_FALSE(frame_bytes(ByteSpan(bad).first(kFrameHeaderBytes)).ok()) << "bit " << bit;
    }
  }
}

TEST(Frame, OverLongClaimIsRefusedFromTheHeaderAlone) {
  constexpr auto kControlLimit = static_cast<std::uint32_t>(kMaxControlPayloadBytes);
  constexpr auto kLimit = static_cast<std::uint32_t>(kMaxFramePayloadBytes);
  EXPECT_EQ(frame_bytes(header_claiming(FrameKind::kMembers, kControlLimit)).value(),
            kFrameHeaderBytes + kControlLimit);
  EXPECT_FALSE(frame_bytes(header_claiming(FrameKind::kMembers, kControlLimit + 1)).ok());
  EXPECT_FALSE(frame_bytes(header_claiming(static_cast<FrameKind>(200), kControlLimit + 1)).ok())
      << "an unknown kind has the small limit";
  for (const FrameKind kind : {FrameKind::kEdgeRequest, FrameKind::kEdgeReply, FrameKind::kState}) {
    EXPECT_TRUE(frame_bytes(header_claiming(kind, kLimit)).ok());
    EXPECT_FALSE(frame_bytes(header_claiming(kind, kLimit + 1)).ok());
    EXPECT_FALSE(frame_bytes(header_claiming(kind, UINT32_MAX)).ok());
  }
}

TEST(Frame, UnknownKindPasses) {
  const Result<Frame> frame =
      parse_frame(encode_frame({.kind = static_cast<FrameKind>(250), .flags = 0xFF}, {}));
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame.value().header.kind, static_cast<FrameKind>(250));
}

TEST(Messages, EveryMessageSurvivesTheWire) {
  EXPECT_EQ(parse_hello(encode_hello(sample_hello())).value(), sample_hello());
  EXPECT_EQ(parse_hello(encode_hello({})).value(), Hello{});
  const Refusal refusal{RefuseCode::kJobDiffers, "another job"};
  EXPECT_EQ(parse_refusal(encode_refusal(refusal)).value(), refusal);
  const LaneInvite invite{42, small_payload()};
  EXPECT_EQ(parse_lane_offer(encode_lane_offer(invite)).value(), invite);
  EXPECT_EQ(parse_lane_offer(encode_lane_offer({})).value(), LaneInvite{});
  EXPECT_EQ(parse_members(encode_members(sample_members())).value(), sample_members());
  EXPECT_TRUE(parse_members(encode_members({})).value().empty());

  Bytes edge;
  const EdgeHead head{1, 3, 0xABCD};
  put_edge_head(head, edge);
  edge.push_back(std::byte{9});
  ByteReader reader(edge);
  EXPECT_EQ(take_edge_head(reader).value(), head);
  EXPECT_EQ(reader.left(), 1U) << "the codec's bytes stay";

  Bytes state;
  put_state_head({.fragments = 3, .values = 1000}, state);
  ByteReader state_reader(state);
  const Result<StateHead> state_head = take_state_head(state_reader);
  EXPECT_EQ(state_head.value().fragments, 3U);
  EXPECT_EQ(state_head.value().values, 1000U);
}

TEST(Messages, LongestAllowedFieldsSurvive) {
  Hello hello = sample_hello();
  hello.name = std::string(kMaxNameBytes, 'n');
  hello.advertise.host = std::string(kMaxHostBytes, 'h');
  EXPECT_EQ(parse_hello(encode_hello(hello)).value(), hello);
  EXPECT_TRUE(parse_members(encode_members(std::vector<MemberRecord>(kMaxMembers))).ok());
  EXPECT_TRUE(parse_lane_offer(encode_lane_offer({1, Bytes(kMaxLaneOfferBytes)})).ok());
}

TEST(Messages, ReasonIsCutToItsLimit) {
  const Result<Refusal> refusal =
      parse_refusal(encode_refusal({RefuseCode::kFull, std::string(5000, 'r')}));
  ASSERT_TRUE(refusal.ok());
  EXPECT_EQ(refusal.value().reason.size(), kMaxReasonBytes);
}

struct Parser {
  std::string name;
  std::function<bool(ByteSpan)> accepts;
  Bytes sample;
};

std::vector<Parser> parsers() {
  Bytes edge;
  put_edge_head({1, 2, 3}, edge);
  Bytes state;
  put_state_head({.fragments = 3, .values = 4}, state);
  return {
      {"frame", [](ByteSpan b) { return parse_frame(b).ok(); }, encode_frame(kHeader, edge)},
      {"frame_bytes", [](ByteSpan b) { return frame_bytes(b).ok(); }, encode_frame(kHeader, {})},
      {"hello", [](ByteSpan b) { return parse_hello(b).ok(); }, encode_hello(sample_hello())},
      {"refusal", [](ByteSpan b) { return parse_refusal(b).ok(); },
       encode_refusal({RefuseCode::kSelf, "why"})},
      {"lane offer", [](ByteSpan b) { return parse_lane_offer(b).ok(); },
       encode_lane_offer({1, {}})},
      {"members", [](ByteSpan b) { return parse_members(b).ok(); },
       encode_members(sample_members())},
      {"edge head",
       [](ByteSpan b) {
         ByteReader reader(b);
         return take_edge_head(reader).ok();
       },
       edge},
      {"state head",
       [](ByteSpan b) {
         ByteReader reader(b);
         return take_state_head(reader).ok();
       },
       state},
  };
}

TEST(Messages, EveryTruncationIsRefused) {
  for (const Parser& parser : parsers()) {
    EXPECT_TRUE(parser.accepts(parser.sample)) << parser.name;
    for (std::size_t length = 0; length < parser.sample.size(); ++length) {
      // On a heap block of its own, so that AddressSanitizer sees a read beyond it.
      const Bytes cut(parser.sample.begin(),
                      parser.sample.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_FALSE(parser.accepts(cut)) << parser.name << " of " << length;
    }
  }
}

TEST(Messages, TrailingBytesAreRefused) {
  for (const Parser& parser : parsers()) {
    if (parser.name == "hello" || parser.name == "refusal" || parser.name == "members") {
      Bytes longer = parser.sample;
      longer.push_back(std::byte{0});
      EXPECT_FALSE(parser.accepts(longer)) << parser.name;
    }
  }
}

TEST(Messages, ACountWithoutItsMembersIsRefusedBeforeAnythingIsReserved) {
  for (const std::uint32_t count : {UINT32_MAX, 1U << 31U, 4097U, 4096U, 1U}) {
    Bytes bytes;
    ByteWriter writer(bytes);
    writer.put(count);
    writer.put_bytes(Bytes(38));
    EXPECT_FALSE(parse_members(bytes).ok()) << count;
  }
  Bytes enough(4 + 39 * (kMaxMembers + 1));
  const auto count = static_cast<std::uint32_t>(kMaxMembers + 1);
  std::ranges::copy(std::as_bytes(std::span(&count, 1)), enough.begin());
  EXPECT_FALSE(parse_members(enough).ok()) << "one more than the limit, with bytes for it";
}

TEST(Messages, UnprintableAndOverLongNamesAreRefused) {
  const auto hello_with = [](const std::string& name, const std::string& host) {
    Hello hello = sample_hello();
    hello.name = name;
    hello.advertise.host = host;
    return parse_hello(encode_hello(hello)).ok();
  };
  EXPECT_TRUE(hello_with("~ok !", "h"));
  for (const std::string& bad : {std::string("\x1b[31m"), std::string("a\nb"), std::string("\x7f"),
                                 std::string("\xc3\xa9"), std::string(1, '\0')}) {
    EXPECT_FALSE(hello_with(bad, "h"));
    EXPECT_FALSE(hello_with("n", bad));
    EXPECT_FALSE(parse_refusal(encode_refusal({RefuseCode::kSelf, bad})).ok());
    std::vector<MemberRecord> members = sample_members();
    members[1].name = bad;
    EXPECT_FALSE(parse_members(encode_members(members)).ok());
    members = sample_members();
    members[0].address.host = bad;
    EXPECT_FALSE(parse_members(encode_members(members)).ok());
  }
  EXPECT_FALSE(hello_with(std::string(kMaxNameBytes + 1, 'n'), "h"));
  EXPECT_FALSE(hello_with("n", std::string(kMaxHostBytes + 1, 'h')));
}

TEST(Messages, UnknownMemberStateIsRefused) {
  std::vector<MemberRecord> members = sample_members();
  members[0].state = static_cast<MemberState>(5);
  EXPECT_FALSE(parse_members(encode_members(members)).ok());
}

TEST(Messages, OverLongLaneOfferIsRefused) {
  EXPECT_FALSE(parse_lane_offer(Bytes(8 + kMaxLaneOfferBytes + 1)).ok());
}

TEST(Messages, ImpossibleWeightsAndEmptyStatesAreRefused) {
  for (const EdgeHead& bad : {EdgeHead{0, 0, 0}, EdgeHead{2, 1, 0}}) {
    Bytes bytes;
    put_edge_head(bad, bytes);
    ByteReader reader(bytes);
    EXPECT_FALSE(take_edge_head(reader).ok());
  }
  Bytes bytes;
  put_state_head({.fragments = 0, .values = 1}, bytes);
  ByteReader reader(bytes);
  EXPECT_FALSE(take_state_head(reader).ok());
}

TEST(WireFuzz, NoBytesBreakAParser) {
  Rng rng({.seed = 20'240'601, .stream = 0});
  for (const Parser& parser : parsers()) {
    for (int k = 0; k < 3000; ++k) {
      Bytes bytes;
      if (k % 2 == 0) {
        bytes = random_bytes(rng, rng.below(160));
      } else {
        bytes = parser.sample;
        for (std::uint64_t change = rng.below(4); change-- > 0;) {
          bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.next_u32() & 0xFFU);
        }
        bytes.resize(rng.below(4) == 0 ? rng.below(bytes.size() + 20) : bytes.size());
        bytes.shrink_to_fit();
      }
      static_cast<void>(parser.accepts(bytes));
    }
  }
}

}  // namespace
}  // namespace hobnob
