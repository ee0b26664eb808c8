#include "topology/rational.h"

#include <gtest/gtest.h>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

TEST(Weight, IsMadeInLowestTerms) {
  const Weight weight = make_weight(std::uint64_t{6} << 40U, std::uint64_t{9} << 40U);
  EXPECT_EQ(weight.numerator, 2U);
  EXPECT_EQ(weight.denominator, 3U);
  EXPECT_EQ(make_weight(0, 7).denominator, 1U);
}

TEST(Weight, HalfSumIsExact) {
  Rng rng({.seed = 3, .stream = 1});
  for (int round = 0; round < 1000; ++round) {
    const auto d = static_cast<std::uint32_t>(1 + rng.below(3000));
    const auto e = static_cast<std::uint32_t>(1 + rng.below(3000));
    const Weight a{static_cast<std::uint32_t>(rng.below(d + 1)), d};
    const Weight b{static_cast<std::uint32_t>(rng.below(e + 1)), e};
    const Weight half = half_sum(a, b);
    ExactSum rest(half);
    rest.add(half);
    rest.subtract(a);
    rest.subtract(b);
    EXPECT_TRUE(rest.is_exact());
    EXPECT_TRUE(rest.numerator() == 0) << "seed 3, case " << round;
  }
}

TEST(ExactSum, TellsOneFromNearlyOne) {
  ExactSum sum;
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(sum.is_one());
    sum.add({1, 3});
  }
  EXPECT_TRUE(sum.is_one());
  sum.add({1, 4294967295U});
  sum.subtract({1, 4294967294U});
  EXPECT_FALSE(sum.is_one());  // off by 5e-20
  EXPECT_EQ(sum.value(), 1.0);
}

TEST(ExactSum, KnowsItsSign) {
  ExactSum sum({1, 7});
  sum.subtract({1, 7});
  EXPECT_TRUE(sum.is_weight());
  sum.subtract({1, 4294967295U});
  EXPECT_FALSE(sum.is_weight());
}

TEST(ExactSum, SaysSoWhenItIsNoLongerExact) {
  ExactSum sum;
  for (const std::uint32_t prime : {4294967291U, 4294967279U, 4294967231U, 4294967197U}) {
    sum.add({1, prime});
  }
  EXPECT_FALSE(sum.is_exact());
  EXPECT_FALSE(sum.is_weight());
  EXPECT_NEAR(sum.value(), 4 / 4294967296.0, 1e-16);
}

}  // namespace
}  // namespace hobnob
