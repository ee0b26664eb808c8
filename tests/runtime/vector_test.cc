#include "runtime/compute/vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 31, 32, 33, 4097};

template <typename T>
constexpr DType kTypeOf = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;

template <typename T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed) {
  Rng rng({.seed = seed, .stream = count});
  std::vector<T> values(count);
  for (T& each : values) {
    each = static_cast<T>(rng.normal());
  }
  return values;
}

template <typename T>
Vec view(std::vector<T>& values) {
  return {values.data(), values.size(), kTypeOf<T>};
}

template <typename T>
ConstVec view(const std::vector<T>& values) {
  return {values.data(), values.size(), kTypeOf<T>};
}

template <typename T>
class CpuVector : public ::testing::Test {
 protected:
  const VectorOps& ops_ = cpu_vector_ops();
};

using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CpuVector, Elements);

TYPED_TEST(CpuVector, AllocatesZeroedAlignedMemory) {
  for (const std::size_t size : kSizes) {
    Buffer buffer = this->ops_.allocate(kTypeOf<TypeParam>, size);
    EXPECT_EQ(buffer.count(), size);
    EXPECT_EQ(buffer.empty(), size == 0);
    EXPECT_EQ(buffer.view().size_bytes(), size * sizeof(TypeParam));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.view().data()) % 64, 0U);
    for (const TypeParam value : buffer.view().template as<TypeParam>()) {
      ASSERT_EQ(value, TypeParam{0});
    }
  }
}

TYPED_TEST(CpuVector, CopiesAndFills) {
  for (const std::size_t size : kSizes) {
    const auto source = random_values<TypeParam>(size, 1);
    std::vector<TypeParam> target(size);
    this->ops_.copy(view(source), view(target));
    EXPECT_EQ(source, target);
    this->ops_.fill(-1.5, view(target));
    EXPECT_EQ(target, std::vector<TypeParam>(size, TypeParam{-1.5}));
  }
}

TYPED_TEST(CpuVector, CopyBetweenTypesRoundsToNearest) {
  for (const std::size_t size : kSizes) {
    const auto source = random_values<double>(size, 2);
    std::vector<TypeParam> target(size);
    this->ops_.copy(view(source), view(target));
    for (std::size_t k = 0; k < size; ++k) {
      ASSERT_EQ(target[k], static_cast<TypeParam>(source[k]));
    }
  }
}

TYPED_TEST(CpuVector, AxpyRoundsTheProductAndTheSumOnce) {
  for (const std::size_t size : kSizes) {
    const auto x = random_values<TypeParam>(size, 3);
    const auto before = random_values<TypeParam>(size, 4);
    auto y = before;
    this->ops_.axpy(0.3, view(x), view(y));
    for (std::size_t k = 0; k < size; ++k) {
      const volatile TypeParam product = static_cast<TypeParam>(0.3) * x[k];
      ASSERT_EQ(y[k], before[k] + product) << "not fused";
    }
  }
}

TYPED_TEST(CpuVector, MixedAxpyWorksInThePrecisionOfY) {
  for (const std::size_t size : kSizes) {
    const auto narrow = random_values<float>(size, 5);
    const auto wide = random_values<double>(size, 6);
    std::vector<TypeParam> y(size, TypeParam{1});
    this->ops_.axpy(0.1, view(narrow), view(y));
    this->ops_.axpy(-2.0, view(wide), view(y));
    for (std::size_t k = 0; k < size; ++k) {
      const volatile TypeParam first =
          static_cast<TypeParam>(0.1) * static_cast<TypeParam>(narrow[k]);
      const volatile TypeParam sum = TypeParam{1} + first;
      const volatile TypeParam second = TypeParam{-2} * static_cast<TypeParam>(wide[k]);
      ASSERT_EQ(y[k], sum + second);
    }
  }
}

TYPED_TEST(CpuVector, AddDifferenceGivesExactNegativesWhenTheSidesAreSwapped) {
  for (const std::size_t size : kSizes) {
    const auto a = random_values<TypeParam>(size, 7);
    auto b = random_values<TypeParam>(size, 8);
    if (size > 1) {
      b[0] = a[0];
    }
    for (const double scale : {1.0, 0.5, 1.0 / 3.0, 0.1}) {
      std::vector<TypeParam> forward(size);
      std::vector<TypeParam> backward(size);
      this->ops_.add_difference(scale, view(a), view(b), view(forward));
      this->ops_.add_difference(scale, view(b), view(a), view(backward));
      for (std::size_t k = 0; k < size; ++k) {
        // Adding zero makes -0 and +0 the same bits.
        const TypeParam negated = -backward[k] + TypeParam{0};
        const TypeParam plain = forward[k] + TypeParam{0};
        ASSERT_EQ(std::memcmp(&negated, &plain, sizeof plain), 0) << k;
      }
    }
  }
}

TYPED_TEST(CpuVector, AddDifferenceMayWriteIntoOneOfItsSides) {
  const auto a = random_values<TypeParam>(33, 9);
  const auto b = random_values<TypeParam>(33, 10);
  auto separate = a;
  this->ops_.add_difference(0.5, view(b), view(a), view(separate));
  auto in_place = a;
  this->ops_.add_difference(0.5, view(b), view(in_place), view(in_place));
  EXPECT_EQ(separate, in_place);
}

TYPED_TEST(CpuVector, SubtractGivesItsTypeOrFloat32) {
  for (const std::size_t size : kSizes) {
    const auto a = random_values<TypeParam>(size, 11);
    const auto b = random_values<TypeParam>(size, 12);
    std::vector<TypeParam> same(size);
    std::vector<float> narrow(size);
    this->ops_.subtract(view(a), view(b), view(same));
    this->ops_.subtract(view(a), view(b), view(narrow));
    for (std::size_t k = 0; k < size; ++k) {
      ASSERT_EQ(same[k], a[k] - b[k]);
      ASSERT_EQ(narrow[k], static_cast<float>(a[k] - b[k]));
    }
  }
}

TYPED_TEST(CpuVector, NormsAccumulateInFloat64) {
  for (const std::size_t size : kSizes) {
    const auto a = random_values<TypeParam>(size, 13);
    const auto b = random_values<TypeParam>(size, 14);
    long double norm = 0.0L;
    long double distance = 0.0L;
    for (std::size_t k = 0; k < size; ++k) {
      const long double left = a[k];
      const long double right = b[k];
      norm += left * left;
      distance += (left - right) * (left - right);
    }
    EXPECT_NEAR(this->ops_.squared_norm(view(a)), static_cast<double>(norm),
                1e-12 * static_cast<double>(norm));
    EXPECT_NEAR(this->ops_.squared_distance(view(a), view(b)), static_cast<double>(distance),
                1e-12 * static_cast<double>(distance));
    EXPECT_EQ(this->ops_.squared_distance(view(a), view(a)), 0.0);
  }
}

TYPED_TEST(CpuVector, NotANumberReachesTheNorm) {
  std::vector<TypeParam> a(33);
  a[32] = static_cast<TypeParam>(NAN);
  EXPECT_TRUE(std::isnan(this->ops_.squared_norm(view(a))));
  EXPECT_TRUE(std::isnan(this->ops_.squared_distance(view(a), view(a))));
}

TYPED_TEST(CpuVector, SliceIsAWindowOnTheSameMemory) {
  auto values = random_values<TypeParam>(33, 15);
  this->ops_.fill(9.0, view(values).slice(30, 2));
  EXPECT_NE(values[29], TypeParam{9});
  EXPECT_EQ(values[30], TypeParam{9});
  EXPECT_EQ(values[31], TypeParam{9});
  EXPECT_NE(values[32], TypeParam{9});
  EXPECT_EQ(view(values).slice(33, 0).count(), 0U);
}

TEST(VectorDeathTest, UnequalLengthsWrongTypesAndSlicesOutsideAreBugs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::vector<float> a(3);
  std::vector<float> b(4);
  std::vector<double> c(3);
  EXPECT_DEATH(cpu_vector_ops().copy(view(a), view(b)), "unequal");
  EXPECT_DEATH(cpu_vector_ops().axpy(1.0, view(a), view(b)), "unequal");
  EXPECT_DEATH(static_cast<void>(cpu_vector_ops().squared_distance(view(a), view(c))), "unequal");
  EXPECT_DEATH(static_cast<void>(view(a).as<double>()), "another type");
  EXPECT_DEATH(static_cast<void>(view(a).slice(2, SIZE_MAX)), "slice outside");
}

}  // namespace
}  // namespace hobnob
