#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/transport_world.h"

// What every Transport promises (runtime/transport/transport.h), over each implementation.

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using testing::Carrier;
using testing::config_of;
using testing::End;
using testing::hello_of;
using testing::make_tcp_end;
using testing::make_world;
using testing::numbered_frame;
using testing::World;

class TransportConformance : public ::testing::TestWithParam<Carrier> {
 protected:
  void SetUp() override { use({}); }

  void use(const TcpTransportConfig& config) {
    world_ = make_world(GetParam(), config);
    if (const std::string why = world_->unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  bool is_sim() const { return GetParam() == Carrier::kSim; }

  End& add(std::uint64_t id) { return world_->add(hello_of(id)); }

  bool run_until(const std::function<bool()>& is_done) { return world_->run_until(is_done); }

  void link(End& dialer, End& acceptor) {
    dialer.transport->dial(acceptor.address);
    ASSERT_TRUE(run_until([&] { return dialer.linked(acceptor) && acceptor.linked(dialer); }));
  }

  // Sends frame `number` and counts how often each is done.
  bool send(End& from, const End& to, std::uint64_t number, std::size_t size, Priority priority) {
    return from.transport->send(to.id(), priority,
                                share(numbered_frame(number, size, priority == Priority::kBulk)),
                                [this, number](bool sent) { done_[number].push_back(sent); });
  }

  // Each accepted send done exactly once.
  std::size_t count_done_once() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(done_, [](const auto& each) { return each.second.size() == 1; }));
  }

  std::unique_ptr<World> world_;
  std::map<std::uint64_t, std::vector<bool>> done_;
};

INSTANTIATE_TEST_SUITE_P(Over,
                         TransportConformance,
                         ::testing::Values(Carrier::kSim, Carrier::kTcp, Carrier::kUcx),
                         [](const auto& each) { return testing::name_of(each.param); });

std::vector<std::uint64_t> counting(std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

TEST_P(TransportConformance, LinkComesUpAtBothEndsWithTheHelloOfTheOther) {
  End& a = add(1);
  End& b = add(2);
  link(a, b);
  world_->settle();
  ASSERT_EQ(a.up.size(), 1U);
  ASSERT_EQ(b.up.size(), 1U);
  EXPECT_EQ(a.up[0], b.hello);
  EXPECT_EQ(b.up[0], a.hello);
  const std::vector<LinkStats> links = a.transport->links();
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].peer, b.id());
  EXPECT_TRUE(links[0].dialed);
  ASSERT_EQ(b.transport->links().size(), 1U);
  EXPECT_FALSE(b.transport->links()[0].dialed);
  const char* const expected[] = {"sim", "tcp", "ucx"};
  EXPECT_EQ(links[0].bulk, expected[static_cast<int>(GetParam())]);
  EXPECT_EQ(b.transport->links()[0].bulk, links[0].bulk);
}

TEST_P(TransportConformance, EventsComeNeverFromInsideACall) {
  End& a = add(1);
  End& b = add(2);
  a.transport->dial(b.address);
  EXPECT_TRUE(a.up.empty());
  link(a, b);
  EXPECT_TRUE(send(a, b, 0, 64, Priority::kControl));
  EXPECT_TRUE(done_.empty());
  a.transport->close(b.id(), "test");
  EXPECT_TRUE(a.down.empty());
  EXPECT_TRUE(run_until([&] { return !a.linked(b) && !b.linked(a) && done_.size() == 1; }));
}

TEST_P(TransportConformance, FramesOfEverySizeArriveWholeAndInOrderBothWays) {
  End& a = add(1);
  End& b = add(2);
  link(a, b);
  const std::vector<std::size_t> bulk_sizes{
      64, 65, 4096, 65'535, 65'536, 65'600, 262'144, 262'145, (1U << 20U) + 1, 8U << 20U, 64, 1000};
  const std::vector<std::size_t> control_sizes{64, 65, 1500, 65'536, 300'000, 1U << 20U, 64};
  for (End* from : {&a, &b}) {
    End& to = from == &a ? b : a;
    const std::uint64_t base = from == &a ? 0 : 1000;
    for (std::size_t k = 0; k < bulk_sizes.size(); ++k) {
      ASSERT_TRUE(send(*from, to, base + k, bulk_sizes[k], Priority::kBulk));
    }
    for (std::size_t k = 0; k < control_sizes.size(); ++k) {
      ASSERT_TRUE(send(*from, to, base + 500 + k, control_sizes[k], Priority::kControl));
    }
  }
  const std::size_t all = bulk_sizes.size() + control_sizes.size();
  ASSERT_TRUE(run_until([&] { return a.frames.size() >= all && b.frames.size() >= all; }));
  ASSERT_TRUE(run_until([&] { return count_done_once() == 2 * all; }));
  world_->settle();
  for (const End* to : {&a, &b}) {
    const std::uint64_t base = to == &b ? 0 : 1000;
    std::vector<std::uint64_t> bulk;
    std::vector<std::uint64_t> control;
    for (const auto& [peer, bytes] : to->frames) {
      const std::uint64_t number = testing::number_of(bytes);
      ASSERT_NE(number, UINT64_MAX) << "a torn frame";
      const bool is_bulk = number - base < 500;
      (is_bulk ? bulk : control).push_back(number - base - (is_bulk ? 0 : 500));
      EXPECT_EQ(bytes.size(), is_bulk ? bulk_sizes[bulk.back()] : control_sizes[control.back()]);
    }
    EXPECT_EQ(bulk, counting(bulk_sizes.size()));
    EXPECT_EQ(control, counting(control_sizes.size()));
    EXPECT_FALSE(to->broke_a_rule);
  }
  for (const auto& [number, sent] : done_) {
    EXPECT_EQ(sent, std::vector<bool>{true});
  }
}

TEST_P(TransportConformance, ManySmallFramesArriveOnceEachAndInOrder) {
  End& a = add(1);
  End& b = add(2);
  link(a, b);
  constexpr std::size_t kFrames = 500;
  for (std::uint64_t k = 0; k < kFrames; ++k) {
    ASSERT_TRUE(send(a, b, k, 64 + k % 100, Priority::kBulk));
  }
  ASSERT_TRUE(run_until([&] { return b.frames.size() >= kFrames; }));
  world_->settle();
  EXPECT_EQ(b.numbers(), counting(kFrames));
  EXPECT_EQ(count_done_once(), kFrames);
}

TEST_P(TransportConformance, StatsCountTheBytesOfBothClasses) {
  End& a = add(1);
  End& b = add(2);
  link(a, b);
  ASSERT_TRUE(send(a, b, 0, 100'000, Priority::kBulk));
  ASSERT_TRUE(send(a, b, 1, 200, Priority::kControl));
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 2; }));
  EXPECT_EQ(a.transport->links()[0].bulk_bytes_sent, 100'000U);
  EXPECT_EQ(b.transport->links()[0].bulk_bytes_received, 100'000U);
  EXPECT_GE(a.transport->links()[0].control_bytes_sent, 200U);
  EXPECT_GE(b.transport->links()[0].control_bytes_received, 200U);
}

TEST_P(TransportConformance, SendWithoutALinkTakesNothing) {
  End& a = add(1);
  End& b = add(2);
  EXPECT_FALSE(send(a, b, 0, 64, Priority::kBulk));
  link(a, b);
  a.transport->close(b.id(), "test");
  EXPECT_TRUE(run_until([&] { return !a.linked(b) && !b.linked(a); }));
  EXPECT_FALSE(send(a, b, 1, 64, Priority::kControl));
  EXPECT_FALSE(send(b, a, 2, 64, Priority::kControl));
  world_->settle();
  EXPECT_TRUE(done_.empty());
}

TEST_P(TransportConformance, EverySendIsDoneOnceThoughTheLinkGoesDownWithThemOutstanding) {
  for (const bool sender_closes : {true, false}) {
    done_.clear();
    use({});
    End& a = add(1);
    End& b = add(2);
    link(a, b);
    constexpr std::size_t kFrames = 40;
    for (std::uint64_t k = 0; k < kFrames; ++k) {
      const Priority priority = k % 4 == 3 ? Priority::kControl : Priority::kBulk;
      ASSERT_TRUE(send(a, b, k, priority == Priority::kBulk ? 1U << 20U : 500, priority));
    }
    // What the receiver needs to have heard before it hangs up.
    if (!sender_closes) {
      ASSERT_TRUE(run_until([&] { return !b.frames.empty(); }));
    }
    (sender_closes ? a : b).transport->close((sender_closes ? b : a).id(), "test");
    ASSERT_TRUE(run_until([&] { return !a.linked(b) && !b.linked(a) && done_.size() == kFrames; }));
    world_->settle();
    EXPECT_EQ(count_done_once(), kFrames) << sender_closes;
    EXPECT_FALSE(a.broke_a_rule || b.broke_a_rule);
  }
}

TEST_P(TransportConformance, DownComesOnceAtBothEndsAndNothingAfterIt) {
  End& a = add(1);
  End& b = add(2);
  link(a, b);
  for (std::uint64_t k = 0; k < 20; ++k) {
    ASSERT_TRUE(send(a, b, k, 10'000, Priority::kBulk));
    ASSERT_TRUE(send(b, a, 100 + k, 10'000, Priority::kControl));
  }
  a.transport->close(b.id(), "had enough");
  a.transport->close(b.id(), "had enough twice");
  b.transport->close(a.id(), "me too");
  ASSERT_TRUE(run_until([&] { return !a.linked(b) && !b.linked(a); }));
  world_->settle();
  ASSERT_EQ(a.down.size(), 1U);
  EXPECT_EQ(a.down[0].first, b.id());
  EXPECT_EQ(a.down[0].second, "had enough");
  ASSERT_EQ(b.down.size(), 1U);
  EXPECT_EQ(b.down[0].first, a.id());
  EXPECT_FALSE(a.broke_a_rule || b.broke_a_rule) << "an event after down";
  EXPECT_TRUE(a.transport->links().empty());
  EXPECT_TRUE(b.transport->links().empty());
  EXPECT_TRUE(a.failed.empty());
}

TEST_P(TransportConformance, SimultaneousDialsLeaveOneLink) {
  for (const bool low_first : {true, false}) {
    use({});
    End& low = add(1);
    End& high = add(2);
    End& first = low_first ? low : high;
    End& second = low_first ? high : low;
    first.transport->dial(second.address);
    second.transport->dial(first.address);
    ASSERT_TRUE(run_until([&] { return low.linked(high) && high.linked(low); }));
    world_->settle();
    for (const End* end : {&low, &high}) {
      EXPECT_EQ(end->up.size() - end->down.size(), 1U);
      EXPECT_EQ(end->transport->links().size(), 1U);
      EXPECT_TRUE(end->failed.empty()) << "a refused duplicate is no failure";
      EXPECT_FALSE(end->broke_a_rule);
    }
    EXPECT_NE(low.transport->links()[0].dialed, high.transport->links()[0].dialed);
    ASSERT_TRUE(send(low, high, 0, 100'000, Priority::kBulk));
    ASSERT_TRUE(send(high, low, 1, 100'000, Priority::kBulk));
    EXPECT_TRUE(run_until([&] { return low.frames.size() == 1 && high.frames.size() == 1; }));
  }
}

TEST_P(TransportConformance, DialingALinkedPeerAgainLeavesOneLinkThatWorks) {
  for (const bool low_dials : {true, false}) {
    use({});
    End& low = add(1);
    End& high = add(2);
    End& dialer = low_dials ? low : high;
    End& acceptor = low_dials ? high : low;
    link(dialer, acceptor);
    dialer.transport->dial(acceptor.address);
    acceptor.transport->dial(dialer.address);
    world_->settle();
    ASSERT_TRUE(run_until([&] { return low.linked(high) && high.linked(low); }));
    EXPECT_TRUE(dialer.failed.empty());
    EXPECT_EQ(dialer.transport->links().size(), 1U);
    EXPECT_EQ(acceptor.transport->links().size(), 1U);
    ASSERT_TRUE(send(dialer, acceptor, 0, 64, Priority::kControl));
    EXPECT_TRUE(run_until([&] { return acceptor.frames.size() == 1; }));
    EXPECT_FALSE(low.broke_a_rule || high.broke_a_rule);
  }
}

TEST_P(TransportConformance, ReconnectsAfterClose) {
  End& a = add(1);
  End& b = add(2);
  for (std::uint64_t round = 0; round < 5; ++round) {
    End& dialer = round % 2 == 0 ? a : b;
    End& acceptor = round % 2 == 0 ? b : a;
    link(dialer, acceptor);
    ASSERT_TRUE(send(a, b, round, 200'000, Priority::kBulk));
    ASSERT_TRUE(run_until([&] { return b.frames.size() == round + 1; }));
    acceptor.transport->close(dialer.id(), "test");
    ASSERT_TRUE(run_until([&] { return !a.linked(b) && !b.linked(a); }));
  }
  world_->settle();
  EXPECT_EQ(a.up.size(), 5U);
  EXPECT_EQ(a.down.size(), 5U);
  EXPECT_EQ(b.numbers(), counting(5));
  EXPECT_TRUE(a.failed.empty() && b.failed.empty());
  EXPECT_FALSE(a.broke_a_rule || b.broke_a_rule);
}

TEST_P(TransportConformance, RestartedProcessReplacesItsOldLink) {
  for (const std::uint64_t id : {1U, 9U}) {
    use({});
    End& old = add(id);
    End& other = add(5);
    link(old, other);
    Hello hello = hello_of(id);
    hello.process += 1;
    End& fresh = world_->add(hello);
    fresh.transport->dial(other.address);
    ASSERT_TRUE(run_until(
        [&] { return other.up.size() == 2 && fresh.linked(other) && !old.linked(other); }));
    world_->settle();
    EXPECT_EQ(other.down.size(), 1U);
    EXPECT_EQ(other.up[1].process, hello.process);
    EXPECT_FALSE(other.broke_a_rule) << "down must come before the second up";
    ASSERT_TRUE(send(other, fresh, 0, 100'000, Priority::kBulk));
    EXPECT_TRUE(run_until([&] { return fresh.frames.size() == 1; }));
    EXPECT_TRUE(old.frames.empty());
  }
}

TEST_P(TransportConformance, APeerOfAnotherJobIsRefused) {
  for (const std::uint64_t id : {1U, 9U}) {
    use({});
    Hello hello = hello_of(id);
    hello.job_hash = 8;
    End& stranger = world_->add(hello);
    End& b = add(5);
    stranger.transport->dial(b.address);
    ASSERT_TRUE(run_until([&] { return !stranger.failed.empty(); }));
    world_->settle();
    ASSERT_EQ(stranger.failed.size(), 1U);
    EXPECT_EQ(stranger.failed[0].first, b.address);
    EXPECT_EQ(stranger.failed[0].second, RefuseCode::kJobDiffers);
    EXPECT_TRUE(stranger.up.empty());
    EXPECT_TRUE(b.up.empty());
    EXPECT_TRUE(b.failed.empty());
  }
}

TEST_P(TransportConformance, AGuestWithoutAJobIsWelcome) {
  Hello hello = hello_of(1);
  hello.job_hash = 0;
  End& guest = world_->add(hello);
  End& b = add(2);
  link(guest, b);
  ASSERT_TRUE(send(b, guest, 0, 1000, Priority::kControl));
  ASSERT_TRUE(run_until([&] { return guest.frames.size() == 1; }));
  EXPECT_NE(b.transport->links()[0].bulk, "ucx") << "no memory access for those not in the job";
}

TEST_P(TransportConformance, DialingItselfIsRefused) {
  End& a = add(1);
  a.transport->dial(a.address);
  ASSERT_TRUE(run_until([&] { return !a.failed.empty(); }));
  world_->settle();
  ASSERT_EQ(a.failed.size(), 1U);
  EXPECT_EQ(a.failed[0].second, RefuseCode::kSelf);
  EXPECT_TRUE(a.up.empty());
  EXPECT_TRUE(a.transport->links().empty());
}

TEST_P(TransportConformance, AnUnreachableAddressFailsOnceAndMayBeDialedAgain) {
  End& a = add(1);
  const Endpoint nowhere = world_->nowhere();
  for (std::size_t attempt = 1; attempt <= 2; ++attempt) {
    a.transport->dial(nowhere);
    a.transport->dial(nowhere);
    ASSERT_TRUE(run_until([&] { return a.failed.size() >= attempt; }));
    world_->settle();
    EXPECT_EQ(a.failed.size(), attempt);
    EXPECT_EQ(a.failed.back().first, nowhere);
  }
  EXPECT_TRUE(a.up.empty());
}

TEST_P(TransportConformance, AnAddressThatCannotBeDialedFailsToo) {
  End& a = add(1);
  const Endpoint bad[] = {{"127.0.0.1", 0}, {std::string(300, 'h'), 1}, {"", 1}};
  for (const Endpoint& endpoint : bad) {
    const std::size_t before = a.failed.size();
    a.transport->dial(endpoint);
    EXPECT_TRUE(run_until([&] { return a.failed.size() == before + 1; })) << endpoint.text();
  }
}

TEST_P(TransportConformance, ThreeEndsKeepTheirLinksApart) {
  End& a = add(1);
  End& b = add(2);
  End& c = add(3);
  link(a, b);
  link(b, c);
  link(c, a);
  ASSERT_TRUE(send(a, b, 0, 70'000, Priority::kBulk));
  ASSERT_TRUE(send(b, c, 1, 70'000, Priority::kBulk));
  ASSERT_TRUE(send(c, a, 2, 70'000, Priority::kBulk));
  ASSERT_TRUE(run_until(
      [&] { return a.frames.size() == 1 && b.frames.size() == 1 && c.frames.size() == 1; }));
  EXPECT_EQ(a.frames[0].first, c.id());
  EXPECT_EQ(b.frames[0].first, a.id());
  EXPECT_EQ(c.frames[0].first, b.id());
  a.transport->close(b.id(), "test");
  ASSERT_TRUE(run_until([&] { return !a.linked(b) && !b.linked(a); }));
  world_->settle();
  EXPECT_TRUE(a.linked(c) && c.linked(a) && b.linked(c) && c.linked(b));
}

// The same link, each end on an executor of its own, so that one can stand still.
class SlowReader : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Over, SlowReader, ::testing::Bool(), [](const auto& each) {
  return each.param ? "Ucx" : "Tcp";
});

TEST_P(SlowReader, StopsTheSenderAtItsLimitAndLosesNothing) {
  const bool with_lane = GetParam();
  if (with_lane && !testing::has_ucx()) {
    GTEST_SKIP() << "make_ucx_lane gives no lane here";
  }
  constexpr std::size_t kLimit = 2U << 20U;
  constexpr std::size_t kFrameBytes = 256U << 10U;
  const auto sender_loop = make_uv_executor();
  const auto reader_loop = make_uv_executor();
  End sender;
  End reader;
  TcpTransportConfig config = config_of(1);
  config.max_queued_bytes = kLimit;
  const auto a = make_tcp_end(*sender_loop, config, with_lane, sender);
  const auto b = make_tcp_end(*reader_loop, config_of(2), with_lane, reader);
  const auto run_both = [&](const std::function<bool()>& is_done) {
    for (int turn = 0; turn < 5000 && !is_done(); ++turn) {
      testing::run_until(*sender_loop, is_done, milliseconds(1));
      testing::run_until(*reader_loop, is_done, milliseconds(1));
    }
    return is_done();
  };
  a->dial(reader.address);
  ASSERT_TRUE(run_both([&] { return sender.linked(reader) && reader.linked(sender); }));
  ASSERT_EQ(a->links()[0].bulk, with_lane ? "ucx" : "tcp");

  std::size_t done = 0;
  std::uint64_t accepted = 0;
  const auto send = [&] {
    const bool taken = a->send(reader.id(), Priority::kBulk,
                               share(numbered_frame(accepted, kFrameBytes, true)), [&](bool sent) {
                                 EXPECT_TRUE(sent);
                                 ++done;
                               });
    accepted += taken ? 1 : 0;
    return taken;
  };
  // The kernel and UCX take some; then the queue fills and stays full.
  int refused = 0;
  for (int k = 0; k < 400 && refused < 3; ++k) {
    refused = send() ? 0 : refused + 1;
    testing::run_until(
        *sender_loop, [] { return false; }, milliseconds(refused == 0 ? 0 : 10));
    EXPECT_LE(a->links()[0].queued_bytes, kLimit + kFrameBytes);
  }
  EXPECT_EQ(refused, 3) << "accepted " << accepted << " frames for a reader that does not read";
  EXPECT_FALSE(reader.frames.size() == accepted);

  ASSERT_TRUE(run_both([&] { return reader.frames.size() == accepted && done == accepted; }));
  EXPECT_EQ(reader.numbers(), counting(accepted));
  EXPECT_TRUE(send()) << "room again";
  ASSERT_TRUE(run_both([&] { return reader.frames.size() == accepted; }));
  EXPECT_TRUE(sender.down.empty());
}

// Regression: a cancelled write used to call into the transport that was gone.
TEST(TcpTransport, MayBeDestroyedWithSendsOutstanding) {
  const auto executor = make_uv_executor();
  End a;
  End b;
  int done = 0;
  {
    auto from = make_tcp_end(*executor, config_of(1), false, a);
    const auto to = make_tcp_end(*executor, config_of(2), false, b);
    from->dial(b.address);
    ASSERT_TRUE(testing::run_until(*executor, [&] { return a.linked(b) && b.linked(a); }));
    for (std::uint64_t k = 0; k < 40; ++k) {
      ASSERT_TRUE(from->send(b.id(), Priority::kBulk, share(numbered_frame(k, 1U << 20U, true)),
                             [&](bool) { ++done; }));
    }
    from.reset();
    ASSERT_TRUE(testing::run_until(*executor, [&] { return !b.linked(a); }));
  }
  EXPECT_EQ(done, 0) << "nothing after the transport";
}

TEST(TcpTransport, RefusesLinksAboveItsLimitWhicheverIdIsLower) {
  for (const std::uint64_t id : {1U, 100U}) {
    const auto executor = make_uv_executor();
    End full;
    End first;
    End second;
    TcpTransportConfig config = config_of(id);
    config.max_links = 1;
    const auto hub = make_tcp_end(*executor, config, false, full);
    const auto a = make_tcp_end(*executor, config_of(50), false, first);
    const auto b = make_tcp_end(*executor, config_of(51), false, second);
    a->dial(full.address);
    ASSERT_TRUE(
        testing::run_until(*executor, [&] { return first.linked(full) && full.linked(first); }));
    b->dial(full.address);
    ASSERT_TRUE(testing::run_until(*executor,
                                   [&] { return !second.failed.empty() || second.linked(full); }));
    EXPECT_EQ(hub->links().size(), 1U) << id;
    ASSERT_EQ(second.failed.size(), 1U) << id;
    EXPECT_EQ(second.failed[0].second, RefuseCode::kFull);
    EXPECT_TRUE(first.linked(full));
  }
}

}  // namespace
}  // namespace hobnob
