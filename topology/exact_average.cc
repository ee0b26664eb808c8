#include "topology/exact_average.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace hobnob {

namespace {

__extension__ using Wide = unsigned __int128;

// The primes are 2^61 - c: reduction is a multiplication by the small c and an addition.
constexpr std::array<std::uint64_t, 32> kPrimeOffsets{
    1,   31,  45,  229, 259, 283,  339,  391,  403,  465,  531,  579,  675,  759,  799,  819,
    829, 843, 859, 939, 985, 1015, 1153, 1195, 1215, 1281, 1299, 1351, 1371, 1425, 1489, 1525};
constexpr std::size_t kMaxPrimes = kPrimeOffsets.size();
constexpr std::size_t kPrimeBits = 60;  // each prime is above 2^60
constexpr std::uint64_t kLow61 = (std::uint64_t{1} << 61U) - 1;

class Field {
 public:
  explicit Field(std::uint64_t offset) : offset_(offset), prime_(kLow61 - offset + 1) {}

  std::uint64_t reduce(Wide value) const {
    // 2^61 = c modulo the prime. c < 2^11: 128 bits become 78, then 62.
    for (int fold = 0; fold < 2; ++fold) {
      value = (value >> 61U) * offset_ + (value & kLow61);
    }
    auto low = static_cast<std::uint64_t>(value);
    while (low >= prime_) {
      low -= prime_;
    }
    return low;
  }

  std::uint64_t times(std::uint64_t a, std::uint64_t b) const { return reduce(Wide{a} * b); }

  // numerator / denominator; neither is a multiple of the prime unless it is 0.
  std::uint64_t quotient(Int128 numerator, Int128 denominator) const {
    return times(reduce(static_cast<Wide>(numerator)),
                 inverse(reduce(static_cast<Wide>(denominator))));
  }

 private:
  // Fermat.
  std::uint64_t inverse(std::uint64_t value) const {
    std::uint64_t result = 1;
    for (std::uint64_t exponent = prime_ - 2; exponent > 0; exponent /= 2) {
      if (exponent % 2 == 1) {
        result = times(result, value);
      }
      value = times(value, value);
    }
    return result;
  }

  std::uint64_t offset_;
  std::uint64_t prime_;
};

std::size_t bits_of(Int128 value) {
  std::size_t bits = 0;
  for (; value > 0; value /= 2) {
    ++bits;
  }
  return bits;
}

// Bits of a common multiple of the denominators seen. Past 128 bits it starts another product: an
// upper bound is all that is needed.
class CommonDenominator {
 public:
  void include(Int128 denominator) {
    if (multiple_ % denominator == 0) {
      return;
    }
    Int128 a = multiple_;
    Int128 b = denominator;
    while (b != 0) {
      a = std::exchange(b, a % b);
    }
    Int128 grown = 0;
    if (__builtin_mul_overflow(multiple_, denominator / a, &grown)) {
      full_bits_ += bits_of(multiple_);
      grown = denominator;
    }
    multiple_ = grown;
  }

  std::size_t bits() const { return full_bits_ + bits_of(multiple_); }

 private:
  Int128 multiple_ = 1;
  std::size_t full_bits_ = 0;
};

// Of n D.
std::size_t bits_to_tell(std::span<const MixingMatrix> rounds) {
  std::size_t bits = bits_of(static_cast<Int128>(rounds.front().size()));
  for (const MixingMatrix& round : rounds) {
    CommonDenominator common;
    for (const MixingMatrix::Entry& entry : round.entries()) {
      common.include(Int128{entry.weight.denominator});
    }
    for (std::uint32_t peer = 0; peer < round.size(); ++peer) {
      common.include(round.diagonal(peer).denominator());
    }
    bits += common.bits();
  }
  return bits;
}

// x <- W x modulo the prime, where x is (n, n) and starts as the identity.
class Product {
 public:
  Product(const Field& field, std::size_t size)
      : field_(field), size_(size), values_(size * size), next_(size * size) {
    for (std::size_t k = 0; k < size; ++k) {
      values_[k * size + k] = 1;
    }
  }

  void apply(const MixingMatrix& matrix) {
    for (std::uint32_t row = 0; row < size_; ++row) {
      sums_.assign(size_, 0);
      const ExactSum& self = matrix.diagonal(row);
      std::size_t terms = 0;
      add(row, residue(self.numerator(), self.denominator()), terms);
      for (const MixingMatrix::Entry& entry : matrix.row(row)) {
        add(entry.column, residue(entry.weight.numerator, entry.weight.denominator), terms);
      }
      for (std::size_t column = 0; column < size_; ++column) {
        next_[row * size_ + column] = field_.reduce(sums_[column]);
      }
    }
    values_.swap(next_);
  }

  bool is_average() const {
    const std::uint64_t mean = field_.quotient(1, static_cast<Int128>(size_));
    return std::ranges::all_of(values_, [&](std::uint64_t value) { return value == mean; });
  }

 private:
  void add(std::uint32_t peer, std::uint64_t weight, std::size_t& terms) {
    constexpr std::size_t kTermsThatFit = 32;  // of 122 bits each
    if (++terms % kTermsThatFit == 0) {
      for (Wide& sum : sums_) {
        sum = field_.reduce(sum);
      }
    }
    const std::uint64_t* values = &values_[peer * size_];
    for (std::size_t column = 0; column < size_; ++column) {
      sums_[column] += Wide{weight} * values[column];
    }
  }

  // Kept: a division costs sixty multiplications, and a round has few different weights.
  std::uint64_t residue(Int128 numerator, Int128 denominator) {
    const auto [found, is_new] = residues_.try_emplace({numerator, denominator}, 0);
    if (is_new) {
      found->second = field_.quotient(numerator, denominator);
    }
    return found->second;
  }

  const Field field_;
  const std::size_t size_;
  std::vector<std::uint64_t> values_;
  std::vector<std::uint64_t> next_;
  std::vector<Wide> sums_;
  std::map<std::pair<Int128, Int128>, std::uint64_t> residues_;
};

}  // namespace

bool averages_exactly(std::span<const MixingMatrix> rounds) {
  if (rounds.empty()) {
    return false;
  }
  const std::size_t size = rounds.front().size();
  for (const MixingMatrix& round : rounds) {
    HOBNOB_CHECK(round.size() == size, "rounds of different sizes");
    if (!round.is_row_stochastic()) {
      return false;
    }
  }
  const std::size_t primes = bits_to_tell(rounds) / kPrimeBits + 1;
  if (primes > kMaxPrimes) {
    return false;
  }
  for (std::size_t k = 0; k < primes; ++k) {
    Product product(Field(kPrimeOffsets[k]), size);
    for (const MixingMatrix& round : rounds) {
      product.apply(round);
    }
    if (!product.is_average()) {
      return false;
    }
  }
  return true;
}

}  // namespace hobnob
