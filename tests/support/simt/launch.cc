#include "tests/support/simt/launch.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/rng.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace hobnob::simt {

Dim3 thread_index;
Dim3 block_index;
Dim3 block_size;
Dim3 grid_size;

namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = 64 * 1024;

// A stack that can be left and come back to: entered once by ucontext, then by _longjmp(), which
// leaves the signal mask alone and so needs no system call. The sanitizer is told of every change.
class Fiber {
 public:
  // The stack must be kStackBytes, and outlive the fiber.
  Fiber(std::function<void()> body, std::byte* stack) : body_(std::move(body)), stack_(stack) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, &Fiber::start, 0);
  }

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs until leave() or the end of the body.
  void enter() {
    entered_ = this;
    to(stack_, kStackBytes);
    if (_setjmp(caller_) == 0) {
      if (std::exchange(is_entered_, true)) {
        _longjmp(self_, 1);
      }
      setcontext(&context_);
    }
    arrived();
  }

  void leave() {
    to(caller_stack_, caller_bytes_);
    if (_setjmp(self_) == 0) {
      _longjmp(caller_, 1);
    }
    arrived();
  }

  bool is_done() const { return is_done_; }

 private:
  static void start() {
    Fiber* self = entered_;
    self->arrived_first();
    self->body_();
    self->is_done_ = true;
    self->leave();
  }

#if defined(__SANITIZE_ADDRESS__)
  void to(const void* stack, std::size_t bytes) {
    __sanitizer_start_switch_fiber(is_done_ ? nullptr : &fake_, stack, bytes);
  }

  void arrived() {
    __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
  }

  void arrived_first() {
    __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_bytes_);
  }

  void* fake_ = nullptr;
#else
  void to(const void* /*stack*/, std::size_t /*bytes*/) {}

  void arrived() {}

  void arrived_first() {}
#endif

  static Fiber* entered_;

  std::function<void()> body_;
  std::byte* stack_;
  ucontext_t context_{};
  jmp_buf self_{};
  jmp_buf caller_{};
  const void* caller_stack_ = nullptr;
  std::size_t caller_bytes_ = 0;
  bool is_entered_ = false;
  bool is_done_ = false;
};

Fiber* Fiber::entered_ = nullptr;

// Kept from one launch to the next: making them takes longer than most kernels.
std::byte* stack_of(std::size_t thread) {
  static std::vector<std::unique_ptr<std::byte[]>> stacks;
  while (stacks.size() <= thread) {
    stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(kStackBytes));
  }
  return stacks[thread].get();
}

struct Thread {
  // What it waits for; null: it runs, or has ended.
  const char* call = nullptr;
  bool waits_for_block = false;
  std::uint32_t mask = 0;
  std::uint64_t value = 0;
  Gathered gathered;
  std::unique_ptr<Fiber> fiber;
};

// One block of the grid.
class Block {
 public:
  Block(const Launch& launch, const std::function<void()>& kernel)
      : threads_(launch.block), rng_({.seed = launch.seed}) {
    order_.resize(launch.block);
    std::iota(order_.begin(), order_.end(), 0U);
    is_shuffled_ = launch.seed != 0;
    const auto body = [this, &kernel] {
      try {
        kernel();
      } catch (const std::exception& e) {
        error_ = e.what();
      }
    };
    for (std::size_t k = 0; k < threads_.size(); ++k) {
      threads_[k].fiber = std::make_unique<Fiber>(body, stack_of(k));
    }
  }

  void run() {
    current_ = this;
    while (!all_done()) {
      step();
      if (error_) {
        throw KernelError(*error_);
      }
      const bool is_warp_freed = release_warps();
      if (!release_block() && !is_warp_freed && !all_done()) {
        throw KernelError(stuck());
      }
    }
  }

  const Gathered& gather(const char* call, std::uint32_t mask, std::uint64_t value) {
    Thread& self = threads_[running_];
    if ((mask >> running_ % kLanes & 1U) == 0) {
      fail(std::string(call) + " by a lane outside its mask");
    }
    wait(self, call, false, mask, value);
    return self.gathered;
  }

  bool any(const char* call, bool value) {
    Thread& self = threads_[running_];
    wait(self, call, true, ~0U, value ? 1 : 0);
    return self.gathered.value[0] != 0;
  }

  [[noreturn]] static void fail(const std::string& what) { throw KernelError(what); }

  unsigned lane() const { return running_ % kLanes; }

  static Block* current_;

 private:
  void wait(
      Thread& self, const char* call, bool for_block, std::uint32_t mask, std::uint64_t value) {
    self.call = call;
    self.waits_for_block = for_block;
    self.mask = mask;
    self.value = value;
    self.fiber->leave();
  }

  bool all_done() const {
    return std::ranges::all_of(threads_, [](const Thread& t) { return t.fiber->is_done(); });
  }

  // Every thread that can, until it waits or ends.
  void step() {
    if (is_shuffled_) {
      for (std::size_t k = order_.size(); k > 1; --k) {
        std::swap(order_[k - 1], order_[rng_.below(k)]);
      }
    }
    for (const unsigned index : order_) {
      Thread& thread = threads_[index];
      if (thread.call == nullptr && !thread.fiber->is_done() && !error_) {
        running_ = index;
        thread_index = {index, 0, 0};
        thread.fiber->enter();
      }
    }
  }

  // Lets the lanes of each mask go that are all at one call.
  bool release_warps() {
    bool has_released = false;
    for (std::size_t first = 0; first < threads_.size(); first += kLanes) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const Thread& thread = threads_[first + lane];
        if (thread.call != nullptr && !thread.waits_for_block && are_here(first, thread)) {
          release(first, thread.mask);
          has_released = true;
        }
      }
    }
    return has_released;
  }

  bool are_here(std::size_t first, const Thread& one) const {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const Thread& other = threads_[first + lane];
      const bool is_same = other.call != nullptr && !other.waits_for_block &&
                           std::string_view(other.call) == one.call && other.mask == one.mask;
      if ((one.mask >> lane & 1U) != 0 && !is_same) {
        return false;
      }
    }
    return true;
  }

  void release(std::size_t first, std::uint32_t mask) {
    Gathered gathered;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      gathered.value[lane] = (mask >> lane & 1U) != 0 ? threads_[first + lane].value : 0;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1U) != 0) {
        threads_[first + lane].gathered = gathered;
        threads_[first + lane].call = nullptr;
      }
    }
  }

  bool release_block() {
    bool value = false;
    for (const Thread& thread : threads_) {
      if (thread.call == nullptr || !thread.waits_for_block ||
          std::string_view(thread.call) != threads_[0].call) {
        return false;
      }
      value = value || thread.value != 0;
    }
    for (Thread& thread : threads_) {
      thread.gathered.value[0] = value ? 1 : 0;
      thread.call = nullptr;
    }
    return true;
  }

  std::string stuck() const {
    std::string text = "no lane can go on:";
    for (std::size_t k = 0; k < threads_.size(); ++k) {
      const Thread& thread = threads_[k];
      text += " " + std::to_string(k) + ":" +
              (thread.fiber->is_done()  ? "ended"
               : thread.call == nullptr ? "runs"
                                        : thread.call);
    }
    return text;
  }

  std::vector<Thread> threads_;
  std::vector<unsigned> order_;
  Rng rng_;
  bool is_shuffled_ = false;
  unsigned running_ = 0;
  std::optional<std::string> error_;
};

Block* Block::current_ = nullptr;

}  // namespace

void launch(const Launch& launch, const std::function<void()>& kernel) {
  if (launch.block == 0 || launch.block % kLanes != 0) {
    throw KernelError("threads of a block are not whole warps");
  }
  grid_size = {launch.grid, 1, 1};
  block_size = {launch.block, 1, 1};
  for (unsigned b = 0; b < launch.grid; ++b) {
    block_index = {b, 0, 0};
    Launch own = launch;
    own.seed = launch.seed == 0 ? 0 : launch.seed + b;
    Block(own, kernel).run();
  }
}

const Gathered& gather(const char* call, std::uint32_t mask, std::uint64_t value) {
  return Block::current_->gather(call, mask, value);
}

bool any_of_block(const char* call, bool value) {
  return Block::current_->any(call, value);
}

void fail(const std::string& what) {
  Block::fail(what);
}

unsigned current_lane() {
  return Block::current_->lane();
}

}  // namespace hobnob::simt
