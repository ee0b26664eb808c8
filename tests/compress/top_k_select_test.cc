#include "compress/top_k_select.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compress/dgc_rules.h"
#include "tests/compress/sparse_samples.h"

namespace hobnob {
namespace {

Delta delta_of(const std::vector<float>& values) {
  return Delta(ConstVec(std::span<const float>(values)));
}

// Indices of the k largest by sorting, in order.
std::vector<std::size_t> sorted_choice(const std::vector<float>& values, std::size_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return std::abs(values[i]); });
  order.resize(std::min(k, order.size()));
  std::erase_if(order, [&](std::size_t i) { return values[i] == 0.0F; });
  std::ranges::sort(order);
  return order;
}

std::vector<std::size_t> indices_of(const ChosenValues& chosen) {
  std::vector<std::size_t> indices;
  for (std::size_t frame = 0; frame < chosen.frame_ends.size(); ++frame) {
    for (const std::uint16_t offset : chosen.frame(frame).offsets) {
      indices.push_back(frame * 65536 + offset);
    }
  }
  return indices;
}

void expect_sorted_choice(const std::vector<float>& values, std::size_t k) {
  const ChosenValues chosen = select_top_k(delta_of(values), k);
  const std::vector<std::size_t> indices = indices_of(chosen);
  ASSERT_EQ(indices, sorted_choice(values, k));
  for (std::size_t n = 0; n < indices.size(); ++n) {
    ASSERT_EQ(chosen.values[n], values[indices[n]]);
  }
}

TEST(TopKSelect, ChoosesWhatSortingChooses) {
  for (const std::size_t count : kSparseSizes) {
    SCOPED_TRACE(count);
    const std::vector<float> values = bell_values(count);
    for (const std::size_t k :
         {std::size_t{0}, std::size_t{1}, count / 100, count / 10, count / 2, count}) {
      expect_sorted_choice(values, k);
    }
  }
}

TEST(TopKSelect, IsExactWhereOnlyAShareOfTheLinesIsSampled) {
  for (const Source source : {Source::kGauss, Source::kLaplace, Source::kStudent3}) {
    const std::vector<float> values = random_values(source, 200000, 7);
    for (const std::size_t k : {1U, 2000U, 20000U}) {
      expect_sorted_choice(values, k);
    }
  }
}

TEST(TopKSelect, TakesTheFirstOfEqualMagnitudes) {
  std::vector<float> values(200000);
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = mix64(k) % 2 == 0 ? 1.5F : -1.5F;
  }
  values[100000] = 2.0F;
  expect_sorted_choice(values, 2000);
}

TEST(TopKSelect, IsExactWhereTheSampleMisleads) {
  // All that is large lies in few lines, which the sample mostly misses or happens to hit.
  std::vector<float> values(1000000, 0x1.0p-20F);
  for (std::size_t row = 0; row < 40; ++row) {
    const std::size_t start = static_cast<std::size_t>(mix64(row)) % 60000 * 16;
    for (std::size_t k = start; k < start + 16; ++k) {
      values[k] = 1.0F + static_cast<float>(k % 97);
    }
  }
  for (const std::size_t k : {1U, 100U, 600U, 5000U}) {
    expect_sorted_choice(values, k);
  }
}

TEST(TopKSelect, NeverChoosesZeros) {
  std::vector<float> values(100000);
  values[77] = -0x1.0p-149F;
  values[99999] = 3.0F;
  values[5] = -0.0F;
  EXPECT_EQ(indices_of(select_top_k(delta_of(values), 1000)),
            (std::vector<std::size_t>{77, 99999}));
}

TEST(TopKSelect, LeavesPoisonedBlocksOut) {
  for (const std::size_t count : {std::size_t{1100}, std::size_t{200000}}) {
    for (const float poison : {kNan, -kNan, kInfinity, -kInfinity, 0x1.0p126F}) {
      std::vector<float> values = bell_values(count);
      values[300] = poison;
      values[301] = poison;
      values[count - 1] = poison;
      const ChosenValues chosen = select_top_k(delta_of(values), count / 10);
      std::vector<float> zeroed = values;
      std::fill_n(zeroed.begin() + 256, 256, 0.0F);
      std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>((count - 1) / 256 * 256), zeroed.end(),
                0.0F);
      EXPECT_EQ(indices_of(chosen), sorted_choice(zeroed, count / 10));
      EXPECT_EQ(std::accumulate(chosen.frame_poisoned.begin(), chosen.frame_poisoned.end(),
                                std::size_t{0}),
                2U);
    }
  }
  std::vector<float> ties(200000, 1.0F);  // by way of the exact passes
  ties[0] = kNan;
  const std::vector<std::size_t> indices = indices_of(select_top_k(delta_of(ties), 1000));
  ASSERT_EQ(indices.size(), 1000U);
  EXPECT_EQ(indices.front(), 256U);
}

TEST(TopKSelect, IsAlikeForAllTargets) {
  const std::vector<float> values = bell_values(70001);
  const std::vector<float> hat = bell_values(70001, 3);
  const auto choose = [&] {
    return indices_of(select_top_k(
        Delta(ConstVec(std::span<const float>(values)), ConstVec(std::span<const float>(hat))),
        700));
  };
  const std::vector<std::size_t> expected = choose();
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_EQ(choose(), expected) << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Dgc, KeepsAboutAsManyAsAsked) {
  for (const Source source : {Source::kGauss, Source::kLaplace, Source::kStudent3}) {
    const std::vector<float> values = random_values(source, 200000, 9);
    for (const std::size_t k : {200U, 2000U, 20000U}) {
      for (const std::uint64_t start : {0U, 12345U}) {
        const std::size_t kept = select_dgc(delta_of(values), k, start).count();
        EXPECT_GE(10 * kept, 8 * k);
        EXPECT_LE(kept, dgc_limit(k));
      }
    }
  }
}

TEST(Dgc, ChoosesByMagnitudeAlone) {
  const std::vector<float> values = random_values(Source::kLaplace, 100000, 11);
  const ChosenValues chosen = select_dgc(delta_of(values), 1000, 5);
  EXPECT_EQ(indices_of(chosen), sorted_choice(values, chosen.count()));
}

TEST(Dgc, BoundsTiesAndFewNonzeros) {
  const std::vector<float> equal(50000, -2.0F);
  EXPECT_EQ(select_dgc(delta_of(equal), 500, 1).count(), 500U);
  std::vector<float> few(50000);
  few[40000] = 1.0F;
  EXPECT_EQ(select_dgc(delta_of(few), 500, 1).count(), 1U);
  EXPECT_EQ(select_dgc(delta_of(std::vector<float>(600)), 6, 1).count(), 0U);
  EXPECT_EQ(select_dgc(delta_of({}), 6, 1).count(), 0U);
}

TEST(Dgc, DensityFallsToItsTargetAsInThePaper) {
  // 75, 93.75, 98.4375, 99.6, 99.9 % sparsity over five epochs when the last is 4^-5.
  const double density = std::pow(0.25, 5);
  EXPECT_NEAR(dgc_density(density, 0, 4), 0.25, 1e-12);
  EXPECT_NEAR(dgc_density(density, 1, 4), 0.0625, 1e-12);
  EXPECT_NEAR(dgc_density(density, 2, 4), 0.015625, 1e-12);
  EXPECT_EQ(dgc_density(density, 4, 4), density);
  EXPECT_EQ(dgc_density(0.01, 0, 0), 0.01);
}

TEST(Dgc, ClearsWhatIsMarked) {
  std::vector<double> values(130, 1.0);
  std::vector<std::uint64_t> mask{std::uint64_t{1} << 63U, 0, 3};
  clear_marked(mask, std::span<double>(values));
  EXPECT_EQ(std::ranges::count(values, 0.0), 3);
  EXPECT_EQ(values[63] + values[128] + values[129], 0.0);
}

}  // namespace
}  // namespace hobnob
