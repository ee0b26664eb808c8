#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/hash.h"
#include "runtime/base/nearest_word.h"
#include "runtime/base/peer_id.h"
#include "runtime/base/result.h"
#include "runtime/base/rng.h"

namespace hobnob {
namespace {

TEST(Hash, Mix64AndHash3GiveTheGoldenValues) {
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix64(1), 0x910a2dec89025cc1ULL);
  EXPECT_EQ(hash3(3, 0, 1), 0x2c184487f9c4e1a6ULL);
  EXPECT_EQ(hash3(3, 0, 2), 0xca63fb83beff1c73ULL);
  EXPECT_EQ(hash3(3, 1, 1), 0x7354b31185dbf0c7ULL);
}

TEST(Hash, Hash3TellsItsArgumentsApart) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 8; ++a) {
    for (std::uint64_t b = 0; b < 8; ++b) {
      for (std::uint64_t c = 0; c < 8; ++c) {
        seen.insert(hash3(a, b, c));
      }
    }
  }
  EXPECT_EQ(seen.size(), 512U);
}

TEST(Hash, BytesHashChangesWithEveryBitLengthAndSeed) {
  Bytes bytes(67, std::byte{0x5A});
  std::set<std::uint64_t> seen{hash_bytes(bytes), hash_bytes(bytes, 1)};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    seen.insert(hash_bytes(bytes));
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    seen.insert(hash_bytes(ByteSpan(bytes).first(length)));
  }
  EXPECT_EQ(seen.size(), 2 + 8 * bytes.size() + bytes.size());
}

TEST(Hash, BytesHashTellsZerosOfDifferentLengthApart) {
  const Bytes zeros(100);
  std::set<std::uint64_t> seen;
  for (std::size_t length = 0; length <= zeros.size(); ++length) {
    seen.insert(hash_bytes(ByteSpan(zeros).first(length)));
  }
  EXPECT_EQ(seen.size(), zeros.size() + 1);
}

TEST(Rng, PhiloxGivesThePublishedAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(Rng::philox(Block{0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Rng::philox(Block{kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Rng::philox(Block{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, SameKeyGivesTheSameNumbersAndAnotherKeyGivesOthers) {
  Rng a({.seed = 1, .stream = 2});
  Rng b({.seed = 1, .stream = 2});
  Rng other_seed({.seed = 2, .stream = 2});
  Rng other_stream({.seed = 1, .stream = 3});
  Rng swapped({.seed = 2, .stream = 1});
  for (int k = 0; k < 100; ++k) {
    const std::uint64_t value = a.next_u64();
    EXPECT_EQ(value, b.next_u64());
    EXPECT_NE(value, other_seed.next_u64());
    EXPECT_NE(value, other_stream.next_u64());
    EXPECT_NE(value, swapped.next_u64());
  }
}

TEST(Rng, CopyContinuesTheStream) {
  Rng first({.seed = 5, .stream = 5});
  first.next_u32();
  Rng copy = first;
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(first.next_u32(), copy.next_u32());
  }
}

TEST(Rng, BelowStaysInBoundsAndIsEven) {
  Rng rng({.seed = 1, .stream = 0});
  std::array<int, 7> counts{};
  for (int k = 0; k < 70'000; ++k) {
    const std::uint64_t value = rng.below(7);
    ASSERT_LT(value, 7U);
    ++counts[value];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10'000, 500);
  }
  EXPECT_EQ(rng.below(1), 0U);
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

template <typename Draw>
Moments moments_of(Draw draw) {
  constexpr int kDraws = 50'000;
  double sum = 0.0;
  double squares = 0.0;
  for (int k = 0; k < kDraws; ++k) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(Rng, UniformHasItsMomentsAndRange) {
  Rng rng({.seed = 2, .stream = 0});
  const Moments found = moments_of([&] {
    const double value = rng.uniform();
    EXPECT_GE(value, 0.0);
    EXPECT_LT(value, 1.0);
    return value;
  });
  EXPECT_NEAR(found.mean, 0.5, 0.01);
  EXPECT_NEAR(found.variance, 1.0 / 12.0, 0.002);
}

TEST(Rng, NormalHasItsMoments) {
  Rng rng({.seed = 3, .stream = 0});
  const Moments found = moments_of([&] { return rng.normal(); });
  EXPECT_NEAR(found.mean, 0.0, 0.02);
  EXPECT_NEAR(found.variance, 1.0, 0.03);
}

TEST(Rng, GammaHasItsMomentsForSmallAndLargeShapes) {
  for (const double shape : {0.1, 0.5, 1.0, 4.0}) {
    Rng rng({.seed = 4, .stream = static_cast<std::uint64_t>(10.0 * shape)});
    const Moments found = moments_of([&] {
      const double value = rng.gamma(shape);
      EXPECT_GE(value, 0.0);
      EXPECT_TRUE(std::isfinite(value));
      return value;
    });
    EXPECT_NEAR(found.mean, shape, 0.03 * std::max(1.0, shape)) << shape;
    EXPECT_NEAR(found.variance, shape, 0.08 * std::max(1.0, shape)) << shape;
  }
}

TEST(Bytes, WriterIsLittleEndian) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(std::uint32_t{0x01020304});
  writer.put_text("ab");
  EXPECT_EQ(bytes, (Bytes{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}, std::byte{2},
                          std::byte{0}, std::byte{'a'}, std::byte{'b'}}));
}

TEST(Bytes, ReaderGivesBackWhatWasWritten) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(std::uint8_t{7});
  writer.put(-2.5);
  writer.put_text("");
  writer.put_text("hobnob");
  writer.put(std::int64_t{-1});
  EXPECT_EQ(writer.size(), 1U + 8 + 2 + 8 + 8);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<std::uint8_t>(), 7);
  EXPECT_EQ(reader.get<double>(), -2.5);
  EXPECT_EQ(reader.get_text(0), "");
  EXPECT_EQ(reader.get_text(6), "hobnob");
  EXPECT_FALSE(reader.done());
  EXPECT_EQ(reader.get<std::int64_t>(), -1);
  EXPECT_TRUE(reader.done());
}

TEST(Bytes, ReaderFailsStickily) {
  const Bytes bytes(6, std::byte{1});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<std::uint32_t>(), 0x01010101U);
  EXPECT_EQ(reader.get<std::uint32_t>(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.get<std::uint8_t>(), 0) << "two bytes are left, but the reader failed";
  EXPECT_TRUE(reader.rest().empty());
  EXPECT_TRUE(reader.get_bytes(0).empty());
  EXPECT_FALSE(reader.done());
}

TEST(Bytes, ReaderRefusesTextAboveItsLimitOrItsBytes) {
  Bytes bytes;
  ByteWriter(bytes).put_text("12345");
  ByteReader over_limit(bytes);
  EXPECT_EQ(over_limit.get_text(4), "");
  EXPECT_FALSE(over_limit.ok());
  ByteReader cut_short(ByteSpan(bytes).first(4));
  EXPECT_EQ(cut_short.get_text(5), "");
  EXPECT_FALSE(cut_short.ok());
}

TEST(Bytes, ReaderSurvivesAHugeCount) {
  const Bytes bytes(3);
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.get_bytes(SIZE_MAX).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(Endpoint, ParsesNamesAndAddressesAndPrintsThemBack) {
  for (const char* text : {"127.0.0.1:7070", "node-3.example:0", "[::1]:65535", "x:1"}) {
    const Result<Endpoint> parsed = parse_endpoint(text, "--listen");
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed.value().text(), text);
  }
  EXPECT_EQ(parse_endpoint("[::1]:80", "--listen").value(), (Endpoint{"::1", 80}));
}

TEST(Endpoint, RefusesWhatIsNotHostAndPortAndNamesTheArgument) {
  for (const std::string& text :
       {std::string(), std::string("host"), std::string("host:"), std::string(":80"),
        std::string("host:65536"), std::string("host:-1"), std::string("host:+1"),
        std::string("host:8x"), std::string("host: 80"), std::string("::1:80"),
        std::string("[]:80"), std::string(254, 'a') + ":80",
        std::string("h:99999999999999999999")}) {
    const Result<Endpoint> parsed = parse_endpoint(text, "--listen");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(parsed.error().message.find("--listen"), std::string::npos);
  }
}

TEST(Endpoint, ListsAreSeparatedByCommasAndOneBadEntryRefusesThemAll) {
  EXPECT_EQ(parse_endpoints("a:1,[::2]:3", "--join").value(),
            (std::vector<Endpoint>{{"a", 1}, {"::2", 3}}));
  EXPECT_FALSE(parse_endpoints("a:1,", "--join").ok());
  EXPECT_FALSE(parse_endpoints("", "--join").ok());
  EXPECT_FALSE(parse_endpoints("a:1,,b:2", "--join").ok());
}

TEST(Cidr, ContainsTheAddressesOfItsNetworkOnly) {
  const Cidr loopback = Cidr::parse("127.0.0.0/8", "--trusted-network").value();
  EXPECT_TRUE(loopback.contains("127.0.0.1"));
  EXPECT_TRUE(loopback.contains("127.255.255.255"));
  EXPECT_FALSE(loopback.contains("128.0.0.0"));
  EXPECT_FALSE(loopback.contains("126.255.255.255"));
  EXPECT_FALSE(loopback.contains("::1"));
  EXPECT_FALSE(loopback.contains("localhost"));
  EXPECT_FALSE(loopback.contains(""));
  EXPECT_EQ(loopback.text(), "127.0.0.0/8");

  const Cidr odd = Cidr::parse("10.1.2.128/25", "x").value();
  EXPECT_TRUE(odd.contains("10.1.2.128"));
  EXPECT_FALSE(odd.contains("10.1.2.127"));
  EXPECT_TRUE(Cidr::parse("0.0.0.0/0", "x").value().contains("8.8.8.8"));
  EXPECT_FALSE(Cidr::parse("1.2.3.4/32", "x").value().contains("1.2.3.5"));

  const Cidr v6 = Cidr::parse("fd00::/9", "x").value();
  EXPECT_TRUE(v6.contains("fd7f::1"));
  EXPECT_FALSE(v6.contains("fd80::1"));
  EXPECT_FALSE(v6.contains("127.0.0.1"));
}

TEST(Cidr, RefusesWhatIsNotANetwork) {
  for (const char* text :
       {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/-0", "10.0.0/8",
        "host/8", "::/129", "10.0.0.0/8x", "10.0.0.0/8 ", "/8", "10.0.0.0/8/8"}) {
    const Result<Cidr> parsed = Cidr::parse(text, "--trusted-network");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(parsed.error().message.find("--trusted-network"), std::string::npos);
  }
}

TEST(Cidr, IsInsideAsksEveryNetwork) {
  const std::vector<Cidr> networks{Cidr::parse("10.0.0.0/8", "x").value(),
                                   Cidr::parse("::1/128", "x").value()};
  EXPECT_TRUE(is_inside(networks, "10.9.9.9"));
  EXPECT_TRUE(is_inside(networks, "::1"));
  EXPECT_FALSE(is_inside(networks, "11.0.0.0"));
  EXPECT_FALSE(is_inside({}, "10.0.0.1"));
}

TEST(PeerId, OrdersByHighThenLowAndPrintsAsHex) {
  const PeerId a{0, UINT64_MAX};
  const PeerId b{1, 0};
  EXPECT_LT(a, b);
  EXPECT_EQ(a.hex(), "0000000000000000ffffffffffffffff");
  EXPECT_EQ((PeerId{0x0123456789abcdefULL, 0xff}).hex(), "0123456789abcdef00000000000000ff");
  EXPECT_EQ((PeerId{0x0123456789abcdefULL, 0xff}).short_hex(), "01234567");
}

TEST(PeerId, SmallIdIsItsOwnKey) {
  EXPECT_EQ((PeerId{0, 42}).key(), 42U);
  EXPECT_NE((PeerId{1, 42}).key(), (PeerId{2, 42}).key());
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  const Result<int> bad = make_error(ErrorCode::kTimeout, "waited %d ms", 5);
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(bad.error().message, "waited 5 ms");
  EXPECT_TRUE(Result<void>().ok());
}

TEST(ResultDeathTest, ValueOfAFailureIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Result<int> bad = make_error(ErrorCode::kIo, "x");
  EXPECT_DEATH(static_cast<void>(bad.value()), "failed result");
}

TEST(NearestWord, FindsTheNeighbourAndNothingWhenNoneIsNear) {
  const std::vector<std::string> words{"learning_rate", "rounds", "codec"};
  EXPECT_EQ(nearest_word("learnig_rate", words), "learning_rate");
  EXPECT_EQ(nearest_word("round", words), "rounds");
  EXPECT_EQ(nearest_word("codec", words), "codec");
  EXPECT_EQ(nearest_word("zzzzzzzz", words), "");
  EXPECT_EQ(nearest_word("x", {}), "");
}

}  // namespace
}  // namespace hobnob
