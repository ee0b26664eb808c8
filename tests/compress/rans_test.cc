#include "compress/rans.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "runtime/base/hash.h"

namespace hobnob {
namespace {

struct Source {
  RansFrequencies frequencies;
  std::vector<std::uint8_t> symbols;
};

// Symbols that follow frequencies drawn by the seed.
Source make_source(std::size_t count, std::uint64_t seed) {
  std::array<std::uint32_t, kRansSymbols> counts{};
  std::array<bool, kRansSymbols> is_needed{};
  const std::size_t used = 1 + hash3(seed, 0, 1) % kRansSymbols;
  for (std::size_t symbol = 0; symbol < used; ++symbol) {
    counts[symbol] = static_cast<std::uint32_t>(hash3(seed, symbol, 2) >> (40U + symbol % 20));
    is_needed[symbol] = true;
  }
  is_needed[kRansSymbols - 1] = true;
  Source source{rans_frequencies(counts, is_needed), std::vector<std::uint8_t>(count)};
  for (std::size_t k = 0; k < count; ++k) {
    auto slot = static_cast<int>(hash3(seed, k, 3) % kRansTotal);
    std::uint8_t symbol = 0;
    while ((slot -= source.frequencies[symbol]) >= 0) {
      ++symbol;
    }
    source.symbols[k] = symbol;
  }
  return source;
}

TEST(Rans, GivesBackEverySymbolAndTheSameBytesOnEveryInstructionSet) {
  for (const std::size_t count :
       {1U, 3U, 4U, 5U, 255U, 4095U, 4096U, 4097U, 4127U, 32767U, 32768U}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(testing::Message() << count << " symbols, seed " << seed);
      const Source source = make_source(count, seed);
      ASSERT_TRUE(are_rans_frequencies(source.frequencies));
      Bytes first;
      for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        Bytes bytes;
        rans_encode(source.symbols, source.frequencies, bytes);
        first = first.empty() ? bytes : first;
        ASSERT_EQ(bytes == first, true) << hwy::TargetName(target);
        ASSERT_LE(bytes.size(), max_rans_bytes(count));
        ASSERT_EQ(check_rans_stream(bytes, count).value(), bytes.size());
        std::vector<std::uint8_t> decoded(count);
        RansDecoder(source.frequencies).decode(std::vector<ByteSpan>{bytes}, decoded);
        ASSERT_EQ(decoded == source.symbols, true) << hwy::TargetName(target);
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

TEST(Rans, NeedsLittleMoreThanTheEntropy) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const Source source = make_source(kRansStreamSymbols, seed);
    double bits = 0.0;
    for (const std::uint8_t symbol : source.symbols) {
      bits -= std::log2(source.frequencies[symbol] / static_cast<double>(kRansTotal));
    }
    Bytes bytes;
    rans_encode(source.symbols, source.frequencies, bytes);
    // The states, and half a percent.
    EXPECT_LE(8.0 * static_cast<double>(bytes.size()), 1.005 * bits + 8.0 * 132.0);
  }
}

TEST(Rans, DecodesAnythingThatIsNotAStream) {
  const Source source = make_source(5000, 3);
  Bytes bytes;
  rans_encode(source.symbols, source.frequencies, bytes);
  const RansDecoder decoder(source.frequencies);
  std::vector<std::uint8_t> decoded(5000);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Bytes wrong = bytes;
    for (std::size_t k = 4; k < wrong.size(); ++k) {
      if (hash3(seed, k, 1) % 40 == 0) {
        wrong[k] = static_cast<std::byte>(hash3(seed, k, 2) & 0xffU);
      }
    }
    decoder.decode(std::vector<ByteSpan>{wrong}, decoded);
    for (const std::uint8_t symbol : decoded) {
      ASSERT_GT(source.frequencies[symbol], 0);
    }
  }
  for (std::size_t length = 0; length < bytes.size(); length += 7) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(check_rans_stream(cut, 5000).ok());
  }
}

TEST(RansFrequencies, SumTo4096WithNoneForgottenAndNoneAlone) {
  std::array<std::uint32_t, kRansSymbols> counts{};
  std::array<bool, kRansSymbols> all;
  all.fill(true);
  EXPECT_TRUE(are_rans_frequencies(rans_frequencies(counts, all)));
  counts[7] = 1'000'000'000;
  const auto skewed = rans_frequencies(counts, all);
  EXPECT_TRUE(are_rans_frequencies(skewed));
  EXPECT_EQ(skewed[7], kRansTotal - 31);
  EXPECT_EQ(skewed[8], 1);
  std::array<bool, kRansSymbols> two{};
  two[7] = two[31] = true;
  EXPECT_EQ(rans_frequencies(counts, two)[7], kRansTotal - 1);
  RansFrequencies wrong = skewed;
  wrong[7] += 1;
  EXPECT_FALSE(are_rans_frequencies(wrong));
  wrong.fill(0);
  wrong[0] = kRansTotal;
  EXPECT_FALSE(are_rans_frequencies(wrong));
}

}  // namespace
}  // namespace hobnob
