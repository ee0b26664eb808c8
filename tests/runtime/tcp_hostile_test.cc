#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/raw_peer.h"
#include "tests/support/transport_world.h"

// What strangers may send to a listening port: the transport survives, the bad connection goes, a
// good link beside it keeps working.

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using testing::control_record;
using testing::End;
using testing::hello_of;
using testing::joined;
using testing::kChunkRecord;
using testing::kControlRecord;
using testing::kLastChunkRecord;
using testing::make_tcp_end;
using testing::numbered_frame;
using testing::random_bytes;
using testing::RawPeer;
using testing::record;
using testing::record_claiming;

constexpr std::size_t kQueueLimit = 256U << 10U;

class TcpHostile : public ::testing::Test {
 protected:
  void SetUp() override {
    target_transport_ = make_end(100, target_);
    friend_transport_ = make_end(200, friend_);
    friend_.transport->dial(target_.address);
    ASSERT_TRUE(run_until([&] { return friend_.linked(target_) && target_.linked(friend_); }));
  }

  void TearDown() override {
    expect_the_good_link_works();
    EXPECT_FALSE(target_.broke_a_rule || friend_.broke_a_rule);
    EXPECT_TRUE(friend_.down.empty());
  }

  std::unique_ptr<Transport> make_end(std::uint64_t id, End& end) {
    TcpTransportConfig config = testing::config_of(id);
    config.handshake_deadline = milliseconds(150);
    config.heartbeat_interval = milliseconds(40);
    config.watchdog = milliseconds(400);
    config.max_queued_bytes = kQueueLimit;
    return make_tcp_end(*executor_, config, false, end);
  }

  bool run_until(const std::function<bool()>& is_done, Duration limit = std::chrono::seconds(10)) {
    return testing::run_until(*executor_, is_done, limit);
  }

  void run_for(Duration time) {
    run_until([] { return false; }, time);
  }

  void expect_the_good_link_works() {
    const std::size_t here = target_.frames.size();
    const std::size_t there = friend_.frames.size();
    EXPECT_TRUE(friend_.transport->send(target_.id(), Priority::kBulk,
                                        share(numbered_frame(1, 300'000, true)), nullptr));
    EXPECT_TRUE(target_.transport->send(friend_.id(), Priority::kControl,
                                        share(numbered_frame(2, 1000, false)), nullptr));
    EXPECT_TRUE(run_until(
        [&] { return target_.frames.size() == here + 1 && friend_.frames.size() == there + 1; }));
  }

  void expect_closed(ByteSpan bytes, const std::string& what) {
    RawPeer bad(target_.address);
    ASSERT_TRUE(bad.is_connected());
    bad.say(bytes);
    EXPECT_TRUE(run_until([&] { return bad.is_closed(); })) << what;
    EXPECT_EQ(target_.transport->links().size(), 1U) << what;
  }

  static Bytes hello_record(const Hello& hello) {
    return control_record({.kind = FrameKind::kHello}, encode_hello(hello));
  }

  // What a peer with a lower id says to have its link up, without listening to a word.
  static Bytes introduction() {
    return joined({hello_record(hello_of(50)), control_record({.kind = FrameKind::kAccept}, {})});
  }

  // A raw peer whose link is up.
  RawPeer linked_peer() {
    RawPeer peer(target_.address);
    peer.say(introduction());
    EXPECT_TRUE(run_until([&] { return target_.is_linked[hello_of(50).peer]; }));
    return peer;
  }

  std::unique_ptr<UvExecutor> executor_ = make_uv_executor();
  End target_;
  End friend_;
  std::unique_ptr<Transport> target_transport_;
  std::unique_ptr<Transport> friend_transport_;
};

TEST_F(TcpHostile, GarbageIsClosedAtOnce) {
  expect_closed(as_bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "http");
  expect_closed(Bytes(64), "zeros");
  expect_closed(Bytes(64, std::byte{0xFF}), "ones");
  expect_closed(record(4, Bytes(10)), "unknown record kind");
  Bytes reserved = hello_record(hello_of(50));
  reserved[5] = std::byte{1};
  expect_closed(reserved, "reserved byte set");
}

TEST_F(TcpHostile, HugeLengthsAreClosedFromTheHeaderAlone) {
  for (const std::uint32_t length : {5000U, 1U << 20U, UINT32_MAX}) {
    expect_closed(record_claiming(length, kControlRecord, {}), std::to_string(length));
  }
}

TEST_F(TcpHostile, BulkBeforeHelloIsClosed) {
  const Bytes frame = numbered_frame(1, 100, true);
  expect_closed(record(kLastChunkRecord, frame), "bulk frame");
  expect_closed(record(kChunkRecord, frame), "bulk chunk");
}

TEST_F(TcpHostile, HandshakeOutOfTurnIsClosed) {
  const Bytes hello = hello_record(hello_of(50));
  const auto frame_of = [](FrameKind kind) { return control_record({.kind = kind}, {}); };
  expect_closed(frame_of(FrameKind::kAccept), "accept before hello");
  expect_closed(frame_of(FrameKind::kLaneOffer), "offer before hello");
  expect_closed(frame_of(FrameKind::kLaneAnswer), "answer before hello");
  expect_closed(frame_of(FrameKind::kMembers), "members before hello");
  expect_closed(frame_of(static_cast<FrameKind>(0)), "kind 0");
  expect_closed(joined({hello, hello}), "hello twice");
  expect_closed(joined({hello, frame_of(FrameKind::kMembers)}), "members before accept");
  expect_closed(joined({hello, frame_of(FrameKind::kLaneOffer)}), "offer before accept");
  expect_closed(control_record({.kind = FrameKind::kHello}, {}), "empty hello");
  expect_closed(control_record({.kind = FrameKind::kRefuse}, Bytes(1)), "bad refusal");
  // Our id is lower than 150: accepting is ours to do.
  expect_closed(joined({hello_record(hello_of(150)), frame_of(FrameKind::kAccept)}),
                "accept from the higher id");
  expect_the_good_link_works();
}

TEST_F(TcpHostile, NothingAfterARefusedHelloIsHeard) {
  Hello stranger = hello_of(150);
  stranger.job_hash = 999;
  expect_closed(joined({hello_record(stranger), hello_record(hello_of(151))}), "second hello");
  EXPECT_EQ(target_.up.size(), 1U);
}

TEST_F(TcpHostile, EveryFlippedBitOfAHelloIsClosed) {
  const Bytes good = hello_record(hello_of(50));
  // The record header's own length may ask for more bytes, which the deadline ends.
  for (std::size_t bit = 32; bit < 8 * good.size(); bit += 7) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    if (bit / 8 == 4 && (bad[4] == std::byte{kControlRecord})) {
      continue;
    }
    expect_closed(bad, "bit " + std::to_string(bit));
  }
  EXPECT_EQ(target_.up.size(), 1U);
}

TEST_F(TcpHostile, RandomBytesAreClosed) {
  Rng rng({.seed = 99, .stream = 0});
  std::vector<RawPeer> peers;
  for (int k = 0; k < 40; ++k) {
    peers.emplace_back(target_.address);
    Bytes bytes = random_bytes(rng, 1 + rng.below(2000));
    if (k % 2 == 1 && bytes.size() > 8) {
      // Past the first look: a plausible record header.
      const Bytes start =
          record_claiming(static_cast<std::uint32_t>(rng.below(4096)), kControlRecord, {});
      std::copy(start.begin(), start.end(), bytes.begin());
    }
    peers.back().say(bytes);
  }
  EXPECT_TRUE(run_until(
      [&] { return std::ranges::all_of(peers, [](RawPeer& each) { return each.is_closed(); }); }));
  EXPECT_EQ(target_.up.size(), 1U);
}

TEST_F(TcpHostile, HalfAHelloThenCloseLeavesNothing) {
  const Bytes hello = hello_record(hello_of(50));
  for (std::size_t length = 0; length < hello.size(); length += 9) {
    RawPeer peer(target_.address);
    peer.say(ByteSpan(hello).first(length));
    run_for(milliseconds(1));
    peer.close();
  }
  run_for(milliseconds(5));
  EXPECT_EQ(target_.up.size(), 1U);
  EXPECT_TRUE(target_.failed.empty());
}

TEST_F(TcpHostile, AHelloInSingleBytesStillLinks) {
  RawPeer peer(target_.address);
  for (const std::byte each : introduction()) {
    peer.say(ByteSpan(&each, 1));
    run_for(Duration::zero());
  }
  EXPECT_TRUE(run_until([&] { return target_.is_linked[hello_of(50).peer]; }));
}

TEST_F(TcpHostile, IdleConnectionsAreClosedAndMakeRoomAgain) {
  std::vector<RawPeer> idle;
  for (int k = 0; k < 200; ++k) {
    idle.emplace_back(target_.address);
    ASSERT_TRUE(idle.back().is_connected()) << k;
    run_for(Duration::zero());
  }
  const auto closed = [&] {
    return std::ranges::count_if(idle, [](RawPeer& each) { return each.is_closed(); });
  };
  EXPECT_TRUE(run_until([&] { return closed() >= 136; })) << "only 64 may wait";
  expect_the_good_link_works();
  EXPECT_TRUE(run_until([&] { return closed() == 200; })) << "and not for ever";
  End late;
  const auto transport = make_end(300, late);
  transport->dial(target_.address);
  EXPECT_TRUE(run_until([&] { return late.linked(target_); }));
}

TEST_F(TcpHostile, BadFramesOnALinkTakeItDownOnce) {
  const Bytes frame = numbered_frame(1, 1000, true);
  Bytes torn = frame;
  torn[500] ^= std::byte{1};
  Bytes bad_control = encode_frame({.kind = FrameKind::kMembers}, Bytes(10));
  bad_control[70] ^= std::byte{1};
  const ByteSpan whole(frame);
  const std::vector<Bytes> attacks{
      record(kLastChunkRecord, torn),
      record(kControlRecord, bad_control),
      record(kControlRecord, {}),
      record(kLastChunkRecord, {}),
      record(kLastChunkRecord, whole.first(63)),
      record(kLastChunkRecord, whole.first(999)),
      joined({record(kChunkRecord, whole), record(kLastChunkRecord, whole.first(1))}),
      record_claiming(300U << 10U, kChunkRecord, {}),
      record_claiming(2U << 20U, kControlRecord, {}),
      control_record({.kind = FrameKind::kHello}, encode_hello(hello_of(50))),
      control_record({.kind = FrameKind::kLaneAnswer}, {}),
      control_record({.kind = FrameKind::kLaneOffer}, encode_lane_offer({})),
      control_record({.kind = FrameKind::kAccept}, {}),
  };
  for (std::size_t k = 0; k < attacks.size(); ++k) {
    RawPeer peer = linked_peer();
    const std::size_t before = target_.down.size();
    peer.say(attacks[k]);
    EXPECT_TRUE(run_until([&] { return peer.is_closed() && target_.down.size() == before + 1; }))
        << "attack " << k;
    EXPECT_EQ(target_.down.size(), before + 1);
  }
  EXPECT_TRUE(target_.frames.empty());
}

TEST_F(TcpHostile, AnImpossiblePongIsIgnored) {
  RawPeer peer = linked_peer();
  for (const std::uint64_t seq : {std::uint64_t{1} << 63U, UINT64_MAX, std::uint64_t{0}}) {
    peer.say(control_record({.kind = FrameKind::kPong, .seq = seq}, {}));
  }
  peer.say(record(kLastChunkRecord, numbered_frame(7, 100, true)));
  EXPECT_TRUE(run_until([&] { return target_.frames.size() == 1; }));
  for (const LinkStats& link : target_.transport->links()) {
    EXPECT_GE(link.round_trip, Duration::zero());
    EXPECT_LT(link.round_trip, std::chrono::minutes(1));
  }
}

// Regression: answers to pings used to pile up for a peer that does not read them.
TEST_F(TcpHostile, PingsWithoutReadingTheAnswersHoldBoundedMemory) {
  RawPeer peer = linked_peer();
  Bytes pings;
  const Bytes ping = control_record({.kind = FrameKind::kPing}, {});
  for (int k = 0; k < 4000; ++k) {
    pings.insert(pings.end(), ping.begin(), ping.end());
  }
  std::size_t said = 0;
  std::size_t most = 0;
  std::size_t at = 0;
  // Loopback buffers take several MB of answers before the queue grows.
  for (int turn = 0; turn < 2000 && said < (32U << 20U); ++turn) {
    const std::size_t taken = peer.say(ByteSpan(pings).subspan(at));
    said += taken;
    at = (at + taken) % pings.size();
    run_for(Duration::zero());
    for (const LinkStats& link : target_.transport->links()) {
      most = std::max(most, static_cast<std::size_t>(link.queued_bytes));
    }
  }
  EXPECT_GT(most, kQueueLimit / 2) << "said " << said << ": the attack did not bite";
  EXPECT_LE(most, kQueueLimit + (16U << 10U)) << "heartbeats come on top";
}

// Regression: only whole frames used to count as a sign of life, so slow links fell.
TEST_F(TcpHostile, ALongFrameOnASlowLinkKeepsItUp) {
  RawPeer peer = linked_peer();
  const Bytes frame = numbered_frame(7, 200'000, true);
  const Bytes bytes = record(kLastChunkRecord, frame);
  constexpr std::size_t kParts = 16;
  const std::size_t part = bytes.size() / kParts + 1;
  for (std::size_t k = 0; k < kParts; ++k) {
    const std::size_t begin = std::min(k * part, bytes.size());
    peer.say(ByteSpan(bytes).subspan(begin, std::min(part, bytes.size() - begin)));
    run_for(milliseconds(40));
  }
  EXPECT_TRUE(run_until([&] { return target_.frames.size() == 1; }));
  EXPECT_TRUE(target_.down.empty());
}

TEST_F(TcpHostile, ASilentLinkFallsToTheWatchdog) {
  RawPeer peer = linked_peer();
  EXPECT_TRUE(run_until([&] { return target_.down.size() == 1; }));
  EXPECT_EQ(target_.down[0].first, hello_of(50).peer);
  EXPECT_TRUE(run_until([&] { return peer.is_closed(); }));
}

}  // namespace
}  // namespace hobnob
