#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/base/bytes.h"

// Golomb codes with a power of two (Rice): short numbers in few bits, without tables. A number is
// its quotient by 2^parameter in unary (zeros, then a one), then the remainder. Bits fill bytes
// from the least significant on.

namespace hobnob {

constexpr unsigned kMaxRiceParameter = 15;

// The parameter that codes the numbers in the fewest bits; the least of equals.
inline unsigned best_rice_parameter(std::span<const std::uint16_t> numbers) {
  unsigned best = 0;
  std::uint64_t best_bits = UINT64_MAX;
  for (unsigned parameter = 0; parameter <= kMaxRiceParameter; ++parameter) {
    std::uint64_t bits = std::uint64_t{parameter} * numbers.size();
    for (const std::uint16_t number : numbers) {
      bits += std::uint64_t{number} >> parameter;
    }
    if (bits < best_bits) {
      best = parameter;
      best_bits = bits;
    }
  }
  return best;
}

class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {}

  // The low `count` bits, at most 32.
  void put(std::uint32_t value, unsigned count) {
    word_ |= std::uint64_t{value} << filled_;
    filled_ += count;
    while (filled_ >= 8) {
      out_.push_back(static_cast<std::byte>(word_ & 0xffU));
      word_ >>= 8U;
      filled_ -= 8;
    }
  }

  void put_rice(std::uint32_t number, unsigned parameter) {
    std::uint32_t quotient = number >> parameter;
    for (; quotient >= 16; quotient -= 16) {
      put(0, 16);
    }
    put(1U << quotient, quotient + 1);
    put(number & ((1U << parameter) - 1), parameter);
  }

  // Fills the last byte with zeros.
  void flush() { put(0, (8 - filled_) % 8); }

 private:
  Bytes& out_;
  std::uint64_t word_ = 0;
  unsigned filled_ = 0;  // below 8 between calls
};

// Fails stickily: reads past the end give zeros, and done() is false.
class BitReader {
 public:
  explicit BitReader(ByteSpan bytes) : bytes_(bytes) {}

  // At most 32 bits.
  std::uint32_t get(unsigned count) {
    fill();
    const auto value = static_cast<std::uint32_t>(word_ & ((std::uint64_t{1} << count) - 1));
    drop(count);
    return value;
  }

  // A number of `limit` or more is a failure.
  std::uint32_t get_rice(unsigned parameter, std::uint32_t limit) {
    std::uint32_t quotient = 0;
    for (;;) {
      fill();
      if (word_ != 0) {
        break;
      }
      quotient += filled_;
      drop(filled_ == 0 ? 1 : filled_);
      if (!ok_ || quotient > limit) {
        ok_ = false;
        return 0;
      }
    }
    const auto zeros = static_cast<unsigned>(std::countr_zero(word_));
    drop(zeros + 1);
    quotient += zeros;
    if (quotient > limit >> parameter) {
      ok_ = false;
      return 0;
    }
    const std::uint32_t number = quotient << parameter | get(parameter);
    ok_ = ok_ && number < limit;
    return number;
  }

  // Nothing failed, and what is left are fewer than 8 bits, all zero.
  bool done() {
    fill();
    return ok_ && filled_ < 8 && word_ == 0;
  }

  bool ok() const { return ok_; }

 private:
  // At least 32 bits, or all there are.
  void fill() {
    if (filled_ < 32 && bytes_.size() >= 4) {
      std::uint32_t next = 0;
      std::memcpy(&next, bytes_.data(), sizeof next);
      word_ |= std::uint64_t{next} << filled_;
      filled_ += 32;
      bytes_ = bytes_.subspan(4);
    }
    while (filled_ < 32 && !bytes_.empty()) {
      word_ |= static_cast<std::uint64_t>(bytes_.front()) << filled_;
      filled_ += 8;
      bytes_ = bytes_.subspan(1);
    }
  }

  void drop(unsigned count) {
    if (count > filled_) {
      ok_ = false;
      count = filled_;
    }
    word_ = count < 64 ? word_ >> count : 0;
    filled_ -= count;
  }

  ByteSpan bytes_;
  std::uint64_t word_ = 0;
  unsigned filled_ = 0;
  bool ok_ = true;
};

}  // namespace hobnob
