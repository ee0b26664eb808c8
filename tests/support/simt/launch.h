#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

// Runs CUDA kernels on one CPU thread, for tests: each lane is a fiber, and what lanes of a warp or
// of a block do together (shuffles, ballots, reductions, barriers) waits until all of them came to
// the same call. What is undefined on a device is an error here: a lane that is named in a mask and
// has ended or waits elsewhere, a shuffle from a lane outside the mask, a barrier that not all
// reach. Lanes run in an order drawn from the seed; a kernel that gives the same bytes under many
// orders does not lean on one. Memory is the host's, so the sanitizers see every access.

namespace hobnob::simt {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

// What a lane of this launch sees.
extern Dim3 thread_index;
extern Dim3 block_index;
extern Dim3 block_size;
extern Dim3 grid_size;

class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Launch {
  unsigned grid = 1;
  unsigned block = 32;     // threads, whole warps
  std::uint64_t seed = 0;  // 0: lanes in their order
};

// Calls kernel() in every thread of the grid, block after block. Throws KernelError.
void launch(const Launch& launch, const std::function<void()>& kernel);

// --- What lanes call ---

// A value of every lane of the mask, by lane.
struct Gathered {
  std::uint64_t value[32] = {};
};

// Gives `value` to the others of the warp and waits for theirs; `call` names the operation, which
// must be the same.
const Gathered& gather(const char* call, std::uint32_t mask, std::uint64_t value);

// The same over all threads of the block: true if any gave true.
bool any_of_block(const char* call, bool value);

// Ends the launch.
[[noreturn]] void fail(const std::string& what);

unsigned current_lane();

}  // namespace hobnob::simt
