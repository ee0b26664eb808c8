#include "topology/mixing_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace hobnob {
namespace {

MixingMatrix ring(std::uint32_t size, Weight weight) {
  std::vector<MixingMatrix::Edge> edges;
  for (std::uint32_t k = 0; k + 1 < size; ++k) {
    edges.push_back({.a = k, .b = k + 1, .weight = weight});
  }
  edges.push_back({.a = 0, .b = size - 1, .weight = weight});
  return {size, std::move(edges)};
}

TEST(MixingMatrix, WithANegativeSelfWeightIsNotDoublyStochastic) {
  EXPECT_TRUE(ring(5, {1, 2}).is_doubly_stochastic());   // self weight exactly 0
  EXPECT_FALSE(ring(5, {2, 3}).is_doubly_stochastic());  // self weight -1/3
  // Above 1 by 2^-63: float64 would say 1.
  EXPECT_FALSE(MixingMatrix(3, {{.a = 0, .b = 1, .weight = {2147483648U, 4294967295U}},
                                {.a = 0, .b = 2, .weight = {1, 2}}})
                   .is_doubly_stochastic());
}

TEST(MixingMatrix, WithTooLargeACommonDenominatorIsRefused) {
  std::vector<MixingMatrix::Edge> edges;
  std::uint32_t peer = 1;
  for (const std::uint32_t prime :
       {4294967291U, 4294967279U, 4294967231U, 4294967197U, 4294967189U}) {
    edges.push_back({.a = 0, .b = peer++, .weight = {1, prime}});
  }
  EXPECT_FALSE(MixingMatrix(6, edges).is_doubly_stochastic());
  edges.resize(3);
  EXPECT_TRUE(MixingMatrix(6, edges).is_doubly_stochastic());
}

TEST(MixingMatrix, KeepsTheSumAndApproachesTheMean) {
  const MixingMatrix matrix = ring(8, {1, 3});
  std::vector<double> x{8, 0, 0, 0, 16, 0, 0, 0};
  const std::vector<double> once = matrix.apply(x);
  EXPECT_DOUBLE_EQ(once[0], 8.0 / 3);
  EXPECT_DOUBLE_EQ(once[1], 8.0 / 3);
  EXPECT_DOUBLE_EQ(once[2], 0.0);
  for (int round = 0; round < 200; ++round) {
    x = matrix.apply(x);
  }
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0), 24.0, 1e-12);
  EXPECT_NEAR(x[3], 3.0, 1e-12);
}

TEST(MixingMatrix, GapOfARingHasItsClosedForm) {
  for (const std::uint32_t size : {3U, 8U, 17U, 64U}) {
    const double second = (1 + 2 * std::cos(2 * std::numbers::pi / size)) / 3;
    EXPECT_NEAR(ring(size, {1, 3}).spectral_gap(), 1 - second, 1e-9) << size;
  }
}

TEST(MixingMatrix, GapSeesNegativeEigenvalues) {
  // Self weight 0 on an even ring: eigenvalue -1, it swings for ever.
  EXPECT_NEAR(ring(8, {1, 2}).spectral_gap(), 0.0, 1e-9);
}

TEST(MixingMatrix, GapOfAMatchingIsZeroAndOfOnePeerIsOne) {
  const MixingMatrix matching(
      4, {{.a = 0, .b = 1, .weight = {1, 2}}, {.a = 2, .b = 3, .weight = {1, 2}}});
  EXPECT_NEAR(matching.spectral_gap(), 0.0, 1e-9);
  EXPECT_EQ(MixingMatrix(1, {}).spectral_gap(), 1.0);
  EXPECT_EQ(MixingMatrix(0, {}).spectral_gap(), 1.0);
}

}  // namespace
}  // namespace hobnob
