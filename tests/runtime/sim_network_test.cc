#include "runtime/transport/sim_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/frames.h"
#include "tests/support/transport_world.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::End;
using testing::hello_of;
using testing::numbered_frame;

// When a frame arrived, and which.
using Arrival = std::pair<Time, std::uint64_t>;

class Swarm {
 public:
  explicit Swarm(const LinkModel& model, std::size_t count = 2, std::uint64_t seed = 1)
      : network_(make_sim_network(*executor_, model, {.seed = seed, .stream = 0})) {
    for (std::uint64_t id = 1; id <= count; ++id) {
      auto end = std::make_unique<End>();
      end->hello = hello_of(id);
      end->address = {"host" + std::to_string(id), 1};
      end->hello.advertise = end->address;
      SimHost& host = network_->add_host(end->hello);
      end->transport = &host.transport();
      Transport::Events events = end->events();
      events.on_frame = [this, k = id - 1, keep = events.on_frame](const PeerId& peer,
                                                                   Bytes bytes) {
        arrivals_[k].emplace_back(executor_->now(), testing::number_of(bytes));
        keep(peer, std::move(bytes));
      };
      end->transport->start(events);
      EXPECT_TRUE(end->transport->listen(end->address).ok());
      ends_.push_back(std::move(end));
      hosts_.push_back(&host);
      arrivals_.emplace_back();
    }
  }

  End& end(std::size_t k) { return *ends_[k]; }

  SimHost& host(std::size_t k) { return *hosts_[k]; }

  const std::vector<Arrival>& arrivals(std::size_t k) const { return arrivals_[k]; }

  SimNetwork& network() { return *network_; }

  Time now() const { return executor_->now(); }

  void run(Duration time) { executor_->run_until(executor_->now() + time); }

  void link(std::size_t a, std::size_t b) {
    end(a).transport->dial(end(b).address);
    run(seconds(1));
    ASSERT_TRUE(end(a).linked(end(b)) && end(b).linked(end(a)));
  }

  bool send(std::size_t from, std::size_t to, std::uint64_t number, std::size_t size = 64) {
    return end(from).transport->send(end(to).id(), Priority::kBulk,
                                     share(numbered_frame(number, size, true)), nullptr);
  }

 private:
  std::unique_ptr<SimExecutor> executor_ = make_sim_executor();
  std::vector<std::unique_ptr<End>> ends_;
  std::vector<std::vector<Arrival>> arrivals_;
  std::vector<SimHost*> hosts_;
  std::unique_ptr<SimNetwork> network_;
};

const LinkModel kRough{.bytes_per_second = 1e6,
                       .delay = milliseconds(5),
                       .jitter = milliseconds(3),
                       .loss = 0.1,
                       .duplicate = 0.1,
                       .reorder = 0.2};

std::vector<std::vector<Arrival>> rough_run(std::uint64_t seed) {
  Swarm swarm(kRough, 3, seed);
  swarm.link(0, 1);
  swarm.link(2, 0);
  for (std::uint64_t k = 0; k < 200; ++k) {
    swarm.send(0, 1, k, 64 + 10 * k);
    swarm.send(1, 0, 1000 + k);
    swarm.send(2, 0, 2000 + k);
    swarm.run(milliseconds(2));
  }
  swarm.run(seconds(5));
  return {swarm.arrivals(0), swarm.arrivals(1), swarm.arrivals(2)};
}

TEST(SimNetwork, SameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  EXPECT_EQ(rough_run(7), rough_run(7));
  EXPECT_NE(rough_run(7), rough_run(8));
}

TEST(SimNetwork, ADelayedFrameArrivesExactlyThen) {
  Swarm swarm({.delay = milliseconds(5)});
  swarm.link(0, 1);
  const Time sent = swarm.now();
  ASSERT_TRUE(swarm.send(0, 1, 1));
  swarm.run(seconds(1));
  EXPECT_EQ(swarm.arrivals(1), (std::vector<Arrival>{{sent + milliseconds(5), 1}}));
}

TEST(SimNetwork, JitterStaysInItsRangeAndKeepsTheOrder) {
  Swarm swarm({.delay = milliseconds(5), .jitter = milliseconds(10)});
  swarm.link(0, 1);
  const Time sent = swarm.now();
  for (std::uint64_t k = 0; k < 300; ++k) {
    swarm.send(0, 1, k);
  }
  swarm.run(seconds(1));
  ASSERT_EQ(swarm.arrivals(1).size(), 300U);
  for (std::uint64_t k = 0; k < 300; ++k) {
    EXPECT_EQ(swarm.arrivals(1)[k].second, k);
    EXPECT_GE(swarm.arrivals(1)[k].first, sent + milliseconds(5));
    EXPECT_LT(swarm.arrivals(1)[k].first, sent + milliseconds(15));
  }
  EXPECT_LT(swarm.arrivals(1).front().first, swarm.arrivals(1).back().first);
}

TEST(SimNetwork, LosesAndDuplicatesAtItsRates) {
  Swarm swarm({.delay = milliseconds(1), .loss = 0.2, .duplicate = 0.3});
  swarm.link(0, 1);
  constexpr std::uint64_t kFrames = 4000;
  for (std::uint64_t k = 0; k < kFrames; ++k) {
    swarm.send(0, 1, k);
  }
  swarm.run(seconds(1));
  std::vector<int> copies(kFrames);
  for (const Arrival& arrival : swarm.arrivals(1)) {
    ++copies[arrival.second];
  }
  const auto of = [&](int count) { return static_cast<double>(std::ranges::count(copies, count)); };
  EXPECT_NEAR(of(0), 0.2 * kFrames, 150);
  EXPECT_NEAR(of(2), 0.8 * 0.3 * kFrames, 150);
  EXPECT_EQ(of(0) + of(1) + of(2), static_cast<double>(kFrames));
  EXPECT_EQ(swarm.network().frames(), kFrames);
  EXPECT_EQ(swarm.network().bytes(), 64 * kFrames);
}

TEST(SimNetwork, ReordersAtItsRateAndNoFurtherThanItsDelay) {
  Swarm swarm({.delay = milliseconds(1), .reorder = 0.2, .reorder_delay = milliseconds(20)});
  swarm.link(0, 1);
  const Time sent = swarm.now();
  constexpr std::uint64_t kFrames = 1000;
  for (std::uint64_t k = 0; k < kFrames; ++k) {
    swarm.send(0, 1, k);
  }
  swarm.run(seconds(1));
  ASSERT_EQ(swarm.arrivals(1).size(), kFrames);
  std::uint64_t late = 0;
  for (const Arrival& arrival : swarm.arrivals(1)) {
    late += arrival.first > sent + milliseconds(1) ? 1U : 0U;
    EXPECT_LE(arrival.first, sent + milliseconds(21));
  }
  EXPECT_NEAR(static_cast<double>(late), 200.0, 50.0);
}

TEST(SimNetwork, RateBoundsAHostsUplinkOverAllItsLinks) {
  Swarm swarm({.bytes_per_second = 1e6, .delay = milliseconds(1)}, 3);
  swarm.link(0, 1);
  swarm.link(0, 2);
  const Time sent = swarm.now();
  for (std::uint64_t k = 0; k < 10; ++k) {
    ASSERT_TRUE(swarm.send(0, 1 + k % 2, k, 100'000));
  }
  swarm.send(1, 0, 99, 100'000);
  swarm.run(seconds(5));
  EXPECT_EQ(swarm.arrivals(2).back().first, sent + seconds(1) + milliseconds(1));
  EXPECT_EQ(swarm.arrivals(1).front().first, sent + milliseconds(101));
  EXPECT_EQ(swarm.arrivals(0).back().first, sent + milliseconds(101)) << "another host's uplink";
}

TEST(SimNetwork, AKilledHostFallsSilentAndItsLinksGoDownOnceAfterOneDelay) {
  Swarm swarm({.delay = milliseconds(5)});
  swarm.link(0, 1);
  bool ran = false;
  swarm.host(0).executor().after(milliseconds(1), [&] { ran = true; });
  swarm.send(1, 0, 1);
  swarm.network().kill(swarm.end(0).id());
  swarm.run(milliseconds(4));
  EXPECT_TRUE(swarm.end(1).down.empty());
  swarm.run(milliseconds(1));
  EXPECT_EQ(swarm.end(1).down.size(), 1U);
  swarm.run(seconds(60));
  EXPECT_EQ(swarm.end(1).down.size(), 1U);
  EXPECT_FALSE(ran);
  EXPECT_TRUE(swarm.end(0).frames.empty());
  EXPECT_TRUE(swarm.end(0).down.empty()) << "the dead hear nothing";
  EXPECT_FALSE(swarm.send(1, 0, 2));
  swarm.end(1).transport->dial(swarm.end(0).address);
  swarm.run(seconds(1));
  EXPECT_EQ(swarm.end(1).failed.size(), 1U);
}

// Regression: the other end used to keep such a link for ever.
TEST(SimNetwork, AHostKilledWhileItDialsLeavesNoLinkBehind) {
  for (const bool dialer_dies : {true, false}) {
    for (int at = 0; at <= 12; ++at) {
      Swarm swarm({.delay = milliseconds(5)});
      swarm.end(0).transport->dial(swarm.end(1).address);
      swarm.run(milliseconds(at));
      swarm.network().kill(swarm.end(dialer_dies ? 0 : 1).id());
      swarm.run(seconds(60));
      const End& survivor = swarm.end(dialer_dies ? 1 : 0);
      EXPECT_TRUE(survivor.transport->links().empty()) << at;
      EXPECT_EQ(survivor.up.size(), survivor.down.size()) << at;
    }
  }
}

TEST(SimNetwork, AFrozenHostKeepsTasksAndFramesUntilItThaws) {
  Swarm swarm({.delay = milliseconds(1)});
  swarm.link(0, 1);
  std::vector<int> ran;
  swarm.host(1).executor().after(milliseconds(10), [&] { ran.push_back(1); });
  swarm.host(1).executor().after(milliseconds(20), [&] { ran.push_back(2); });
  swarm.network().freeze(swarm.end(1).id());
  for (std::uint64_t k = 0; k < 10; ++k) {
    EXPECT_TRUE(swarm.send(0, 1, k));
  }
  swarm.run(seconds(2));
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(swarm.end(1).frames.empty());
  swarm.network().thaw(swarm.end(1).id());
  swarm.run(seconds(30));
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
  ASSERT_EQ(swarm.end(1).frames.size(), 10U);
  for (std::uint64_t k = 0; k < 10; ++k) {
    EXPECT_EQ(swarm.arrivals(1)[k].second, k);
  }
  EXPECT_TRUE(swarm.end(0).down.empty()) << "it was back before the watchdog";
}

TEST(SimNetwork, AHostFrozenForTheWatchdogTimeLosesItsLinks) {
  Swarm swarm({.delay = milliseconds(1), .watchdog = seconds(5)});
  swarm.link(0, 1);
  swarm.network().freeze(swarm.end(1).id());
  swarm.run(seconds(4));
  EXPECT_TRUE(swarm.end(0).down.empty());
  swarm.run(seconds(2));
  EXPECT_EQ(swarm.end(0).down.size(), 1U);
  EXPECT_TRUE(swarm.end(1).down.empty()) << "it hears of it when it thaws";
  swarm.network().thaw(swarm.end(1).id());
  swarm.run(seconds(1));
  EXPECT_EQ(swarm.end(1).down.size(), 1U);
  swarm.link(1, 0);
  EXPECT_FALSE(swarm.end(0).broke_a_rule || swarm.end(1).broke_a_rule);
}

TEST(SimNetwork, ThawAndFreezeAgainStartTheWatchdogAnew) {
  Swarm swarm({.delay = milliseconds(1), .watchdog = seconds(5)});
  swarm.link(0, 1);
  swarm.network().freeze(swarm.end(1).id());
  swarm.run(seconds(4));
  swarm.network().thaw(swarm.end(1).id());
  swarm.run(milliseconds(10));
  swarm.network().freeze(swarm.end(1).id());
  swarm.run(seconds(4));
  EXPECT_TRUE(swarm.end(0).down.empty());
  swarm.run(seconds(2));
  EXPECT_EQ(swarm.end(0).down.size(), 1U);
}

TEST(SimNetwork, ACancelledTimerNeverRunsEvenAcrossAFreeze) {
  Swarm swarm({.delay = milliseconds(1)});
  Executor& executor = swarm.host(0).executor();
  bool ran = false;
  const TimerId early = executor.after(milliseconds(10), [&] { ran = true; });
  executor.cancel(early);
  const TimerId late = executor.after(milliseconds(20), [&] { ran = true; });
  swarm.network().freeze(swarm.end(0).id());
  swarm.run(milliseconds(100));
  swarm.network().thaw(swarm.end(0).id());
  executor.cancel(late);
  swarm.run(seconds(1));
  EXPECT_FALSE(ran);
}

TEST(SimNetwork, APartitionDropsFramesSilentlyAndHeals) {
  Swarm swarm({.delay = milliseconds(1), .watchdog = seconds(5)}, 3);
  swarm.link(0, 1);
  swarm.link(0, 2);
  swarm.network().set_partitioned(swarm.end(1).id(), swarm.end(0).id(), true);
  EXPECT_TRUE(swarm.send(0, 1, 1));
  EXPECT_TRUE(swarm.send(0, 2, 2));
  swarm.run(seconds(1));
  EXPECT_TRUE(swarm.end(1).frames.empty());
  EXPECT_EQ(swarm.end(2).frames.size(), 1U) << "another link";
  swarm.network().set_partitioned(swarm.end(0).id(), swarm.end(1).id(), false);
  EXPECT_TRUE(swarm.send(0, 1, 3));
  swarm.run(seconds(30));
  EXPECT_EQ(swarm.end(1).frames.size(), 1U);
  EXPECT_TRUE(swarm.end(0).down.empty());
}

TEST(SimNetwork, ALongPartitionTakesTheLinkDownAtBothEndsAndStopsDialing) {
  Swarm swarm({.delay = milliseconds(1), .watchdog = seconds(5)});
  swarm.link(0, 1);
  swarm.network().set_partitioned(swarm.end(0).id(), swarm.end(1).id(), true);
  swarm.run(seconds(10));
  EXPECT_EQ(swarm.end(0).down.size(), 1U);
  EXPECT_EQ(swarm.end(1).down.size(), 1U);
  swarm.end(0).transport->dial(swarm.end(1).address);
  swarm.run(seconds(1));
  EXPECT_EQ(swarm.end(0).failed.size(), 1U);
  swarm.network().set_partitioned(swarm.end(0).id(), swarm.end(1).id(), false);
  swarm.link(0, 1);
}

// Regression: the watchdog of a healed partition used to count against the next one.
TEST(SimNetwork, HealAndPartitionAgainStartTheWatchdogAnew) {
  Swarm swarm({.delay = milliseconds(1), .watchdog = seconds(5)});
  swarm.link(0, 1);
  swarm.network().set_partitioned(swarm.end(0).id(), swarm.end(1).id(), true);
  swarm.run(seconds(4));
  swarm.network().set_partitioned(swarm.end(0).id(), swarm.end(1).id(), false);
  swarm.run(milliseconds(10));
  swarm.network().set_partitioned(swarm.end(0).id(), swarm.end(1).id(), true);
  swarm.run(seconds(4));
  EXPECT_TRUE(swarm.end(0).down.empty());
  swarm.run(seconds(2));
  EXPECT_EQ(swarm.end(0).down.size(), 1U);
}

TEST(SimNetwork, ANewModelAppliesToFramesSentAfterIt) {
  Swarm swarm({.delay = milliseconds(1)});
  swarm.link(0, 1);
  swarm.network().set_model({.delay = milliseconds(1), .loss = 1.0});
  EXPECT_TRUE(swarm.send(0, 1, 1));
  swarm.run(seconds(1));
  EXPECT_TRUE(swarm.end(1).frames.empty());
}

}  // namespace
}  // namespace hobnob
