#include "runtime/transport/threaded_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/transport_world.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;
using testing::config_of;
using testing::End;
using testing::numbered_frame;

constexpr auto kPatience = std::chrono::seconds(30);

// A peer as a live process has it: a loop thread with the transport, a gossip thread with the rest.
// `end` belongs to the gossip thread.
class ThreadedPeer {
 public:
  explicit ThreadedPeer(std::uint64_t id, bool with_lane = false) {
    end.hello = testing::hello_of(id);
    TcpTransportConfig config = config_of(id);
    MakeLane make_lane;
    if (with_lane) {
      config.trusted_networks = testing::loopback_networks();
      make_lane = [this](BulkLane::Events events) {
        return make_ucx_lane(*loop_, {.trusted_networks = testing::loopback_networks()},
                             std::move(events));
      };
    }
    inner_ = make_tcp_transport(*loop_, config, make_lane);
    outer_ = std::make_unique<ThreadedTransport>(*inner_, *loop_, *gossip_);
    end.transport = outer_.get();
    end.address = outer_->listen({"127.0.0.1", 0}).value();
    Transport::Events events = end.events();
    const auto checked = [this](auto callback) {
      return [this, callback](auto&&... arguments) {
        is_on_gossip_thread &= std::this_thread::get_id() == gossip_thread_.get_id();
        callback(std::forward<decltype(arguments)>(arguments)...);
        look();
      };
    };
    outer_->start({.on_link_up = checked(events.on_link_up),
                   .on_link_down = checked(events.on_link_down),
                   .on_frame = checked(events.on_frame),
                   .on_dial_failed = checked(events.on_dial_failed)});
    std::promise<void> named;
    gossip_thread_ = std::thread([this, ready = named.get_future()]() mutable {
      ready.wait();
      gossip_->run();
    });
    named.set_value();
    loop_thread_ = std::thread([this] { loop_->run(); });
  }

  ThreadedPeer(const ThreadedPeer&) = delete;
  ThreadedPeer& operator=(const ThreadedPeer&) = delete;

  ~ThreadedPeer() {
    gossip_->stop();
    gossip_thread_.join();
    loop_->stop();
    loop_thread_.join();
    inner_.reset();
  }

  // Runs on the gossip thread and waits for it.
  void call(const Task& task) {
    std::promise<void> ran;
    gossip_->post([&] {
      task();
      ran.set_value();
    });
    ran.get_future().wait();
  }

  // Waits until `condition`, asked on the gossip thread after each event, holds.
  bool wait_for(const std::function<bool()>& condition) {
    std::promise<void> held;
    call([&] {
      waiting_ = [&held, condition] {
        if (!condition()) {
          return false;
        }
        held.set_value();
        return true;
      };
      look();
    });
    const bool in_time = held.get_future().wait_for(kPatience) == std::future_status::ready;
    call([&] { waiting_ = nullptr; });
    return in_time;
  }

  // After an event: does what is waited for hold?
  void look() {
    if (waiting_ && waiting_()) {
      waiting_ = nullptr;
    }
  }

  End end;
  bool is_on_gossip_thread = true;

 private:
  std::unique_ptr<UvExecutor> loop_ = make_uv_executor();
  std::unique_ptr<UvExecutor> gossip_ = make_uv_executor();
  std::unique_ptr<Transport> inner_;
  std::unique_ptr<ThreadedTransport> outer_;
  std::function<bool()> waiting_;
  std::thread gossip_thread_;
  std::thread loop_thread_;
};

void link(ThreadedPeer& dialer, ThreadedPeer& acceptor) {
  const Endpoint address = acceptor.end.address;
  const PeerId dialer_id = dialer.end.id();
  const PeerId acceptor_id = acceptor.end.id();
  dialer.call([&] { dialer.end.transport->dial(address); });
  EXPECT_TRUE(dialer.wait_for([&] { return dialer.end.is_linked[acceptor_id]; }));
  EXPECT_TRUE(acceptor.wait_for([&] { return acceptor.end.is_linked[dialer_id]; }));
}

class ThreadedTransportOver : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Lane, ThreadedTransportOver, ::testing::Bool(), [](const auto& each) {
  return each.param ? "Ucx" : "Tcp";
});

TEST_P(ThreadedTransportOver, FramesGetThroughBothWaysInOrder) {
  if (GetParam() && !testing::has_ucx()) {
    GTEST_SKIP() << "make_ucx_lane gives no lane here";
  }
  constexpr std::uint64_t kFrames = 100;
  ThreadedPeer a(1, GetParam());
  ThreadedPeer b(2, GetParam());
  link(a, b);
  std::size_t done[2] = {0, 0};
  const auto send_all = [&](ThreadedPeer& from, const PeerId& to, std::size_t& count) {
    from.call([&] {
      for (std::uint64_t k = 0; k < kFrames; ++k) {
        EXPECT_TRUE(from.end.transport->send(
            to, Priority::kBulk, share(numbered_frame(k, 64 + 700 * k, true)), [&](bool sent) {
              EXPECT_TRUE(sent);
              ++count;
              from.look();
            }));
      }
    });
  };
  send_all(a, b.end.id(), done[0]);
  send_all(b, a.end.id(), done[1]);
  for (ThreadedPeer* peer : {&a, &b}) {
    EXPECT_TRUE(peer->wait_for([&] { return peer->end.frames.size() >= kFrames; }));
    EXPECT_TRUE(peer->wait_for([&] { return done[peer == &a ? 0 : 1] == kFrames; }));
    peer->call([&] {
      std::vector<std::uint64_t> expected;
      for (std::uint64_t k = 0; k < kFrames; ++k) {
        expected.push_back(k);
      }
      EXPECT_EQ(peer->end.numbers(), expected);
      EXPECT_TRUE(peer->is_on_gossip_thread);
      EXPECT_FALSE(peer->end.broke_a_rule);
    });
  }
}

TEST(ThreadedTransport, SendWithoutALinkTakesNothing) {
  ThreadedPeer a(1);
  a.call([&] {
    EXPECT_FALSE(a.end.transport->send({0, 2}, Priority::kBulk, share(numbered_frame(0, 64, true)),
                                       [](bool) { FAIL(); }));
  });
}

TEST(ThreadedTransport, EverySendIsDoneOnceWhenTheLinkGoesDown) {
  ThreadedPeer a(1);
  ThreadedPeer b(2);
  link(a, b);
  constexpr std::size_t kFrames = 30;
  std::vector<int> done(kFrames);
  const PeerId other = b.end.id();
  a.call([&] {
    for (std::uint64_t k = 0; k < kFrames; ++k) {
      EXPECT_TRUE(a.end.transport->send(other, Priority::kBulk,
                                        share(numbered_frame(k, 500'000, true)), [&, k](bool) {
                                          ++done[k];
                                          a.look();
                                        }));
    }
    a.end.transport->close(other, "test");
  });
  EXPECT_TRUE(a.wait_for([&] { return done == std::vector<int>(kFrames, 1); }));
  EXPECT_TRUE(a.wait_for([&] { return a.end.down.size() == 1; }));
  EXPECT_TRUE(b.wait_for([&] { return b.end.down.size() == 1; }));
  a.call([&] {
    EXPECT_EQ(done, std::vector<int>(kFrames, 1));
    EXPECT_EQ(a.end.down[0].second, "test");
  });
}

TEST(ThreadedTransport, ReconnectsAndReportsLinks) {
  ThreadedPeer a(1);
  ThreadedPeer b(2);
  const PeerId other = b.end.id();
  for (std::size_t round = 1; round <= 3; ++round) {
    link(a, b);
    a.call([&] { a.end.transport->close(other, "test"); });
    EXPECT_TRUE(a.wait_for([&] { return a.end.down.size() == round; }));
    EXPECT_TRUE(b.wait_for([&] { return b.end.down.size() == round; }));
  }
  link(a, b);
  a.call([&] { static_cast<void>(a.end.transport->links()); });
  // The answer to the question above comes before the answer to this send.
  bool sent = false;
  a.call([&] {
    EXPECT_TRUE(a.end.transport->send(other, Priority::kControl,
                                      share(numbered_frame(0, 64, false)), [&](bool) {
                                        sent = true;
                                        a.look();
                                      }));
  });
  EXPECT_TRUE(a.wait_for([&] { return sent; }));
  a.call([&] {
    const std::vector<LinkStats> links = a.end.transport->links();
    ASSERT_EQ(links.size(), 1U);
    EXPECT_EQ(links[0].peer, other);
  });
}

TEST(ThreadedTransport, MayBeDestroyedInTheMiddleOfEverything) {
  ThreadedPeer b(2);
  {
    ThreadedPeer a(1);
    link(a, b);
    const PeerId other = b.end.id();
    a.call([&] {
      for (std::uint64_t k = 0; k < 20; ++k) {
        a.end.transport->send(other, Priority::kBulk, share(numbered_frame(k, 1U << 20U, true)),
                              [](bool) {});
      }
      a.end.transport->dial({"127.0.0.1", 1});
    });
  }
  EXPECT_TRUE(b.wait_for([&] { return b.end.down.size() == 1; }));
}

}  // namespace
}  // namespace hobnob
