#pragma once

#include "compress/level_rules.h"
#include "cuda/entropy_codec.h"
#include "cuda/varying_frames.cuh"

// Messages of eq (FORMAT.md), made and read on the device. A block of the grid makes a frame of
// 65,536 values: all its threads find the step, count a sample and the escapes; a warp codes a
// stream of 32,768 symbols; then the frame goes to its place behind the one before.

namespace hobnob::gpu {

constexpr std::size_t kStreams = message::kFrameCount / kRansStreamSymbols;
// Step, top, a byte of zeros, number of escapes; a byte a middle and two a frequency.
constexpr std::size_t kMaxHead = 10 + kMaxLevel + 2 * kRansSymbols;
constexpr std::size_t kMaxVarint = 4;

// Scratch of a block of the grid.
struct EntropyScratch {
  std::uint16_t words[kStreams][kRansStreamSymbols];  // of a stream, from the end on
  std::int32_t escapes[message::kFrameCount];

  union {
    // Encoder: the frame's body; every value may be an escape.
    std::byte body[kMaxHead + (kMaxVarint + 2) * message::kFrameCount +
                   kStreams * (4 + 4 * kRansLanes) + 16];
    std::uint8_t symbols[message::kFrameCount];  // decoder
  };
};

static_assert(sizeof(EntropyScratch) <= kFrameScratch);

// What the threads of a block share about the frame they encode.
struct EntropyShared {
  std::uint32_t poison[message::kFrameCount / message::kBlockCount / 32];
  std::uint32_t largest;
  unsigned poisoned;
  std::uint64_t squares;
  unsigned escape_counts[kWarps];
  unsigned escapes;  // found so far
  level_rules::LevelCounts counts;
  LevelModel model;
  float inverse;
  rans::Entries entries;
  std::uint32_t states[kStreams][kRansLanes];
  unsigned words[kStreams];
  std::size_t head_bytes;
  std::size_t body_bytes;
};

// 64-bit integers by CUDA's own name of them.
__device__ inline void add_to(std::uint64_t* at, std::uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}

struct FrameInput {
  const float* values;
  const float* base;
  const std::uint32_t* poison;  // null: not known yet
  std::size_t count;

  __device__ float at(std::size_t k) const {
    const std::size_t block = k / message::kBlockCount;
    if (poison != nullptr && (poison[block / 32] >> (block % 32) & 1U) != 0) {
      return 0.0F;
    }
    return base == nullptr ? values[k] : element::add(values[k], -base[k]);
  }
};

// Marks the blocks that are poison, and finds the largest magnitude of the others.
__device__ inline void find_poison(const FrameInput& input, EntropyShared& shared) {
  const std::size_t blocks = message::blocks_of(input.count);
  for (std::size_t b = this_warp(); b < blocks; b += kWarps) {
    std::uint32_t largest = 0;
    for (unsigned i = 0; i < kLaneValues; ++i) {
      const std::size_t k = b * message::kBlockCount + value_index(this_lane(), i);
      if (k < input.count) {
        largest = max_of(largest, element::magnitude_bits(input.at(k)));
      }
    }
    largest = __reduce_max_sync(kAllLanes, largest);
    if (this_lane() == 0) {
      if (largest >= kLevelPoison) {
        atomicOr(&shared.poison[b / 32], 1U << (b % 32));
        atomicAdd(&shared.poisoned, 1U);
      } else {
        atomicMax(&shared.largest, largest);
      }
    }
  }
}

__device__ inline void sum_squares(const FrameInput& input, EntropyShared& shared) {
  const float to_fixed =
      element::fixed_point(max_of(shared.largest, element::kTinyBlock), level_rules::kRmsBits);
  std::uint64_t sum = 0;
  for (std::size_t k = threadIdx.x; k < input.count; k += kThreads) {
    const std::int64_t fixed = element::nearest_int(element::mul(input.at(k), to_fixed));
    sum += static_cast<std::uint64_t>(fixed * fixed);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  }
  if (this_lane() == 0) {
    add_to(&shared.squares, sum);
  }
}

__device__ inline void count_sample(const FrameInput& input,
                                    float rounding,
                                    EntropyShared& shared) {
  const std::size_t size = level_rules::sample_size(input.count);
  for (std::size_t i = threadIdx.x; i < size; i += kThreads) {
    const float value = input.at(level_rules::sample_index(i, input.count));
    const std::int32_t level = level_rules::level_of(value, shared.inverse, rounding);
    const std::uint8_t symbol = level_rules::symbol_of(level, kMaxLevel);
    atomicAdd(&shared.counts.symbols[symbol], 1U);
    if (symbol != kEscape) {
      add_to(&shared.counts.sums[static_cast<std::size_t>(level < 0 ? -level : level)],
             level_rules::in_256ths(value, shared.inverse));
    }
  }
}

// visit(k, place) for every k that is_escape(k), in any order of k; place counts them in theirs.
// All threads together; leaves their number in shared.escapes, which is 0 before.
template <typename IsEscape, typename Visit>
__device__ void for_each_escape(std::size_t count,
                                unsigned (&escape_counts)[kWarps],
                                unsigned& escapes,
                                IsEscape is_escape,
                                Visit visit) {
  const std::size_t end = message::round_up(count, kThreads);
  for (std::size_t k = threadIdx.x; k < end; k += kThreads) {
    const bool is_one = k < count && is_escape(k);
    if (__syncthreads_or(is_one ? 1 : 0) == 0) {
      continue;
    }
    const std::uint32_t mask = __ballot_sync(kAllLanes, is_one ? 1 : 0);
    if (this_lane() == 0) {
      escape_counts[this_warp()] = static_cast<unsigned>(__popc(mask));
    }
    __syncthreads();
    unsigned place = escapes + static_cast<unsigned>(__popc(mask & ((1U << this_lane()) - 1)));
    unsigned all = 0;
    for (unsigned warp = 0; warp < kWarps; ++warp) {
      place += warp < this_warp() ? escape_counts[warp] : 0;
      all += escape_counts[warp];
    }
    if (is_one) {
      visit(k, place);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      escapes += all;
    }
    __syncthreads();
  }
}

// Bytes at any place; one thread.
class ByteStore {
 public:
  __device__ explicit ByteStore(std::byte* at) : begin_(at), at_(at) {}

  template <typename T>
  __device__ void put(T value) {
    for (unsigned k = 0; k < sizeof value; ++k, ++at_) {
      *at_ = static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * k)) & 0xffU);
    }
  }

  __device__ void put_varint(std::uint32_t value) {
    for (; value >= 0x80U; value >>= 7U) {
      *at_++ = static_cast<std::byte>((value & 0x7fU) | 0x80U);
    }
    *at_++ = static_cast<std::byte>(value);
  }

  __device__ std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* at_;
};

// Head, model and escapes; one thread.
__device__ inline std::size_t write_model(const LevelModel& model,
                                          const std::int32_t* escapes,
                                          unsigned escape_count,
                                          std::byte* body) {
  ByteStore store(body);
  store.put(element::bits_of(model.step));
  store.put(static_cast<std::uint8_t>(model.top));
  store.put(std::uint8_t{0});
  store.put(static_cast<std::uint32_t>(escape_count));
  for (std::uint32_t level = 0; level < model.top; ++level) {
    store.put(model.middles[level]);
  }
  for (std::uint32_t symbol = kMaxLevel - model.top; symbol <= kMaxLevel + model.top; ++symbol) {
    store.put_varint(model.frequencies[symbol]);
  }
  store.put_varint(model.frequencies[kEscape]);
  for (unsigned k = 0; k < escape_count; ++k) {
    const std::int32_t level = escapes[k];
    const auto magnitude = static_cast<std::uint32_t>(level < 0 ? -level : level);
    store.put_varint((magnitude - model.top - 1) * 2 + (level < 0 ? 1U : 0U));
  }
  return store.size();
}

// One warp codes symbols (count,) of symbol_of(k), from the last on; words end at `end`. Returns
// how many there are.
template <typename SymbolOf>
__device__ unsigned encode_stream(std::size_t count,
                                  SymbolOf symbol_of,
                                  const rans::Entries& entries,
                                  std::uint16_t* end,
                                  std::uint32_t* states) {
  const unsigned lane = this_lane();
  const std::size_t lanes = rans_lanes(count);
  std::uint32_t state = rans::kLow;
  unsigned words = 0;
  for (std::size_t step = (count + lanes - 1) / lanes; step-- > 0;) {
    const std::size_t k = step * lanes + lane;
    const bool has_symbol = lane < lanes && k < count;
    const rans::Entry entry = entries[has_symbol ? symbol_of(k) : kMaxLevel];
    const bool emits = has_symbol && state >= rans::emit_limit(entry);
    const std::uint32_t mask = __ballot_sync(kAllLanes, emits ? 1 : 0);
    // Lower lanes come first.
    const auto above = static_cast<unsigned>(__popc(mask >> lane));
    if (emits) {
      *(end - words - above) = static_cast<std::uint16_t>(state & 0xffffU);
      state >>= 16U;
    }
    words += static_cast<unsigned>(__popc(mask));
    if (has_symbol) {
      state = rans::put(state, entry);
    }
  }
  if (lane < lanes) {
    states[lane] = state;
  }
  return words;
}

__device__ inline std::size_t stream_bytes(std::size_t count, unsigned words) {
  return 4 + 4 * rans_lanes(count) + 2 * std::size_t{words};
}

__device__ inline std::size_t stream_count(std::size_t count, std::size_t stream) {
  const std::size_t start = stream * kRansStreamSymbols;
  return count <= start ? 0
                        : (count - start < kRansStreamSymbols ? count - start : kRansStreamSymbols);
}

// Byte k of a stream: words, states, words.
__device__ inline std::byte stream_byte(std::size_t k,
                                        std::size_t lanes,
                                        unsigned words,
                                        const std::uint32_t* states,
                                        const std::uint16_t* first) {
  std::uint32_t word = words;
  if (k >= 4 + 4 * lanes) {
    const std::size_t at = k - 4 - 4 * lanes;
    return static_cast<std::byte>(first[at / 2] >> (8 * (at % 2)) & 0xffU);
  }
  if (k >= 4) {
    word = states[k / 4 - 1];
  }
  return static_cast<std::byte>(word >> (8 * (k % 4)) & 0xffU);
}

// Puts the streams behind the head, and zeros behind them; all threads.
__device__ inline void join_streams(std::size_t count,
                                    const EntropyShared& shared,
                                    EntropyScratch& scratch) {
  std::size_t at = shared.head_bytes;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    const std::size_t symbols = stream_count(count, stream);
    if (symbols == 0) {
      break;
    }
    const unsigned words = shared.words[stream];
    const std::uint16_t* first = scratch.words[stream] + kRansStreamSymbols - words;
    const std::size_t bytes = stream_bytes(symbols, words);
    for (std::size_t k = threadIdx.x; k < bytes; k += kThreads) {
      scratch.body[at + k] =
          stream_byte(k, rans_lanes(symbols), words, shared.states[stream], first);
    }
    at += bytes;
  }
  if (threadIdx.x < 16) {
    scratch.body[at + threadIdx.x] = std::byte{0};
  }
}

__device__ inline void reset(EntropyShared& shared) {
  auto* words = reinterpret_cast<std::uint32_t*>(&shared);
  for (std::size_t k = threadIdx.x; k < sizeof shared / 4; k += kThreads) {
    words[k] = 0;
  }
  __syncthreads();
}

// Leaves the body in scratch.body and its length in shared.body_bytes; 0: all values are 0 or too
// small.
__device__ inline void encode_body(const FrameInput& input,
                                   const EntropyEncodeJob& job,
                                   EntropyShared& shared,
                                   EntropyScratch& scratch) {
  sum_squares(input, shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.model.step = level_rules::step_of(static_cast<double>(shared.squares), input.count,
                                             shared.largest, job.step);
    shared.inverse = shared.model.step == 0.0F ? 0.0F : element::divide(1.0F, shared.model.step);
  }
  __syncthreads();
  if (shared.model.step == 0.0F) {
    return;
  }
  count_sample(input, job.rounding, shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.model = level_rules::model_of(shared.model.step, shared.counts);
    shared.entries = rans::entries_of(shared.model.frequencies);
  }
  __syncthreads();
  const auto level = [&](std::size_t k) {
    return level_rules::level_of(input.at(k), shared.inverse, job.rounding);
  };
  for_each_escape(
      input.count, shared.escape_counts, shared.escapes,
      [&](std::size_t k) { return level_rules::symbol_of(level(k), shared.model.top) == kEscape; },
      [&](std::size_t k, unsigned place) { scratch.escapes[place] = level(k); });
  if (threadIdx.x == 0) {
    shared.head_bytes = write_model(shared.model, scratch.escapes, shared.escapes, scratch.body);
  }
  const unsigned stream = this_warp();
  const std::size_t symbols = stream < kStreams ? stream_count(input.count, stream) : 0;
  if (symbols > 0) {
    const unsigned words = encode_stream(
        symbols,
        [&](std::size_t k) {
          return level_rules::symbol_of(level(stream * kRansStreamSymbols + k), shared.model.top);
        },
        shared.entries, scratch.words[stream] + kRansStreamSymbols, shared.states[stream]);
    if (this_lane() == 0) {
      shared.words[stream] = words;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.body_bytes = shared.head_bytes;
    for (std::size_t s = 0; s < kStreams; ++s) {
      const std::size_t n = stream_count(input.count, s);
      shared.body_bytes += n == 0 ? 0 : stream_bytes(n, shared.words[s]);
    }
  }
  join_streams(input.count, shared, scratch);
  __syncthreads();
}

// What value k decodes to.
__device__ inline float decoded(const FrameInput& input,
                                const EntropyShared& shared,
                                float rounding,
                                std::size_t k) {
  const std::int32_t level = level_rules::level_of(input.at(k), shared.inverse, rounding);
  const std::uint8_t symbol = level_rules::symbol_of(level, shared.model.top);
  return symbol == kEscape ? element::mul(element::float_of_int(level), shared.model.step)
                           : level_rules::value_of(shared.model, symbol);
}

// kFrameGrid blocks of kThreads at most.
__global__ void __launch_bounds__(kThreads)
    entropy_encode_kernel(const __grid_constant__ EntropyEncodeJob job) {
  alignas(8) __shared__ std::byte storage[sizeof(EntropyShared)];
  auto& shared = *reinterpret_cast<EntropyShared*>(storage);
  auto& scratch =
      *reinterpret_cast<EntropyScratch*>(job.scratch + std::size_t{blockIdx.x} * kFrameScratch);
  const std::size_t frames = message::frames_of(job.count);
  while (true) {
    const std::size_t index = next_frame(job.out);
    if (index >= frames) {
      return;
    }
    reset(shared);
    const std::size_t start = index * message::kFrameCount;
    const std::size_t left = job.count - start;
    FrameInput input{job.values + start, job.base == nullptr ? nullptr : job.base + start, nullptr,
                     left < message::kFrameCount ? left : message::kFrameCount};
    find_poison(input, shared);
    __syncthreads();
    input.poison = shared.poison;
    encode_body(input, job, shared, scratch);
    place_frame(job.out, index, scratch.body, shared.body_bytes, shared.poisoned);
    if (job.advance != nullptr && shared.body_bytes > 0) {
      float* into = job.advance + start;
      for (std::size_t k = threadIdx.x; k < input.count; k += kThreads) {
        into[k] = element::add_scaled(into[k], 1.0F, decoded(input, shared, job.rounding, k));
      }
    }
  }
}

// --- Decoding ---

// Of a body that was checked; one thread.
class ByteLoad {
 public:
  __device__ explicit ByteLoad(const std::byte* at) : at_(at) {}

  __device__ std::uint32_t get(unsigned bytes) {
    std::uint32_t value = 0;
    for (unsigned k = 0; k < bytes; ++k) {
      value |= static_cast<std::uint32_t>(*at_++) << (8 * k);
    }
    return value;
  }

  __device__ std::uint32_t get_varint() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
      const auto byte = static_cast<std::uint32_t>(*at_++);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80U) {
        break;
      }
    }
    return value;
  }

  __device__ const std::byte* at() const { return at_; }

 private:
  const std::byte* at_;
};

struct EntropyReader {
  LevelModel model;
  std::uint32_t slots[kRansTotal];
  unsigned escape_counts[kWarps];
  unsigned escapes;
  const std::byte* streams[kStreams];
};

// Model, escapes, and where the streams begin; one thread.
__device__ inline void read_head(const std::byte* body,
                                 std::size_t count,
                                 EntropyReader& shared,
                                 EntropyScratch& scratch) {
  ByteLoad load(body);
  LevelModel& model = shared.model;
  model.step = element::float_of(load.get(4));
  model.top = load.get(1);
  load.get(1);
  const std::uint32_t escapes = load.get(4);
  for (std::uint32_t level = 0; level < model.top; ++level) {
    model.middles[level] = static_cast<std::uint8_t>(load.get(1));
  }
  for (std::uint32_t symbol = 0; symbol < kRansSymbols; ++symbol) {
    model.frequencies[symbol] = 0;
  }
  for (std::uint32_t symbol = kMaxLevel - model.top; symbol <= kMaxLevel + model.top; ++symbol) {
    model.frequencies[symbol] = static_cast<std::uint16_t>(load.get_varint());
  }
  model.frequencies[kEscape] = static_cast<std::uint16_t>(load.get_varint());
  for (std::uint32_t k = 0; k < message::kFrameCount && k < escapes; ++k) {
    const std::uint32_t code = load.get_varint();
    const auto level = static_cast<std::int32_t>(code / 2 + model.top + 1);
    scratch.escapes[k] = code % 2 == 1 ? -level : level;
  }
  // A message may name fewer than its symbols are: the others are 0.
  shared.escapes = escapes;
  const std::byte* at = load.at();
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    shared.streams[stream] = at;
    const std::size_t symbols = stream_count(count, stream);
    if (symbols > 0) {
      at += stream_bytes(symbols, ByteLoad(at).get(4));
    }
  }
}

// One warp.
__device__ inline void decode_stream(const std::byte* stream,
                                     std::size_t count,
                                     const std::uint32_t* slots,
                                     std::uint8_t* symbols) {
  const unsigned lane = this_lane();
  const std::size_t lanes = rans_lanes(count);
  const std::uint32_t words = ByteLoad(stream).get(4);
  std::uint32_t state = lane < lanes ? ByteLoad(stream + 4 + 4 * lane).get(4) & 0x7fffffffU : 0;
  const std::byte* first = stream + 4 + 4 * lanes;
  std::uint32_t at = 0;
  for (std::size_t start = 0; start < count; start += lanes) {
    const std::size_t k = start + lane;
    const bool has_symbol = lane < lanes && k < count;
    const std::uint32_t slot = slots[state & (kRansTotal - 1)];
    if (has_symbol) {
      symbols[k] = static_cast<std::uint8_t>(slot >> 24U);
      state = rans::taken(state, slot);
    }
    const bool takes = has_symbol && state < rans::kLow;
    const std::uint32_t mask = __ballot_sync(kAllLanes, takes ? 1 : 0);
    if (takes) {
      const std::uint32_t word = at + static_cast<std::uint32_t>(__popc(mask & ((1U << lane) - 1)));
      // Past the last word there are zeros.
      state = state << 16U | (word < words ? ByteLoad(first + 2 * std::size_t{word}).get(2) : 0U);
    }
    at += static_cast<std::uint32_t>(__popc(mask));
  }
}

// A block of the grid decodes a frame.
__global__ void __launch_bounds__(kThreads)
    entropy_decode_kernel(const __grid_constant__ EntropyDecodeJob job) {
  alignas(8) __shared__ std::byte storage[sizeof(EntropyReader)];
  auto& shared = *reinterpret_cast<EntropyReader*>(storage);
  auto& scratch =
      *reinterpret_cast<EntropyScratch*>(job.scratch + std::size_t{blockIdx.x} * kFrameScratch);
  const std::size_t frames = message::frames_of(job.count);
  for (std::size_t index = blockIdx.x; index < frames; index += gridDim.x) {
    const std::byte* frame = job.message + job.offsets[index];
    const std::uint32_t flags = *reinterpret_cast<const std::uint32_t*>(frame + message::kFlagsAt);
    if ((flags & message::kZero) != 0) {
      continue;
    }
    const std::size_t start = index * message::kFrameCount;
    const std::size_t left = job.count - start;
    const std::size_t count = left < message::kFrameCount ? left : message::kFrameCount;
    if (threadIdx.x == 0) {
      read_head(frame + message::kFrameHeaderBytes, count, shared, scratch);
    }
    __syncthreads();
    const unsigned known_escapes = shared.escapes;
    for (std::uint32_t slot = threadIdx.x; slot < kRansTotal; slot += kThreads) {
      shared.slots[slot] = rans::slot_of(shared.model.frequencies, slot);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      shared.escapes = 0;
    }
    const unsigned stream = this_warp();
    const std::size_t symbols = stream < kStreams ? stream_count(count, stream) : 0;
    if (symbols > 0) {
      decode_stream(shared.streams[stream], symbols, shared.slots,
                    scratch.symbols + stream * kRansStreamSymbols);
    }
    __syncthreads();
    float* into = job.into + start;
    for (std::size_t k = threadIdx.x; k < count; k += kThreads) {
      if (scratch.symbols[k] != kEscape) {
        const float value = level_rules::value_of(shared.model, scratch.symbols[k]);
        into[k] = element::add_scaled(into[k], job.factor, value);
      }
    }
    for_each_escape(
        count, shared.escape_counts, shared.escapes,
        [&](std::size_t k) { return scratch.symbols[k] == kEscape; },
        [&](std::size_t k, unsigned place) {
          const std::int32_t level = place < known_escapes ? scratch.escapes[place] : 0;
          const float value = element::mul(element::float_of_int(level), shared.model.step);
          into[k] = element::add_scaled(into[k], job.factor, value);
        });
    __syncthreads();
  }
}

}  // namespace hobnob::gpu
