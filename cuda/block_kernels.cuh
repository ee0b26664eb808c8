#pragma once

#include <span>

#include "compress/message_header.h"
#include "cuda/block_codec.h"
#include "cuda/block_rules.cuh"
#include "cuda/frame_hash.cuh"

// Messages of the codecs of fixed length, made and read on the device (FORMAT.md). A block of the
// grid makes a frame, so that the checksum is read from cache; a warp reads a block of 256.

namespace hobnob::gpu {

struct EncodeArgs {
  EncodeJob job;
  std::byte header[message::kHeaderBytes] = {};
};

struct DecodeArgs {
  DecodePart parts[kMaxFused];
  unsigned part_count = 0;
  float* into = nullptr;
  std::size_t count = 0;
};

// Frame `index` of a message, and where it is.
struct Frame {
  std::byte* header = nullptr;
  std::size_t index = 0;
  message::FrameShape shape;

  __device__ std::byte* scales() const { return header + message::kFrameHeaderBytes; }

  __device__ std::byte* payload() const { return scales() + shape.scale_bytes; }
};

template <typename Rule>
__device__ Frame frame_at(std::byte* message, std::size_t count, std::size_t index) {
  const std::size_t left = count - index * message::kFrameCount;
  return {message + message::kHeaderBytes + index * message::frame_stride(Rule::kShape), index,
          message::frame_shape(Rule::kShape,
                               left < message::kFrameCount ? left : message::kFrameCount)};
}

// Block `index` of a frame.
template <typename Rule>
__device__ Block block_at(const Frame& frame, unsigned index, std::uint32_t* scratch) {
  Block block;
  const std::size_t at = Rule::kShape.bytes * index;
  const std::size_t room = frame.shape.payload_section - at;
  const std::size_t left = frame.shape.count - message::kBlockCount * index;
  block.payload = frame.payload() + at;
  block.scales = reinterpret_cast<std::uint16_t*>(frame.scales()) + Rule::kShape.scales * index;
  block.room = static_cast<unsigned>(room < Rule::kShape.bytes ? room : Rule::kShape.bytes);
  block.count = static_cast<unsigned>(left < message::kBlockCount ? left : message::kBlockCount);
  block.index = frame.index * (message::kFrameCount / message::kBlockCount) + index;
  block.scratch = scratch;
  return block;
}

// Whether the scale of the lane's numbers 4 half to 4 half + 3 is not 0: where it is, nothing is
// added, not even a zero.
template <typename Rule>
__device__ bool is_live(const Block& block, unsigned half) {
  if constexpr (Rule::kShape.scales == 0) {
    return true;
  } else if constexpr (Rule::kShape.scales == 4) {
    return block.scales[2 * half + this_lane() / 16] != 0;
  } else {
    return block.scales[0] != 0;
  }
}

template <typename Rule>
__device__ void store_zeros(const Block& block) {
  for (unsigned at = 4 * this_lane(); at < Rule::kShape.bytes; at += 4 * kWarpLanes) {
    store_at(block, at, 0U);
  }
  if constexpr (Rule::kShape.scales > 0) {
    if (this_lane() < Rule::kShape.scales) {
      block.scales[this_lane()] = 0;
    }
  }
}

// Returns whether the block is poison.
template <typename Rule, bool kHasBase, bool kAdvance>
__device__ bool encode_block(const EncodeJob& job, Block block) {
  const std::size_t start = block.index * message::kBlockCount;
  LaneValues d;
  LaneValues hat;
  load_values(job.values + start, block.count, d);
  if constexpr (kHasBase) {
    load_values(job.base + start, block.count, hat);
    for (unsigned i = 0; i < kLaneValues; ++i) {
      d[i] = element::add(d[i], -hat[i]);
    }
  }
  std::uint32_t largest = 0;
  for (unsigned i = 0; i < kLaneValues; ++i) {
    largest = max_of(largest, element::magnitude_bits(d[i]));
  }
  block.largest = __reduce_max_sync(kAllLanes, largest);
  if (block.largest >= Rule::kPoison) {
    store_zeros<Rule>(block);
    return true;
  }
  block.key = job.key;
  Rule::template encode<kAdvance>(d, block);
  if constexpr (kAdvance) {
    __syncwarp();  // scales
    for (unsigned i = 0; i < kLaneValues; ++i) {
      if (is_live<Rule>(block, i / 4)) {
        hat[i] = element::add(hat[i], d[i]);
      }
    }
    store_values(hat, block.count, job.advance + start);
  }
  return false;
}

__device__ inline void store_zeros(std::byte* from, std::size_t bytes) {
  for (std::size_t k = threadIdx.x; k < bytes; k += blockDim.x) {
    from[k] = std::byte{0};
  }
}

// Whether one of the words is not zero; the block of the grid together.
__device__ inline bool has_bits(const std::uint32_t* words, std::size_t count) {
  bool has = false;
  for (std::size_t k = threadIdx.x; k < count && !has; k += blockDim.x) {
    has = words[k] != 0;
  }
  return __syncthreads_or(has ? 1 : 0) != 0;
}

__device__ inline void write_frame_header(const Frame& frame, bool has_poison) {
  const auto* body = reinterpret_cast<const std::uint32_t*>(frame.scales());
  const std::size_t words = frame.shape.body_bytes() / 4;
  const bool is_zero = !has_bits(body, words);
  const std::uint32_t flags =
      (is_zero ? message::kZero : 0U) | (has_poison ? message::kPoison : 0U);
  const std::uint64_t checksum =
      hash_body(body, 4 * words, std::uint64_t{frame.index} << 8U | flags);
  if (threadIdx.x == 0) {
    store_frame_header(frame.header, checksum, frame.shape.payload_bytes, flags);
  }
}

// kThreads a block of the grid.
template <typename Rule, bool kHasBase, bool kAdvance>
__global__ void __launch_bounds__(kThreads) encode_kernel(const __grid_constant__ EncodeArgs args) {
  __shared__ std::uint32_t scratch[kWarps][Rule::kScratch == 0 ? 1 : Rule::kScratch];
  __shared__ unsigned poisoned;
  const EncodeJob& job = args.job;
  if (blockIdx.x == 0 && threadIdx.x < message::kHeaderBytes) {
    job.message[threadIdx.x] = args.header[threadIdx.x];
  }
  const std::size_t frames = message::frames_of(job.count);
  for (std::size_t index = blockIdx.x; index < frames; index += gridDim.x) {
    const Frame frame = frame_at<Rule>(job.message, job.count, index);
    if (threadIdx.x == 0) {
      poisoned = 0;
    }
    __syncthreads();
    const auto blocks = static_cast<unsigned>(message::blocks_of(frame.shape.count));
    for (unsigned b = this_warp(); b < blocks; b += kWarps) {
      const Block block = block_at<Rule>(frame, b, scratch[this_warp()]);
      if (encode_block<Rule, kHasBase, kAdvance>(job, block) && this_lane() == 0) {
        atomicAdd(&poisoned, 1U);
      }
    }
    const std::size_t scales_end = 2 * Rule::kShape.scales * blocks;
    store_zeros(frame.scales() + scales_end, frame.shape.scale_bytes - scales_end);
    store_zeros(frame.payload() + frame.shape.payload_bytes,
                frame.shape.payload_section - frame.shape.payload_bytes);
    __syncthreads();
    write_frame_header(frame, poisoned > 0);
    if (threadIdx.x == 0 && poisoned > 0) {
      atomicAdd(job.poisoned, poisoned);
    }
    __syncthreads();
  }
}

// into += factor * values, part after part, of messages that passed Codec::check().
template <typename Rule>
__global__ void __launch_bounds__(kThreads)
    decode_add_kernel(const __grid_constant__ DecodeArgs args) {
  __shared__ std::uint32_t scratch[kWarps][Rule::kScratch == 0 ? 1 : Rule::kScratch];
  constexpr std::size_t kFrameBlocks = message::kFrameCount / message::kBlockCount;
  const std::size_t blocks = message::blocks_of(args.count);
  const std::size_t step = std::size_t{gridDim.x} * kWarps;
  for (std::size_t b = std::size_t{blockIdx.x} * kWarps + this_warp(); b < blocks; b += step) {
    float* into = args.into + b * message::kBlockCount;
    const std::size_t left = args.count - b * message::kBlockCount;
    const auto count =
        static_cast<unsigned>(left < message::kBlockCount ? left : message::kBlockCount);
    LaneValues sum;
    load_values(into, count, sum);
    for (unsigned p = 0; p < args.part_count; ++p) {
      const DecodePart& part = args.parts[p];
      // Only read from.
      const Frame frame =
          frame_at<Rule>(const_cast<std::byte*>(part.message), args.count, b / kFrameBlocks);
      const std::uint32_t flags =
          *reinterpret_cast<const std::uint32_t*>(frame.header + message::kFlagsAt);
      if ((flags & message::kZero) != 0) {
        continue;
      }
      const Block block =
          block_at<Rule>(frame, static_cast<unsigned>(b % kFrameBlocks), scratch[this_warp()]);
      LaneValues d;
      Rule::decode(block, d);
      for (unsigned i = 0; i < kLaneValues; ++i) {
        if (is_live<Rule>(block, i / 4)) {
          sum[i] = element::add_scaled(sum[i], part.factor, d[i]);
        }
      }
    }
    store_values(sum, count, into);
  }
}

// --- Launching: launch(kernel, blocks of the grid, arguments). False: the codec has no kernels.
// ---

template <typename Launch>
bool decode_add_with(CodecId codec,
                     std::span<const DecodePart> parts,
                     float* into,
                     std::size_t count,
                     Launch launch) {
  DecodeArgs args{.part_count = static_cast<unsigned>(parts.size()), .into = into, .count = count};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    args.parts[p] = parts[p];
  }
  const std::size_t blocks = message::blocks_of(count);
  return with_rule(codec, [&](auto rule) {
    if (blocks > 0) {
      launch(decode_add_kernel<decltype(rule)>, (blocks + kWarps - 1) / kWarps, args);
    }
  });
}

template <typename Launch>
bool encode_with(const EncodeJob& job, Launch launch) {
  return with_rule(job.codec, [&](auto rule) {
    using Rule = decltype(rule);
    EncodeArgs args{.job = job};
    message::write_header({.codec = job.codec, .block = Rule::kShape}, job.count, args.header);
    // A message of nothing is a header.
    const std::size_t blocks = job.count == 0 ? 1 : message::frames_of(job.count);
    if (job.base == nullptr) {
      launch(encode_kernel<Rule, false, false>, blocks, args);
    } else if (job.advance == nullptr) {
      launch(encode_kernel<Rule, true, false>, blocks, args);
    } else if constexpr (Rule::kShape.scales > 0) {
      launch(encode_kernel<Rule, true, true>, blocks, args);
    } else {
      // Without scales a zeroed block cannot be told from zeros in one pass.
      launch(encode_kernel<Rule, true, false>, blocks, args);
      const DecodePart whole{.message = job.message};
      decode_add_with(job.codec, {&whole, 1}, job.advance, job.count, launch);
    }
  });
}

}  // namespace hobnob::gpu
