#pragma once

#include "compress/codec.h"
#include "compress/fixed_rate_rules.h"
#include "compress/frame_layout.h"
#include "compress/hadamard_rules.h"
#include "compress/half_rules.h"
#include "compress/philox_rules.h"
#include "cuda/warp.cuh"

// What a warp does to one block of 256 values, codec by codec: the device side of
// compress/*_kernels.cc, with the same bytes (FORMAT.md).
//
// A rule has:
//   kShape, kPoison           bytes and scales of a block; kPoison of element_rules.h
//   kScratch                  32-bit words of shared memory that a warp needs
//   encode<kAdvance>(d, block)    stores payload and scales of d, which is without poison; if
//                                 kAdvance, d becomes the decoded values, but where a scale is 0
//   decode(block, d)          d becomes the decoded values
// All lanes of a warp call them together.

namespace hobnob::gpu {

struct Block {
  std::byte* payload = nullptr;
  std::uint16_t* scales = nullptr;
  // Bytes of the payload that exist: fewer than a block's at the end of a frame.
  unsigned room = 0;
  unsigned count = 256;       // of its values; zeros follow
  std::uint32_t largest = 0;  // magnitude_bits() of its values
  std::uint64_t key = 0;      // of its random bits
  std::uint64_t index = 0;    // in its message
  std::uint32_t* scratch = nullptr;
};

// Words are stored and loaded where they exist; what does not is zero.
template <typename Word>
__device__ void store_at(const Block& block, unsigned offset, Word word) {
  if (offset + sizeof(Word) <= block.room) {
    *reinterpret_cast<Word*>(block.payload + offset) = word;
  }
}

template <typename Word>
__device__ Word load_at(const Block& block, unsigned offset) {
  return offset + sizeof(Word) <= block.room
             ? *reinterpret_cast<const Word*>(block.payload + offset)
             : Word{};
}

__device__ inline void store_scale(const Block& block, std::uint16_t scale) {
  if (this_lane() == 0) {
    block.scales[0] = scale;
  }
}

__device__ inline element::PhiloxWords draw(const Block& block) {
  return element::philox(block.index * element::kCountersPerBlock + this_lane(), block.key);
}

// Of number i of the lane's eight.
__device__ inline std::uint32_t noise_at(const element::PhiloxWords& words, unsigned i) {
  return element::noise_of(words.word[i % 4], 128 * (i / 4));
}

struct Float32Rule {
  static constexpr message::BlockShape kShape{1024, 0};
  static constexpr std::uint32_t kPoison = element::kFloatPoison;
  static constexpr unsigned kScratch = 0;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    for (unsigned half = 0; half < 2; ++half) {
      store_at(block, 512 * half + 16 * this_lane(),
               float4{d[4 * half], d[4 * half + 1], d[4 * half + 2], d[4 * half + 3]});
    }
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    for (unsigned half = 0; half < 2; ++half) {
      const auto v = load_at<float4>(block, 512 * half + 16 * this_lane());
      d[4 * half] = v.x;
      d[4 * half + 1] = v.y;
      d[4 * half + 2] = v.z;
      d[4 * half + 3] = v.w;
    }
  }
};

// Four values of 16 bits each in 8 bytes.
__device__ inline void store_shorts(const Block& block,
                                    unsigned half,
                                    const std::uint16_t (&v)[4]) {
  store_at(
      block, 256 * half + 8 * this_lane(),
      uint2{v[0] | static_cast<unsigned>(v[1]) << 16U, v[2] | static_cast<unsigned>(v[3]) << 16U});
}

__device__ inline void load_shorts(const Block& block, unsigned half, std::uint16_t (&v)[4]) {
  const auto words = load_at<uint2>(block, 256 * half + 8 * this_lane());
  v[0] = static_cast<std::uint16_t>(words.x & 0xffffU);
  v[1] = static_cast<std::uint16_t>(words.x >> 16U);
  v[2] = static_cast<std::uint16_t>(words.y & 0xffffU);
  v[3] = static_cast<std::uint16_t>(words.y >> 16U);
}

struct Bf16Rule {
  static constexpr message::BlockShape kShape{512, 0};
  static constexpr std::uint32_t kPoison = element::kBf16Poison;
  static constexpr unsigned kScratch = 0;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    for (unsigned half = 0; half < 2; ++half) {
      std::uint16_t v[4];
      for (unsigned c = 0; c < 4; ++c) {
        v[c] = element::bf16_nearest(d[4 * half + c]);
      }
      store_shorts(block, half, v);
    }
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    for (unsigned half = 0; half < 2; ++half) {
      std::uint16_t v[4];
      load_shorts(block, half, v);
      for (unsigned c = 0; c < 4; ++c) {
        d[4 * half + c] = element::float_of_bf16(v[c]);
      }
    }
  }
};

struct HalfRule {
  static constexpr message::BlockShape kShape{512, 1};
  static constexpr std::uint32_t kPoison = element::kInt8Poison;
  static constexpr unsigned kScratch = 0;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    const std::uint16_t scale = element::half_scale(block.largest);
    store_scale(block, scale);
    const float inverse = element::half_inverse(scale);
    const float factor = element::float_of_bf16(scale);
    for (unsigned half = 0; half < 2; ++half) {
      std::uint16_t v[4];
      for (unsigned c = 0; c < 4; ++c) {
        // A value of a block with scale 0 would leave its sign.
        const float scaled = element::mul(d[4 * half + c], inverse);
        v[c] = scale == 0 ? std::uint16_t{0} : element::half_nearest(scaled);
        if constexpr (kAdvance) {
          d[4 * half + c] = element::mul(element::float_of_half(v[c]), factor);
        }
      }
      store_shorts(block, half, v);
    }
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    const float factor = element::float_of_bf16(block.scales[0]);
    for (unsigned half = 0; half < 2; ++half) {
      std::uint16_t v[4];
      load_shorts(block, half, v);
      for (unsigned c = 0; c < 4; ++c) {
        d[4 * half + c] = element::mul(element::float_of_half(v[c]), factor);
      }
    }
  }
};

template <bool kDithers>
struct Int8Rule {
  static constexpr message::BlockShape kShape{256, 1};
  static constexpr std::uint32_t kPoison = element::kInt8Poison;
  static constexpr unsigned kScratch = 0;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    const std::uint16_t scale = element::int8_scale(block.largest);
    store_scale(block, scale);
    const float inverse = element::int8_inverse(scale);
    const float factor = element::float_of_bf16(scale);
    element::PhiloxWords noise{};
    if constexpr (kDithers) {
      noise = draw(block);
    }
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t word = 0;
      for (unsigned c = 0; c < 4; ++c) {
        const unsigned i = 4 * half + c;
        std::int32_t level;
        if constexpr (kDithers) {
          level = element::dithered(d[i], inverse, noise_at(noise, i), 127);
        } else {
          level = element::int8_nearest(d[i], inverse);
        }
        word |= (static_cast<std::uint32_t>(level) & 0xffU) << (8 * c);
        if constexpr (kAdvance) {
          d[i] = element::int8_value(static_cast<std::int8_t>(level), factor);
        }
      }
      store_at(block, 128 * half + 4 * this_lane(), word);
    }
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    const float factor = element::float_of_bf16(block.scales[0]);
    for (unsigned half = 0; half < 2; ++half) {
      const auto word = load_at<std::uint32_t>(block, 128 * half + 4 * this_lane());
      for (unsigned c = 0; c < 4; ++c) {
        const auto level = static_cast<std::int8_t>(word >> (8 * c) & 0xffU);
        d[4 * half + c] = element::int8_value(level, factor);
      }
    }
  }
};

// --- Four bits: runs of 64 values with a scale each; a run is half a warp's numbers 0 to 3 or 4 to
// 7. A Code has scale(d, count) of four values a lane, level(), a nibble, and value(nibble). ---

__device__ inline std::uint32_t run_magnitude(const float* d) {
  std::uint32_t largest = 0;
  for (unsigned c = 0; c < 4; ++c) {
    largest = max_of(largest, element::magnitude_bits(d[c]));
  }
  return max_of_half(largest);
}

class Int4Code {
 public:
  static constexpr bool kDithers = false;

  __device__ static std::uint16_t scale(const float* d, int /*count*/) {
    std::uint32_t largest = 0;
    for (unsigned c = 0; c < 4; ++c) {
      largest = max_of(largest, element::signed_magnitude(d[c]));
    }
    return element::int4_scale(max_of_half(largest));
  }

  __device__ static std::int32_t level(float value, float inverse, std::uint32_t /*noise*/) {
    return element::int4_nearest(value, inverse);
  }

  __device__ float value(std::int32_t level) const { return element::float_of_int(level); }
};

class Qsgd4Code : public Int4Code {
 public:
  static constexpr bool kDithers = true;

  __device__ static std::uint16_t scale(const float* d, int /*count*/) {
    return element::qsgd4_scale(run_magnitude(d));
  }

  __device__ static std::int32_t level(float value, float inverse, std::uint32_t noise) {
    return element::dithered(value, inverse, noise, 7);
  }
};

struct Nf4Book {
  static constexpr element::Codebook kBook = element::kNf4;
};

struct Lm4Book {
  static constexpr element::Codebook kBook = element::kLm4;
};

struct LogBook {
  static constexpr element::Codebook kBook = element::kLog4;
};

// Lanes l and l + 16 keep entry l of the book, so that looking one up is a shuffle.
template <typename Book>
class CodebookCode {
 public:
  static constexpr bool kDithers = false;

  __device__ CodebookCode() {
    constexpr element::Codebook book = Book::kBook;
    for (unsigned k = 0; k < 16; ++k) {
      entry_ = this_lane() % 16 == k ? book.values[k] : entry_;
    }
  }

  __device__ static std::uint16_t scale(const float* d, int /*count*/) {
    return element::absmax_scale(run_magnitude(d));
  }

  __device__ static std::int32_t level(float value, float inverse, std::uint32_t /*noise*/) {
    constexpr element::Codebook book = Book::kBook;
    return static_cast<std::int32_t>(
               element::code_of(book.thresholds, element::mul(value, inverse))) -
           8;
  }

  __device__ float value(std::int32_t level) const {
    return __shfl_sync(kAllLanes, entry_, level + 8);
  }

 private:
  float entry_ = 0;
};

class Lm4Code : public CodebookCode<Lm4Book> {
 public:
  __device__ static std::uint16_t scale(const float* d, int count) {
    const std::uint32_t largest = run_magnitude(d);
    const bool is_tiny = largest < element::kTinyBlock;
    const float to_fixed =
        element::fixed_point(is_tiny ? element::kTinyBlock : largest, element::kRmsBits);
    std::int32_t sum = 0;
    for (unsigned c = 0; c < 4; ++c) {
      sum += element::rms_term(d[c], to_fixed);
    }
    sum = sum_of_half(sum);
    return is_tiny ? std::uint16_t{0} : element::rms_scale(sum, count, largest);
  }
};

template <typename Code>
struct FourBitRule {
  static constexpr message::BlockShape kShape{128, 4};
  static constexpr std::uint32_t kPoison = element::kScalePoison;
  static constexpr unsigned kScratch = 0;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    const Code code;
    const unsigned lane = this_lane();
    element::PhiloxWords noise{};
    if constexpr (Code::kDithers) {
      noise = draw(block);
    }
    std::uint32_t word = 0;
    for (unsigned half = 0; half < 2; ++half) {
      const int run = static_cast<int>(2 * half + lane / 16);
      const int left = static_cast<int>(block.count) - 64 * run;
      const std::uint16_t scale = Code::scale(d + 4 * half, left < 64 ? left : 64);
      if (lane % 16 == 0) {
        block.scales[run] = scale;
      }
      const float inverse = element::inverse_of(scale);
      const float factor = element::float_of_bf16(scale);
      for (unsigned c = 0; c < 4; ++c) {
        const unsigned i = 4 * half + c;
        const std::int32_t level = scale == 0 ? 0 : Code::level(d[i], inverse, noise_at(noise, i));
        word |= (static_cast<std::uint32_t>(level) & 15U) << (8 * c + 4 * half);
        if constexpr (kAdvance) {
          d[i] = element::mul(code.value(level), factor);
        }
      }
    }
    store_at(block, 4 * lane, word);
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    const Code code;
    const unsigned lane = this_lane();
    const auto word = load_at<std::uint32_t>(block, 4 * lane);
    for (unsigned half = 0; half < 2; ++half) {
      const float factor = element::float_of_bf16(block.scales[2 * half + lane / 16]);
      for (unsigned c = 0; c < 4; ++c) {
        const std::uint32_t nibble = word >> (8 * c + 4 * half) & 15U;
        const auto level = static_cast<std::int32_t>(nibble ^ 8U) - 8;  // the sign extended
        d[4 * half + c] = element::mul(code.value(level), factor);
      }
    }
  }
};

struct SignRule {
  static constexpr message::BlockShape kShape{32, 1};
  static constexpr std::uint32_t kPoison = element::kScalePoison;
  static constexpr unsigned kScratch = 0;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    const unsigned lane = this_lane();
    const bool is_tiny = block.largest < element::kTinyBlock;
    const float to_fixed =
        element::fixed_point(is_tiny ? element::kTinyBlock : block.largest, element::kMeanBits);
    std::int32_t sum = 0;
    for (unsigned i = 0; i < kLaneValues; ++i) {
      sum += element::mean_term(d[i], to_fixed);
    }
    sum = __reduce_add_sync(kAllLanes, sum);
    const std::uint16_t scale =
        is_tiny ? std::uint16_t{0}
                : element::mean_scale(sum, static_cast<std::int32_t>(block.count), block.largest);
    store_scale(block, scale);
    const std::uint32_t magnitude = static_cast<std::uint32_t>(scale) << 16U;
    for (unsigned half = 0; half < 2; ++half) {
      std::uint32_t bits = 0;
      for (unsigned c = 0; c < 4; ++c) {
        const std::uint32_t sign = element::bits_of(d[4 * half + c]) >> 31U;
        bits |= sign << (4 * (lane % 8) + c);
        if constexpr (kAdvance) {
          d[4 * half + c] = element::float_of(magnitude | sign << 31U);
        }
      }
      // Eight lanes make a word.
      for (int distance = 4; distance > 0; distance /= 2) {
        bits |= __shfl_xor_sync(kAllLanes, bits, distance);
      }
      if (lane % 8 == 0) {
        store_at(block, 16 * half + lane / 2, scale == 0 ? 0U : bits);
      }
    }
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    const unsigned lane = this_lane();
    const std::uint32_t magnitude = static_cast<std::uint32_t>(block.scales[0]) << 16U;
    for (unsigned half = 0; half < 2; ++half) {
      const auto bits = load_at<std::uint32_t>(block, 16 * half + lane / 8 * 4);
      for (unsigned c = 0; c < 4; ++c) {
        const std::uint32_t sign = bits >> (4 * (lane % 8) + c) & 1U;
        d[4 * half + c] = element::float_of(magnitude ^ sign << 31U);
      }
    }
  }
};

struct TerngradRule {
  static constexpr message::BlockShape kShape{52, 1};
  static constexpr std::uint32_t kPoison = element::kScalePoison;
  static constexpr unsigned kScratch = 5 * 52;  // the last four stand for no value

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    const unsigned lane = this_lane();
    const std::uint16_t scale = element::absmax_scale(block.largest);
    store_scale(block, scale);
    const float inverse = element::inverse_of(scale);
    const float factor = element::float_of_bf16(scale);
    const element::PhiloxWords noise = draw(block);
    for (unsigned i = 0; i < kLaneValues; ++i) {
      const std::int32_t level = element::dithered(d[i], inverse, noise_at(noise, i), 1);
      block.scratch[value_index(lane, i)] = static_cast<std::uint32_t>(level + 1);
      if constexpr (kAdvance) {
        d[i] = element::mul(element::float_of_int(level), factor);
      }
    }
    if (lane < 4) {
      block.scratch[256 + lane] = 0;
    }
    __syncwarp();
    for (unsigned j = lane; j < kShape.bytes; j += kWarpLanes) {
      const std::uint32_t* t = block.scratch + j;
      const std::uint32_t code = t[0] + 3 * t[52] + 9 * t[104] + 27 * t[156] + 81 * t[208];
      block.payload[j] = static_cast<std::byte>(scale == 0 ? 0 : code);
    }
    __syncwarp();
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    const float factor = element::float_of_bf16(block.scales[0]);
    constexpr unsigned kPowers[5] = {1, 3, 9, 27, 81};
    for (unsigned i = 0; i < kLaneValues; ++i) {
      const unsigned at = value_index(this_lane(), i);
      const auto code = static_cast<unsigned>(block.payload[at % kShape.bytes]);
      const auto digit = static_cast<std::int32_t>(code / kPowers[at / kShape.bytes] % 3);
      d[i] = element::mul(element::float_of_int(digit - 1), factor);
    }
  }
};

// --- Rotated blocks. Butterflies of strides 1, 2 and 4 are within a lane that holds 8 values in a
// row, those of 8 to 32 within one that holds every eighth, the last two within one that holds
// every 32nd; between, the values go through shared memory. ---

enum class Held { kLoaded, kRow, kEighth, kColumn };

template <Held kHeld>
__device__ unsigned held_index(unsigned lane, unsigned i) {
  switch (kHeld) {
    case Held::kLoaded:
      return value_index(lane, i);
    case Held::kRow:
      return 8 * lane + i;
    case Held::kEighth:
      return lane % 8 + 8 * i + 64 * (lane / 8);
    default:
      return lane + 32 * i;
  }
}

// One word in nine is left out, so that few lanes meet in one bank.
constexpr unsigned kRotationScratch = 256 + 256 / 8;

template <Held kFrom, Held kTo>
__device__ void exchange(LaneValues& d, std::uint32_t* scratch) {
  const unsigned lane = this_lane();
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const unsigned at = held_index<kFrom>(lane, i);
    scratch[at + at / 8] = element::bits_of(d[i]);
  }
  __syncwarp();
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const unsigned at = held_index<kTo>(lane, i);
    d[i] = element::float_of(scratch[at + at / 8]);
  }
  __syncwarp();
}

template <unsigned kFirst>
__device__ void butterflies(LaneValues& d) {
  for (unsigned stride = kFirst; stride < kLaneValues; stride *= 2) {
    for (unsigned i = 0; i < kLaneValues; ++i) {
      if ((i & stride) == 0) {
        const float a = d[i];
        const float b = d[i + stride];
        d[i] = element::add(a, b);
        d[i + stride] = element::add(a, -b);
      }
    }
  }
}

// From rows to columns: the transform of hadamard_rules.h.
__device__ inline void rotate(LaneValues& d, std::uint32_t* scratch) {
  butterflies<1>(d);
  exchange<Held::kRow, Held::kEighth>(d, scratch);
  butterflies<1>(d);
  exchange<Held::kEighth, Held::kColumn>(d, scratch);
  butterflies<2>(d);
  for (unsigned i = 0; i < kLaneValues; ++i) {
    d[i] = element::mul(d[i], 0.0625F);
  }
}

// Of columns.
__device__ inline void flip_signs(LaneValues& d) {
  for (unsigned i = 0; i < kLaneValues; ++i) {
    const std::uint32_t sign = element::rotation_signs(i) >> this_lane() << 31U;
    d[i] = element::float_of(element::bits_of(d[i]) ^ sign);
  }
}

class FourRotatedBits {
 public:
  static constexpr unsigned kBytes = 128;
  static constexpr unsigned kPerByte = 2;

  __device__ static std::int32_t level(float value) {
    return CodebookCode<Lm4Book>::level(value, 1.0F, 0);
  }

  __device__ float value(std::int32_t level) const { return code_.value(level); }

 private:
  CodebookCode<Lm4Book> code_;
};

class TwoRotatedBits {
 public:
  static constexpr unsigned kBytes = 64;
  static constexpr unsigned kPerByte = 4;

  __device__ static std::int32_t level(float value) {
    constexpr float kFirst = element::kLm2Thresholds[0];
    constexpr float kSecond = element::kLm2Thresholds[1];
    constexpr float kThird = element::kLm2Thresholds[2];
    return (value > kFirst ? 1 : 0) + (value > kSecond ? 1 : 0) + (value > kThird ? 1 : 0) - 2;
  }

  __device__ float value(std::int32_t level) const {
    constexpr float kInner = element::kLm2Values[2];
    constexpr float kOuter = element::kLm2Values[3];
    const float magnitude = level == -2 || level == 1 ? kOuter : kInner;
    return level < 0 ? -magnitude : magnitude;
  }
};

template <typename Bits>
struct RotatedRule {
  static constexpr message::BlockShape kShape{Bits::kBytes, 1};
  static constexpr std::uint32_t kPoison = element::kRotationPoison;
  static constexpr unsigned kScratch = kRotationScratch;
  static constexpr unsigned kBits = 8 / Bits::kPerByte;
  static constexpr unsigned kLaneBytes = kLaneValues / Bits::kPerByte;

  template <bool kAdvance>
  __device__ static void encode(LaneValues& d, const Block& block) {
    const Bits code;
    const unsigned lane = this_lane();
    const bool is_tiny = block.largest < element::kTinyBlock;
    exchange<Held::kLoaded, Held::kColumn>(d, block.scratch);
    flip_signs(d);
    exchange<Held::kColumn, Held::kRow>(d, block.scratch);
    rotate(d, block.scratch);
    const std::uint32_t largest = is_tiny ? element::kTinyBlock : block.largest;
    const float to_fixed =
        element::fixed_point(element::rotated_bound(largest), element::kRotatedBits);
    std::int32_t sum = 0;
    for (unsigned i = 0; i < kLaneValues; ++i) {
      sum += element::rms_term(d[i], to_fixed);
    }
    sum = __reduce_add_sync(kAllLanes, sum);
    const std::uint16_t scale = is_tiny ? std::uint16_t{0} : element::rotated_scale(sum, largest);
    store_scale(block, scale);
    const float inverse = element::inverse_of(scale);
    std::int32_t levels[kLaneValues];
    for (unsigned i = 0; i < kLaneValues; ++i) {
      levels[i] = scale == 0 ? 0 : Bits::level(element::mul(d[i], inverse));
    }
    // Value 32 i + l is in byte (32 i + l) % kBytes.
    for (unsigned j = 0; j < kLaneBytes; ++j) {
      std::uint32_t byte = 0;
      for (unsigned part = 0; part < Bits::kPerByte; ++part) {
        const auto level = static_cast<std::uint32_t>(levels[j + kLaneBytes * part]);
        byte |= (level & ((1U << kBits) - 1)) << (kBits * part);
      }
      block.payload[32 * j + lane] = static_cast<std::byte>(byte);
    }
    if constexpr (kAdvance) {
      const float factor = element::float_of_bf16(scale);
      for (unsigned i = 0; i < kLaneValues; ++i) {
        d[i] = element::mul(code.value(levels[i]), factor);
      }
      rotate_back(d, block);
    }
  }

  __device__ static void decode(const Block& block, LaneValues& d) {
    const Bits code;
    const float factor = element::float_of_bf16(block.scales[0]);
    for (unsigned j = 0; j < kLaneBytes; ++j) {
      const auto byte = static_cast<std::uint32_t>(block.payload[32 * j + this_lane()]);
      for (unsigned part = 0; part < Bits::kPerByte; ++part) {
        constexpr std::uint32_t kSign = 1U << (kBits - 1);
        const std::uint32_t bits = byte >> (kBits * part) & (2 * kSign - 1);
        const auto level =
            static_cast<std::int32_t>(bits ^ kSign) - static_cast<std::int32_t>(kSign);
        d[j + kLaneBytes * part] = element::mul(code.value(level), factor);
      }
    }
    rotate_back(d, block);
  }

 private:
  // From columns to values as they were loaded.
  __device__ static void rotate_back(LaneValues& d, const Block& block) {
    exchange<Held::kColumn, Held::kRow>(d, block.scratch);
    rotate(d, block.scratch);
    flip_signs(d);
    exchange<Held::kColumn, Held::kLoaded>(d, block.scratch);
  }
};

// Calls f(rule) with the codec's rule; false: the codec has none.
template <typename F>
bool with_rule(CodecId codec, F f) {
  switch (codec) {
    case CodecId::kFloat32:
      f(Float32Rule());
      return true;
    case CodecId::kBFloat16:
      f(Bf16Rule());
      return true;
    case CodecId::kFloat16:
      f(HalfRule());
      return true;
    case CodecId::kInt8:
      f(Int8Rule<false>());
      return true;
    case CodecId::kQsgd8:
      f(Int8Rule<true>());
      return true;
    case CodecId::kInt4:
      f(FourBitRule<Int4Code>());
      return true;
    case CodecId::kQsgd4:
      f(FourBitRule<Qsgd4Code>());
      return true;
    case CodecId::kNf4:
      f(FourBitRule<CodebookCode<Nf4Book>>());
      return true;
    case CodecId::kLm4:
      f(FourBitRule<Lm4Code>());
      return true;
    case CodecId::kLog:
      f(FourBitRule<CodebookCode<LogBook>>());
      return true;
    case CodecId::kSign:
      f(SignRule());
      return true;
    case CodecId::kTerngrad:
      f(TerngradRule());
      return true;
    case CodecId::kH4:
      f(RotatedRule<FourRotatedBits>());
      return true;
    case CodecId::kH2:
      f(RotatedRule<TwoRotatedBits>());
      return true;
    default:
      return false;
  }
}

}  // namespace hobnob::gpu
