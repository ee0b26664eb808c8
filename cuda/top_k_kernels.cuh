#pragma once

#include "cuda/top_k_codec.h"
#include "cuda/varying_frames.cuh"

// Messages of top-k (FORMAT.md), made and read on the device. Three kernels narrow the k-th
// magnitude by a histogram of its next bits. Then a block of the grid makes a frame of 65,536
// values: a warp takes a block of 256, and counts and writes its entries in order of index.

namespace hobnob::gpu {

// A magnitude is `bits` wide from bit `shift` on.
struct MagnitudeBits {
  unsigned shift;
  unsigned bits;
};

constexpr MagnitudeBits kTopKLevels[] = {{19, 12}, {7, 12}, {0, 7}};
constexpr unsigned kTopKBins = 4096;
constexpr unsigned kGroup = message::kBlockCount;  // entries that share a scale
constexpr unsigned kMaxBlockEntries = 255;         // counts are u8
constexpr unsigned kFrameBlocks = message::kFrameCount / message::kBlockCount;
static_assert(kFrameBlocks == kThreads);

// The lane's values of a block of 256: number i is value 32 i + lane; zeros after the last. Returns
// whether the block can be sent.
__device__ inline bool load_in_order(const TopKEncodeJob& job, std::size_t start, LaneValues& d) {
  std::uint32_t largest = 0;
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const std::size_t k = start + kWarpLanes * i + this_lane();
    d[i] = 0.0F;
    if (k < job.count) {
      d[i] = job.base == nullptr ? job.values[k] : element::add(job.values[k], -job.base[k]);
    }
    largest = max_of(largest, element::magnitude_bits(d[i]));
  }
  return __reduce_max_sync(kAllLanes, largest) < element::kInt8Poison;
}

// --- The k-th magnitude ---

// The bin where `wanted` values, counted from the largest on, are complete, and how many of them it
// holds; of bin 0 perhaps more than there are. All threads.
__device__ inline void find_bin(const std::uint32_t* bins,
                                std::uint64_t wanted,
                                std::uint32_t& bin,
                                std::uint64_t& within) {
  constexpr unsigned kShare = kTopKBins / kThreads;
  __shared__ std::uint64_t sums[kThreads];
  const unsigned first = threadIdx.x * kShare;
  std::uint64_t sum = 0;
  for (unsigned k = first; k < first + kShare; ++k) {
    sum += bins[k];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned share = kThreads - 1;
    for (; share > 0 && sums[share] < wanted; --share) {
      wanted -= sums[share];
    }
    unsigned at = share * kShare + kShare - 1;
    for (; at > share * kShare && bins[at] < wanted; --at) {
      wanted -= bins[at];
    }
    bin = at;
    within = wanted;
  }
}

// kFrameGrid blocks of kThreads at most. The block that ends last takes the level's bits.
__global__ void __launch_bounds__(kThreads)
    top_k_count_kernel(const __grid_constant__ TopKEncodeJob job,
                       const __grid_constant__ MagnitudeBits level) {
  __shared__ std::uint32_t bins[kTopKBins];
  __shared__ bool is_last;
  TopKCut& cut = *job.cut;
  const std::uint32_t prefix = cut.prefix;
  for (unsigned k = threadIdx.x; k < kTopKBins; k += kThreads) {
    bins[k] = 0;
  }
  __syncthreads();
  const std::size_t blocks = message::blocks_of(job.count);
  for (std::size_t b = std::size_t{blockIdx.x} * kWarps + this_warp(); b < blocks;
       b += std::size_t{gridDim.x} * kWarps) {
    LaneValues d;
    const bool is_good = load_in_order(job, b * message::kBlockCount, d);
    for (unsigned i = 0; i < kLaneValues; ++i) {
      const std::uint32_t upper = element::magnitude_bits(d[i]) >> level.shift;
      if (is_good && upper >> level.bits == prefix) {
        atomicAdd(&bins[upper & ((1U << level.bits) - 1)], 1U);
      }
    }
  }
  __syncthreads();
  for (unsigned k = threadIdx.x; k < kTopKBins; k += kThreads) {
    if (bins[k] > 0) {
      atomicAdd(&cut.bins[k], bins[k]);
    }
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(&cut.finished, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) {
    return;
  }
  __threadfence();
  for (unsigned k = threadIdx.x; k < kTopKBins; k += kThreads) {
    bins[k] = *const_cast<volatile std::uint32_t*>(&cut.bins[k]);
    cut.bins[k] = 0;
  }
  __syncthreads();
  __shared__ std::uint32_t bin;
  __shared__ std::uint64_t within;
  const bool is_first_level = level.shift == kTopKLevels[0].shift;
  find_bin(bins, is_first_level ? std::uint64_t{job.kept} : cut.ties, bin, within);
  if (threadIdx.x == 0) {
    cut.prefix = prefix << level.bits | bin;
    cut.ties = within;
    cut.finished = 0;
  }
}

// --- A frame ---

// Scratch of a block of the grid.
struct TopKScratch {
  float values[message::kFrameCount];  // that are sent, in order
  std::uint16_t offsets[message::kFrameCount];
  // Counts, scales, indices, values, zeros.
  std::byte body[kFrameBlocks + 2 * kFrameBlocks + 2 * message::kFrameCount + 16];
};

static_assert(sizeof(TopKScratch) <= kFrameScratch);

struct TopKShared {
  unsigned ties[kFrameBlocks];     // equal to the cut
  unsigned taken[kFrameBlocks];    // of them sent
  unsigned entries[kFrameBlocks];  // sent
  unsigned starts[kFrameBlocks];   // of entries, in the frame
  unsigned sums[kWarps];
  unsigned total;
  unsigned poisoned;
  std::uint64_t ties_before;
};

// Exclusive sums of value(thread) over the block's threads, to `to`; all threads. Returns the
// whole.
__device__ inline unsigned scan(unsigned value, unsigned* to, TopKShared& shared) {
  unsigned sum = value;
  for (unsigned distance = 1; distance < kWarpLanes; distance *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, sum, distance);
    sum += this_lane() >= distance ? other : 0;
  }
  if (this_lane() == kWarpLanes - 1) {
    shared.sums[this_warp()] = sum;
  }
  __syncthreads();
  unsigned before = 0;
  unsigned total = 0;
  for (unsigned warp = 0; warp < kWarps; ++warp) {
    before += warp < this_warp() ? shared.sums[warp] : 0;
    total += shared.sums[warp];
  }
  to[threadIdx.x] = before + sum - value;
  __syncthreads();
  return total;
}

// What is chosen: magnitudes above `threshold`, and the first `ties` equal to it.
struct DeviceCut {
  std::uint32_t threshold;
  std::uint64_t ties;

  __device__ explicit DeviceCut(const TopKCut& cut) : threshold(cut.prefix), ties(cut.ties) {}

  __device__ bool is_above(std::uint32_t magnitude) const { return magnitude > threshold; }

  // Zeros are never chosen.
  __device__ bool is_tie(std::uint32_t magnitude) const {
    return magnitude == threshold && threshold > 0;
  }
};

__device__ inline unsigned count_lanes(bool is_one) {
  return static_cast<unsigned>(__popc(__ballot_sync(kAllLanes, is_one ? 1 : 0)));
}

// How many of each block are above the cut and equal to it.
__device__ inline void count_entries(const TopKEncodeJob& job,
                                     const DeviceCut& cut,
                                     std::size_t start,
                                     std::size_t blocks,
                                     TopKShared& shared) {
  for (std::size_t b = this_warp(); b < blocks; b += kWarps) {
    LaneValues d;
    const bool is_good = load_in_order(job, start + b * message::kBlockCount, d);
    unsigned above = 0;
    unsigned ties = 0;
    for (unsigned i = 0; i < kLaneValues; ++i) {
      const std::uint32_t magnitude = element::magnitude_bits(d[i]);
      above += count_lanes(cut.is_above(magnitude));
      ties += count_lanes(cut.is_tie(magnitude));
    }
    if (this_lane() == 0) {
      shared.entries[b] = is_good ? above : 0;
      shared.ties[b] = is_good ? ties : 0;
      if (!is_good) {
        atomicAdd(&shared.poisoned, 1U);
      }
    }
  }
}

// Which of a block's ties are sent, and where its entries begin.
__device__ inline void share_out(const TopKEncodeJob& job,
                                 const DeviceCut& cut,
                                 std::size_t index,
                                 TopKShared& shared) {
  __shared__ unsigned earlier[kThreads];
  const unsigned b = threadIdx.x;
  const unsigned ties = scan(shared.ties[b], earlier, shared);
  if (threadIdx.x == 0) {
    if (index == 0) {
      job.ties_before[0] = 1;
    }
    shared.ties_before = wait_for(job.ties_before + index) - 1;
    job.ties_before[index + 1] = shared.ties_before + ties + 1;
    __threadfence();
  }
  __syncthreads();
  const std::uint64_t used = shared.ties_before + earlier[b];
  const std::uint64_t left = used < cut.ties ? cut.ties - used : 0;
  shared.taken[b] = left < shared.ties[b] ? static_cast<unsigned>(left) : shared.ties[b];
  const unsigned entries = shared.entries[b] + shared.taken[b];
  shared.entries[b] = entries < kMaxBlockEntries ? entries : kMaxBlockEntries;
  const unsigned total = scan(shared.entries[b], shared.starts, shared);
  if (threadIdx.x == 0) {
    shared.total = total;
  }
  __syncthreads();
}

// The place of the first of a block's smallest magnitudes; the warp together.
__device__ inline unsigned smallest_of(const LaneValues& d) {
  std::uint32_t largest = 0;
  for (const float value : d) {
    largest = max_of(largest, ~element::magnitude_bits(value));
  }
  largest = __reduce_max_sync(kAllLanes, largest);
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const std::uint32_t mask =
        __ballot_sync(kAllLanes, ~element::magnitude_bits(d[i]) == largest ? 1 : 0);
    if (mask != 0) {
      return kWarpLanes * i + static_cast<unsigned>(__popc((mask & (~mask + 1)) - 1));
    }
  }
  return message::kBlockCount;
}

// Counts, indices and, in scratch, values and offsets of a block's entries; the warp together.
__device__ inline void write_block(const TopKEncodeJob& job,
                                   const DeviceCut& cut,
                                   std::size_t start,
                                   unsigned b,
                                   std::byte* indices,
                                   const TopKShared& shared,
                                   TopKScratch& scratch) {
  if (shared.entries[b] == 0) {
    return;
  }
  LaneValues d;
  load_in_order(job, start + std::size_t{b} * message::kBlockCount, d);
  // All 256 are chosen only if there are 255 entries and none is refused below.
  unsigned chosen_values = 0;
  unsigned ties = 0;
  std::uint32_t chosen[kLaneValues];
  const std::uint32_t lower = (1U << this_lane()) - 1;
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const std::uint32_t magnitude = element::magnitude_bits(d[i]);
    const std::uint32_t tie_mask = __ballot_sync(kAllLanes, cut.is_tie(magnitude) ? 1 : 0);
    const unsigned rank = ties + static_cast<unsigned>(__popc(tie_mask & lower));
    const bool is_chosen =
        cut.is_above(magnitude) || (cut.is_tie(magnitude) && rank < shared.taken[b]);
    chosen[i] = __ballot_sync(kAllLanes, is_chosen ? 1 : 0);
    chosen_values += static_cast<unsigned>(__popc(chosen[i]));
    ties += static_cast<unsigned>(__popc(tie_mask));
  }
  if (chosen_values > kMaxBlockEntries) {
    const unsigned left_out = smallest_of(d);
    for (unsigned i = 0; i < kLaneValues; ++i) {
      chosen[i] &= i == left_out / kWarpLanes ? ~(1U << left_out % kWarpLanes) : ~0U;
    }
  }
  unsigned at = shared.starts[b];
  for (unsigned i = 0; i < kLaneValues; ++i) {
    if ((chosen[i] >> this_lane() & 1U) != 0) {
      const unsigned entry = at + static_cast<unsigned>(__popc(chosen[i] & lower));
      const unsigned place = kWarpLanes * i + this_lane();
      indices[entry] = static_cast<std::byte>(place);
      scratch.values[entry] = d[i];
      scratch.offsets[entry] = static_cast<std::uint16_t>(b * message::kBlockCount + place);
    }
    at += static_cast<unsigned>(__popc(chosen[i]));
  }
}

// Scale and int8 values of 256 entries, and what they decode to is added to `advance`, if there is
// one; the warp together.
__device__ inline void write_group(unsigned group,
                                   unsigned total,
                                   std::byte* scales,
                                   std::byte* values,
                                   float* advance,
                                   const TopKScratch& scratch) {
  const unsigned first = group * kGroup + this_lane();
  const unsigned end = total < (group + 1) * kGroup ? total : (group + 1) * kGroup;
  std::uint32_t largest = 0;
  for (unsigned entry = first; entry < end; entry += kWarpLanes) {
    largest = max_of(largest, element::magnitude_bits(scratch.values[entry]));
  }
  const std::uint16_t scale = element::int8_scale(__reduce_max_sync(kAllLanes, largest));
  if (this_lane() < 2) {
    scales[2 * group + this_lane()] = static_cast<std::byte>(scale >> (8 * this_lane()) & 0xffU);
  }
  const float inverse = element::int8_inverse(scale);
  for (unsigned entry = first; entry < end; entry += kWarpLanes) {
    const std::int8_t q = element::int8_nearest(scratch.values[entry], inverse);
    values[entry] = static_cast<std::byte>(q);
    if (advance != nullptr) {
      float& into = advance[scratch.offsets[entry]];
      into = element::add_scaled(into, 1.0F, element::int8_value(q, element::float_of_bf16(scale)));
    }
  }
}

// The same grid as the counting kernels, or less.
__global__ void __launch_bounds__(kThreads)
    top_k_encode_kernel(const __grid_constant__ TopKEncodeJob job) {
  alignas(8) __shared__ std::byte storage[sizeof(TopKShared)];
  auto& shared = *reinterpret_cast<TopKShared*>(storage);
  auto& scratch =
      *reinterpret_cast<TopKScratch*>(job.scratch + std::size_t{blockIdx.x} * kFrameScratch);
  const DeviceCut cut(*job.cut);
  const std::size_t frames = message::frames_of(job.count);
  while (true) {
    const std::size_t index = next_frame(job.out);
    if (index >= frames) {
      return;
    }
    const std::size_t start = index * message::kFrameCount;
    const std::size_t left = job.count - start;
    const auto blocks = static_cast<unsigned>(
        message::blocks_of(left < message::kFrameCount ? left : message::kFrameCount));
    shared.ties[threadIdx.x] = 0;
    shared.entries[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
      shared.poisoned = 0;
    }
    __syncthreads();
    count_entries(job, cut, start, blocks, shared);
    __syncthreads();
    share_out(job, cut, index, shared);
    const unsigned total = shared.total;
    const auto groups = static_cast<unsigned>(message::blocks_of(total));
    std::byte* scales = scratch.body + blocks;
    std::byte* indices = scales + 2 * std::size_t{groups};
    std::byte* values = indices + total;
    if (threadIdx.x < blocks) {
      scratch.body[threadIdx.x] = static_cast<std::byte>(shared.entries[threadIdx.x]);
    }
    for (unsigned b = this_warp(); b < blocks; b += kWarps) {
      write_block(job, cut, start, b, indices, shared, scratch);
    }
    __syncthreads();
    for (unsigned group = this_warp(); group < groups; group += kWarps) {
      float* advance = job.advance == nullptr ? nullptr : job.advance + start;
      write_group(group, total, scales, values, advance, scratch);
    }
    if (threadIdx.x < 16) {
      values[total + threadIdx.x] = std::byte{0};
    }
    __syncthreads();
    const std::size_t bytes =
        total == 0 ? 0 : static_cast<std::size_t>(values + total - scratch.body);
    place_frame(job.out, index, scratch.body, bytes, shared.poisoned);
  }
}

// A block of the grid decodes a frame.
__global__ void __launch_bounds__(kThreads)
    top_k_decode_kernel(const __grid_constant__ TopKDecodeJob job) {
  alignas(8) __shared__ std::byte storage[sizeof(TopKShared)];
  auto& shared = *reinterpret_cast<TopKShared*>(storage);
  const std::size_t frames = message::frames_of(job.count);
  for (std::size_t index = blockIdx.x; index < frames; index += gridDim.x) {
    const std::byte* frame = job.message + job.offsets[index];
    const std::uint32_t flags = *reinterpret_cast<const std::uint32_t*>(frame + message::kFlagsAt);
    if ((flags & message::kZero) != 0) {
      continue;
    }
    const std::size_t start = index * message::kFrameCount;
    const std::size_t left = job.count - start;
    const auto blocks = static_cast<unsigned>(
        message::blocks_of(left < message::kFrameCount ? left : message::kFrameCount));
    const std::byte* body = frame + message::kFrameHeaderBytes;
    const auto entries = threadIdx.x < blocks ? static_cast<unsigned>(body[threadIdx.x]) : 0U;
    shared.entries[threadIdx.x] = entries;
    const unsigned total = scan(entries, shared.starts, shared);
    const std::byte* scales = body + blocks;
    const std::byte* indices = scales + 2 * message::blocks_of(total);
    const std::byte* values = indices + total;
    for (unsigned b = this_warp(); b < blocks; b += kWarps) {
      const unsigned end = shared.starts[b] + shared.entries[b];
      for (unsigned entry = shared.starts[b] + this_lane(); entry < end; entry += kWarpLanes) {
        const std::size_t at = 2 * (entry / message::kBlockCount);
        const auto scale = static_cast<std::uint16_t>(static_cast<unsigned>(scales[at]) |
                                                      static_cast<unsigned>(scales[at + 1]) << 8U);
        const float value = element::int8_value(static_cast<std::int8_t>(values[entry]),
                                                element::float_of_bf16(scale));
        float& into =
            job.into[start + b * message::kBlockCount + static_cast<std::size_t>(indices[entry])];
        into = element::add_scaled(into, job.factor, value);
      }
    }
    __syncthreads();
  }
}

}  // namespace hobnob::gpu
