#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compress/codec.h"
#include "runtime/base/bytes.h"
#include "runtime/base/rng.h"

// What a fuzzer feeds to a decoder: whom, what for, and a peer's bytes.

namespace hobnob::fuzz {

// Values of the target; two frames and a little.
constexpr std::uint32_t kMaxCount = 131'072 + 300;
constexpr std::size_t kPrefixBytes = 8;

// On disk: u8 codec, u8 type (odd: float64), u16 unused, u32 count (modulo kMaxCount + 1), and all
// the rest is the message. Fewer bytes than the prefix are nothing.
struct Input {
  CodecId codec = CodecId::kRaw;
  DType type = DType::kFloat32;
  std::uint32_t count = 0;
  Bytes message;
};

std::optional<Input> parse(ByteSpan bytes);
Bytes to_bytes(const Input& input);

// Decodes it in every way there is and aborts unless all is as it should be: a value or kMalformed,
// the target touched only by the first, nothing but finite numbers in it, one message at a time or
// several in one pass alike. True: it was a good message.
bool run(const Input& input);

// Puts back what random bytes never get right: the fixed fields of the header, count, length and
// checksums. An input of an unknown codec or with less than a header stays as it is.
void repair(Input& input);

// Another input near to it: changed bytes, counts or lengths, or a message of random values;
// repaired more often than not. Its message has at most `limit` bytes.
void mutate(Input& input, std::size_t limit, Rng& rng);

// A good message of `count` values: normal ones, with a NaN, zeros, or any bits at all.
enum class Values { kNormal, kPoison, kZero, kAnyBits };

Bytes encode(const Codec& codec, DType type, std::uint32_t count, Values values, Rng& rng);

}  // namespace hobnob::fuzz
