#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/loop/executor.h"
#include "runtime/transport/bulk_lane.h"

namespace hobnob {
namespace {

using std::chrono::milliseconds;

constexpr LaneKey kAcceptorKey = 11;
constexpr LaneKey kDialerKey = 22;
constexpr std::uint64_t kToken = 0x1234'5678'9abc'def0;

std::vector<Cidr> loopback() {
  return {Cidr::parse("127.0.0.0/8", "test").value()};
}

BulkLaneConfig test_config() {
  return {.trusted_networks = loopback(),
          .max_frame_bytes = std::size_t{128} << 20U,
          .progress_deadline = milliseconds(800)};
}

Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& each : bytes) {
    state = state * 1664525U + 1013904223U;
    each = static_cast<std::byte>(state >> 24U);
  }
  return bytes;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One end and what happened to it.
struct End {
  std::vector<LaneKey> up;
  std::map<LaneKey, std::vector<std::string>> down;
  std::vector<Bytes> frames;
  std::unique_ptr<BulkLane> lane;
};

class UcxLaneTest : public testing::TestWithParam<bool> {
 protected:
  UcxLaneTest() : executor_(make_uv_executor()) {}

  ~UcxLaneTest() override {
    acceptor_.lane.reset();
    dialer_.lane.reset();
  }

  static BulkLaneConfig config() {
    BulkLaneConfig made = test_config();
    made.shared_memory = GetParam();
    return made;
  }

  void open(End& end, const BulkLaneConfig& config) {
    end.lane = make_ucx_lane(
        *executor_, config,
        {.on_up = [&end](LaneKey key) { end.up.push_back(key); },
         .on_down = [&end](LaneKey key,
                           const std::string& reason) { end.down[key].push_back(reason); },
         .on_frame = [&end](LaneKey, Bytes frame) { end.frames.push_back(std::move(frame)); }});
    ASSERT_NE(end.lane, nullptr);
  }

  void open_both() {
    open(acceptor_, config());
    open(dialer_, config());
  }

  Bytes offer() {
    Result<Bytes> made = acceptor_.lane->offer("127.0.0.1");
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? std::move(made).value() : Bytes{};
  }

  Result<void> dial(ByteSpan offer, std::uint64_t token = kToken) {
    return dialer_.lane->connect(kDialerKey, offer, "127.0.0.1", token);
  }

  void bring_up() {
    open_both();
    const Bytes made = offer();
    acceptor_.lane->accept(kAcceptorKey, kToken);
    const Result<void> dialed = dial(made);
    ASSERT_TRUE(dialed.ok()) << dialed.error().message;
    run_until([&] { return !acceptor_.up.empty() && !dialer_.up.empty(); });
  }

  // Fails the test when it takes more than `limit`.
  void run_until(const std::function<bool()>& is_done,
                 milliseconds limit = std::chrono::seconds(20)) {
    const TimerId watchdog = executor_->after(limit, [&] {
      ADD_FAILURE() << "did not happen in time";
      executor_->stop();
    });
    std::function<void()> look = [&] {
      if (is_done()) {
        executor_->stop();
      } else {
        look_ = executor_->after(milliseconds(1), look);
      }
    };
    look_ = executor_->after(milliseconds(0), look);
    executor_->run();
    executor_->cancel(watchdog);
    executor_->cancel(look_);
  }

  void run_for(milliseconds time) {
    executor_->after(time, [&] { executor_->stop(); });
    executor_->run();
  }

  std::unique_ptr<UvExecutor> executor_;
  TimerId look_ = 0;
  End acceptor_;
  End dialer_;
};

INSTANTIATE_TEST_SUITE_P(Tcp, UcxLaneTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(SharedMemory, UcxLaneTest, testing::Values(true));

TEST_P(UcxLaneTest, ComesUpOnceOnBothSides) {
  bring_up();
  run_for(milliseconds(50));
  EXPECT_EQ(acceptor_.up, std::vector<LaneKey>{kAcceptorKey});
  EXPECT_EQ(dialer_.up, std::vector<LaneKey>{kDialerKey});
  EXPECT_TRUE(acceptor_.down.empty());
  EXPECT_TRUE(dialer_.down.empty());
}

TEST_P(UcxLaneTest, DeliversFramesWholeAndInOrderBothWays) {
  bring_up();
  std::vector<Bytes> sent;
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{64} << 10U, (std::size_t{1} << 20U) + 1, std::size_t{0},
        std::size_t{64} << 20U, std::size_t{2}, std::size_t{3} << 20U, std::size_t{5}}) {
    sent.push_back(pattern(size, static_cast<unsigned>(sent.size())));
  }
  for (unsigned i = 0; i < 300; ++i) {
    sent.push_back(pattern(i * 37, i));
  }
  std::map<std::pair<bool, std::size_t>, int> done;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const SharedBytes frame = share(sent[i]);
    acceptor_.lane->send(kAcceptorKey, frame, [&done, i](bool ok) { done[{ok, 2 * i}]++; });
    dialer_.lane->send(kDialerKey, frame, [&done, i](bool ok) { done[{ok, 2 * i + 1}]++; });
  }
  EXPECT_TRUE(done.empty());
  run_until([&] {
    return acceptor_.frames.size() == sent.size() && dialer_.frames.size() == sent.size() &&
           done.size() == 2 * sent.size();
  });
  run_for(milliseconds(20));
  EXPECT_TRUE(acceptor_.frames == sent);
  EXPECT_TRUE(dialer_.frames == sent);
  for (const auto& [what, count] : done) {
    EXPECT_TRUE(what.first);
    EXPECT_EQ(count, 1);
  }
}

TEST_P(UcxLaneTest, SendsWhatWasGivenBeforeItCameUp) {
  open_both();
  const Bytes made = offer();
  acceptor_.lane->accept(kAcceptorKey, kToken);
  acceptor_.lane->send(kAcceptorKey, share(pattern(100, 1)), [](bool) {});
  ASSERT_TRUE(dial(made).ok());
  dialer_.lane->send(kDialerKey, share(pattern(100, 2)), [](bool) {});
  run_until([&] { return !acceptor_.frames.empty() && !dialer_.frames.empty(); });
  EXPECT_TRUE(dialer_.frames.at(0) == pattern(100, 1));
  EXPECT_TRUE(acceptor_.frames.at(0) == pattern(100, 2));
}

TEST_P(UcxLaneTest, RefusesAWrongToken) {
  open_both();
  const Bytes made = offer();
  acceptor_.lane->accept(kAcceptorKey, kToken);
  ASSERT_TRUE(dial(made, kToken + 1).ok());
  run_until([&] { return !dialer_.down.empty() && !acceptor_.down.empty(); });
  EXPECT_TRUE(acceptor_.up.empty());
  EXPECT_TRUE(dialer_.up.empty());
  EXPECT_EQ(dialer_.down[kDialerKey].size(), 1U);
  EXPECT_EQ(acceptor_.down[kAcceptorKey].size(), 1U);
}

TEST_P(UcxLaneTest, CallsAGarbageOfferMalformed) {
  open_both();
  const Bytes made = offer();
  for (std::size_t size = 0; size < made.size(); ++size) {
    const Result<void> dialed = dial(ByteSpan(made).first(size));
    ASSERT_FALSE(dialed.ok());
    EXPECT_EQ(dialed.error().code, ErrorCode::kMalformed);
  }
  Bytes longer = made;
  longer.push_back(std::byte{0});
  EXPECT_EQ(dial(longer).error().code, ErrorCode::kMalformed);
  EXPECT_EQ(dial(pattern(64, 3)).error().code, ErrorCode::kMalformed);
}

TEST_P(UcxLaneTest, RefusesADifferentUcxVersionAndSaysSo) {
  open_both();
  Bytes made = offer();
  // u16 format, u16 length, text.
  made.at(4) = std::byte{'9'};
  const Result<void> dialed = dial(made);
  ASSERT_FALSE(dialed.ok());
  EXPECT_EQ(dialed.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(dialed.error().message.find("version"), std::string::npos) << dialed.error().message;
}

TEST_P(UcxLaneTest, RefusesDifferentSettingsAndSaysSo) {
  BulkLaneConfig other = config();
  other.shared_memory = !other.shared_memory;
  open(acceptor_, config());
  open(dialer_, other);
  const Result<void> dialed = dial(offer());
  ASSERT_FALSE(dialed.ok());
  EXPECT_EQ(dialed.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(dialed.error().message.find("settings"), std::string::npos) << dialed.error().message;
}

TEST_P(UcxLaneTest, OffersNothingOnAnUntrustedAddress) {
  open_both();
  for (const std::string address : {"198.51.100.1", "0.0.0.0", "::1", "nonsense", ""}) {
    const Result<Bytes> made = acceptor_.lane->offer(address);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  }
  const Bytes made = offer();
  const Result<void> dialed = dialer_.lane->connect(kDialerKey, made, "198.51.100.1", kToken);
  ASSERT_FALSE(dialed.ok());
  EXPECT_EQ(dialed.error().code, ErrorCode::kUnavailable);
}

TEST_P(UcxLaneTest, IsNullWithoutATrustedInterface) {
  BulkLaneConfig nowhere = config();
  nowhere.trusted_networks = {Cidr::parse("198.51.100.0/24", "test").value()};
  EXPECT_EQ(make_ucx_lane(*executor_, nowhere, {}), nullptr);
}

TEST_P(UcxLaneTest, RefusesAnOverlongFrameAtTheSender) {
  bring_up();
  std::vector<bool> done;
  dialer_.lane->send(kDialerKey, share(Bytes(config().max_frame_bytes + 1)),
                     [&](bool ok) { done.push_back(ok); });
  EXPECT_TRUE(done.empty());
  run_until([&] { return !done.empty(); });
  EXPECT_EQ(done, std::vector<bool>{false});
  EXPECT_TRUE(dialer_.down.empty());
}

TEST_P(UcxLaneTest, DiesOfAnOverlongFrameAtTheReceiver) {
  for (const std::size_t size : {std::size_t{5000}, std::size_t{2} << 20U}) {
    acceptor_ = {};
    dialer_ = {};
    BulkLaneConfig small = config();
    small.max_frame_bytes = 4096;
    open(acceptor_, small);
    open(dialer_, config());
    const Bytes made = offer();
    acceptor_.lane->accept(kAcceptorKey, kToken);
    ASSERT_TRUE(dial(made).ok());
    dialer_.lane->send(kDialerKey, share(pattern(size, 1)), [](bool) {});
    run_until([&] { return !acceptor_.down.empty() && !dialer_.down.empty(); });
    EXPECT_TRUE(acceptor_.frames.empty());
    EXPECT_EQ(acceptor_.down[kAcceptorKey].size(), 1U);
    EXPECT_NE(acceptor_.down[kAcceptorKey][0].find("limit 4096"), std::string::npos);
    EXPECT_EQ(dialer_.down[kDialerKey].size(), 1U);
  }
}

TEST_P(UcxLaneTest, CancelsOutstandingSendsOnceWhenClosed) {
  bring_up();
  std::vector<int> done(8, 0);
  for (std::size_t i = 0; i < done.size(); ++i) {
    dialer_.lane->send(kDialerKey, share(pattern(std::size_t{8} << 20U, 1)),
                       [&done, i](bool ok) { done[i] += ok ? 100 : 1; });
  }
  executor_->after(milliseconds(1), [&] { dialer_.lane->close(kDialerKey); });
  run_until([&] { return !acceptor_.down.empty() && done.back() != 0; });
  run_for(milliseconds(50));
  for (const int each : done) {
    EXPECT_TRUE(each == 1 || each == 100) << each;
  }
  EXPECT_EQ(done.back(), 1);
  EXPECT_EQ(acceptor_.down[kAcceptorKey].size(), 1U);
  EXPECT_TRUE(dialer_.down.empty());
  int late = 0;
  dialer_.lane->send(kDialerKey, share(pattern(1, 1)), [&](bool ok) { late += ok ? 100 : 1; });
  run_until([&] { return late != 0; });
  EXPECT_EQ(late, 1);
}

TEST_P(UcxLaneTest, ReconnectsManyTimesThroughClosesInTheMiddle) {
  open_both();
  const Bytes made = offer();
  for (std::uint64_t i = 0; i < 20; ++i) {
    acceptor_.lane->accept(100 + i, kToken + i);
    ASSERT_TRUE(dialer_.lane->connect(200 + i, made, "127.0.0.1", kToken + i).ok());
    run_until([&] { return acceptor_.up.size() == i + 1 && dialer_.up.size() == i + 1; });
    dialer_.lane->send(200 + i, share(pattern(std::size_t{4} << 20U, 1)), [](bool) {});
    acceptor_.lane->send(100 + i, share(pattern(std::size_t{4} << 20U, 1)), [](bool) {});
    run_for(milliseconds(i % 4));
    if (i % 2 == 0) {
      dialer_.lane->close(200 + i);
      run_until([&] { return acceptor_.down.contains(100 + i); });
    } else {
      acceptor_.lane->close(100 + i);
      run_until([&] { return dialer_.down.contains(200 + i); });
    }
  }
}

TEST_P(UcxLaneTest, GoesDownWhenTheOtherEndIsDestroyed) {
  bring_up();
  int done = 0;
  dialer_.lane->send(kDialerKey, share(pattern(std::size_t{64} << 20U, 1)),
                     [&](bool ok) { done += ok ? 100 : 1; });
  executor_->after(milliseconds(2), [&] { acceptor_.lane.reset(); });
  run_until([&] { return !dialer_.down.empty(); });
  EXPECT_EQ(dialer_.down[kDialerKey].size(), 1U);
  EXPECT_EQ(done, 1);
}

TEST_P(UcxLaneTest, GivesUpAFrozenPeer) {
  // The acceptor's loop runs only until the lane is up.
  const std::unique_ptr<UvExecutor> other = make_uv_executor();
  acceptor_.lane = make_ucx_lane(*other, config(),
                                 {.on_up = [&](LaneKey key) { acceptor_.up.push_back(key); },
                                  .on_down = [](LaneKey, const std::string&) {},
                                  .on_frame = [](LaneKey, const Bytes&) {}});
  ASSERT_NE(acceptor_.lane, nullptr);
  open(dialer_, config());
  const Bytes made = offer();
  acceptor_.lane->accept(kAcceptorKey, kToken);
  ASSERT_TRUE(dial(made).ok());
  for (int i = 0; i < 1000 && dialer_.up.empty(); ++i) {
    other->after(milliseconds(1), [&] { other->stop(); });
    other->run();
    run_for(milliseconds(1));
  }
  ASSERT_FALSE(dialer_.up.empty());
  int done = 0;
  dialer_.lane->send(kDialerKey, share(pattern(std::size_t{64} << 20U, 1)),
                     [&](bool ok) { done += ok ? 100 : 1; });
  run_until([&] { return !dialer_.down.empty(); });
  EXPECT_EQ(dialer_.down[kDialerKey].size(), 1U);
  EXPECT_NE(dialer_.down[kDialerKey][0].find("no progress"), std::string::npos)
      << dialer_.down[kDialerKey][0];
  EXPECT_EQ(done, 1);
  acceptor_.lane.reset();
}

TEST_P(UcxLaneTest, GivesUpAnAcceptThatNobodyAnswers) {
  open_both();
  acceptor_.lane->accept(kAcceptorKey, kToken);
  run_until([&] { return !acceptor_.down.empty(); });
  EXPECT_EQ(acceptor_.down[kAcceptorKey].size(), 1U);
}

TEST_P(UcxLaneTest, SleepsWhenIdle) {
  bring_up();
  dialer_.lane->send(kDialerKey, share(pattern(std::size_t{4} << 20U, 1)), [](bool) {});
  run_until([&] { return !acceptor_.frames.empty(); });
  run_for(milliseconds(100));
  const double before = cpu_seconds();
  run_for(milliseconds(500));
  EXPECT_LT(cpu_seconds() - before, 0.025);
}

}  // namespace
}  // namespace hobnob
