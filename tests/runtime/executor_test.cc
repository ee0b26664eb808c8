#include "runtime/loop/executor.h"

#include <gtest/gtest.h>

#include <csignal>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/loop/timer_queue.h"
#include "tests/support/run_until.h"

namespace hobnob {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::run_until;

struct Sim {
  std::unique_ptr<SimExecutor> executor = make_sim_executor();
};

struct Uv {
  std::unique_ptr<UvExecutor> executor = make_uv_executor();
};

template <typename Kind>
class AnyExecutor : public ::testing::Test {
 protected:
  // Runs until `count` things have been recorded.
  void run(std::size_t count) {
    EXPECT_TRUE(run_until(loop(), [&] { return seen_.size() >= count; }));
  }

  auto& loop() { return *kind_.executor; }

  Task record(int value) {
    return [this, value] { seen_.push_back(value); };
  }

  Kind kind_;
  std::vector<int> seen_;
};

using Kinds = ::testing::Types<Sim, Uv>;
TYPED_TEST_SUITE(AnyExecutor, Kinds);

TYPED_TEST(AnyExecutor, RunsPostedTasksInOrder) {
  for (int k = 0; k < 5; ++k) {
    this->loop().post(this->record(k));
  }
  EXPECT_TRUE(this->seen_.empty()) << "nothing runs inside post()";
  this->run(5);
  EXPECT_EQ(this->seen_, (std::vector<int>{0, 1, 2, 3, 4}));
}

TYPED_TEST(AnyExecutor, RunsATaskPostedByATaskAfterThoseThatWaitedAlready) {
  this->loop().post([this] {
    this->seen_.push_back(0);
    this->loop().post(this->record(2));
  });
  this->loop().post(this->record(1));
  this->run(3);
  EXPECT_EQ(this->seen_, (std::vector<int>{0, 1, 2}));
}

TYPED_TEST(AnyExecutor, RunsTimersByTimeNotByOrderOfMaking) {
  this->loop().after(milliseconds(6), this->record(3));
  this->loop().after(milliseconds(1), this->record(1));
  this->loop().after(milliseconds(3), this->record(2));
  this->run(3);
  EXPECT_EQ(this->seen_, (std::vector<int>{1, 2, 3}));
}

TYPED_TEST(AnyExecutor, RunsNoTimerEarly) {
  const Time start = this->loop().now();
  for (const auto delay : {microseconds(0), microseconds(300), microseconds(1500)}) {
    this->loop().after(delay, [this, start, delay] {
      EXPECT_GE(this->loop().now() - start, delay);
      this->seen_.push_back(0);
    });
  }
  this->run(3);
}

TYPED_TEST(AnyExecutor, TakesANegativeDelayAsZero) {
  this->loop().after(milliseconds(-5), this->record(1));
  this->run(1);
}

TYPED_TEST(AnyExecutor, RunsNoCancelledTimer) {
  const TimerId cancelled = this->loop().after(milliseconds(1), this->record(1));
  EXPECT_NE(cancelled, 0U);
  this->loop().after(milliseconds(2), this->record(2));
  this->loop().cancel(cancelled);
  this->run(1);
  EXPECT_EQ(this->seen_, std::vector<int>{2});
}

TYPED_TEST(AnyExecutor, ATimerMayCancelAnotherThatIsDueAtTheSameTime) {
  TimerId second = 0;
  this->loop().after(Duration::zero(), [&] {
    this->seen_.push_back(1);
    this->loop().cancel(second);
  });
  second = this->loop().after(Duration::zero(), this->record(2));
  this->loop().after(milliseconds(2), this->record(3));
  this->run(2);
  EXPECT_EQ(this->seen_, (std::vector<int>{1, 3}));
}

TYPED_TEST(AnyExecutor, IgnoresCancelOfZeroAndOfATimerThatRan) {
  const TimerId ran = this->loop().after(Duration::zero(), this->record(1));
  this->run(1);
  this->loop().cancel(ran);
  this->loop().cancel(0);
  this->loop().cancel(12345);
  this->loop().post(this->record(2));
  this->run(2);
}

TYPED_TEST(AnyExecutor, DestroysTasksThatNeverRan) {
  const auto token = std::make_shared<int>(1);
  {
    TypeParam kind;
    kind.executor->post([token] {});
    kind.executor->after(milliseconds(1), [token] {});
    EXPECT_GT(token.use_count(), 1);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(TimerQueue, KeepsTheOrderOfMakingAmongEqualTimes) {
  TimerQueue queue;
  std::vector<int> seen;
  const auto record = [&](int value) { return [&seen, value] { seen.push_back(value); }; };
  queue.add(Time{5}, record(1));
  const TimerId removed = queue.add(Time{5}, record(2));
  queue.add(Time{5}, record(3));
  queue.add(Time{4}, record(0));
  queue.cancel(removed);
  queue.cancel(removed);
  while (!queue.empty()) {
    queue.take()();
  }
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 3}));
}

TEST(SimExecutor, RunsTiesInTheOrderTheyWereMadeWhateverTheirKind) {
  const auto executor = make_sim_executor();
  std::vector<int> seen;
  executor->after(Duration::zero(), [&] { seen.push_back(0); });
  executor->post([&] { seen.push_back(1); });
  executor->after(Duration::zero(), [&] { seen.push_back(2); });
  executor->run_until(Time::zero());
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(executor->events(), 3U);
}

TEST(SimExecutor, JumpsToTheNextEventAndStopsTheClockAtUntil) {
  const auto executor = make_sim_executor();
  Time at{-1};
  bool late = false;
  executor->after(std::chrono::hours(1), [&] { at = executor->now(); });
  executor->after(std::chrono::hours(2) + Duration(1), [&] { late = true; });
  executor->run_until(std::chrono::hours(2));
  EXPECT_EQ(at, std::chrono::hours(1));
  EXPECT_EQ(executor->now(), std::chrono::hours(2));
  EXPECT_FALSE(late);
  EXPECT_TRUE(executor->step());
  EXPECT_TRUE(late);
  EXPECT_FALSE(executor->step());
}

TEST(SimExecutor, RunsAnEventDueExactlyAtUntil) {
  const auto executor = make_sim_executor();
  bool ran = false;
  executor->after(milliseconds(5), [&] { ran = true; });
  executor->run_until(milliseconds(5));
  EXPECT_TRUE(ran);
}

TEST(UvExecutor, RunsWhatOtherThreadsPostInTheirOrder) {
  const auto executor = make_uv_executor();
  constexpr int kTasks = 500;
  std::vector<std::pair<int, int>> seen;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int k = 0; k < kTasks; ++k) {
        executor->post([&seen, thread, k] { seen.emplace_back(thread, k); });
      }
    });
  }
  EXPECT_TRUE(run_until(*executor, [&] { return seen.size() == 2 * kTasks; }));
  for (std::thread& each : threads) {
    each.join();
  }
  int next[2] = {0, 0};
  for (const auto& [thread, k] : seen) {
    EXPECT_EQ(k, next[thread]++);
  }
}

TEST(UvExecutor, PostFromAnotherThreadWakesASleepingLoop) {
  const auto executor = make_uv_executor();
  std::thread other;
  bool woken = false;
  executor->post([&] {
    other = std::thread([&] {
      executor->post([&] {
        woken = true;
        executor->stop();
      });
    });
  });
  executor->run();
  other.join();
  EXPECT_TRUE(woken);
}

TEST(UvExecutor, StopFromAnotherThreadEndsRunAndItCanRunAgain) {
  const auto executor = make_uv_executor();
  for (int round = 0; round < 2; ++round) {
    std::thread other([&] { executor->stop(); });
    executor->run();
    other.join();
  }
}

TEST(UvExecutor, KnowsItsThread) {
  const auto executor = make_uv_executor();
  EXPECT_TRUE(executor->is_on_thread()) << "not running: whoever asks may use it";
  bool inside = false;
  bool outside = true;
  executor->post([&] {
    inside = executor->is_on_thread();
    std::thread([&] { outside = executor->is_on_thread(); }).join();
    executor->stop();
  });
  executor->run();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(outside);
}

TEST(UvExecutor, UsesNoCpuWhileIdle) {
  const auto executor = make_uv_executor();
  const auto cpu = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
  };
  const Duration before = cpu();
  executor->after(milliseconds(40), [&] { executor->stop(); });
  executor->run();
  EXPECT_LT(cpu() - before, milliseconds(10));
}

TEST(UvExecutor, RunsATaskAtEachSignal) {
  const auto executor = make_uv_executor();
  int signals = 0;
  executor->on_signal(SIGUSR1, [&] { ++signals; });
  for (int expected = 1; expected <= 2; ++expected) {
    executor->post([] { ::raise(SIGUSR1); });
    EXPECT_TRUE(run_until(*executor, [&] { return signals == expected; }));
  }
}

}  // namespace
}  // namespace hobnob
