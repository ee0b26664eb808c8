#include "compress/frame_hash.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstring>
#include <set>

#include "compress/frame_hash_rules.h"

namespace hobnob {
namespace {

Bytes test_bytes(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t k = 0; k < count; ++k) {
    bytes[k] = static_cast<std::byte>(mix64(k) & 0xffU);
  }
  return bytes;
}

// The definition, a word at a time.
std::uint64_t plain_hash(ByteSpan bytes, std::uint64_t seed) {
  namespace rules = frame_hash_rules;
  std::vector<std::uint32_t> lanes(rules::kLanes);
  for (std::uint32_t lane = 0; lane < rules::kLanes; ++lane) {
    lanes[lane] = rules::start(lane, seed);
  }
  Bytes padded(bytes.begin(), bytes.end());
  padded.resize((bytes.size() + 511) / 512 * 512);
  for (std::size_t at = 0; at < padded.size(); at += 4) {
    std::uint32_t word;
    std::memcpy(&word, padded.data() + at, 4);
    lanes[at / 4 % 128] = rules::absorb(lanes[at / 4 % 128], word);
  }
  std::uint64_t shares = 0;
  for (std::uint32_t k = 0; k < 64; ++k) {
    shares ^= rules::share(k, lanes[2 * k], lanes[2 * k + 1]);
  }
  return rules::finish(shares, bytes.size(), seed);
}

TEST(FrameHash, IsItsDefinitionOnEveryInstructionSet) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 511U, 512U, 513U, 1024U, 70001U}) {
      const Bytes bytes = test_bytes(count);
      EXPECT_EQ(frame_hash(bytes, 7), plain_hash(bytes, 7)) << count;
    }
    const Bytes bytes = test_bytes(2000);  // unaligned
    EXPECT_EQ(frame_hash(ByteSpan(bytes).subspan(1), 0), plain_hash(ByteSpan(bytes).subspan(1), 0));
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(FrameHash, DiffersForEveryBitLengthAndSeed) {
  Bytes bytes = test_bytes(700);
  std::set<std::uint64_t> seen{frame_hash(bytes, 1)};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(seen.insert(frame_hash(bytes, 1)).second) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(seen.insert(frame_hash(ByteSpan(bytes).first(length), 1)).second) << length;
  }
  for (const std::uint64_t seed : {0ULL, 2ULL, 1ULL << 32U, ~0ULL}) {
    EXPECT_TRUE(seen.insert(frame_hash(bytes, seed)).second) << seed;
  }
  // Zeros of different lengths, which no word tells apart.
  for (const std::size_t zeros : {1U, 2U, 511U, 512U}) {
    EXPECT_TRUE(seen.insert(frame_hash(Bytes(zeros), 1)).second) << zeros;
  }
}

}  // namespace
}  // namespace hobnob
