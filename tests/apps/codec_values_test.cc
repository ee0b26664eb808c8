#include "apps/hobnob/codec_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "runtime/base/rng.h"

namespace hobnob {
namespace {

std::string npy_text(const std::string& header, const std::vector<float>& values) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\x00';
  text += static_cast<char>(header.size() & 0xffU);
  text += static_cast<char>(header.size() >> 8U);
  text += header;
  text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return text;
}

double moment(const std::vector<float>& values, double power) {
  const double sum =
      std::accumulate(values.begin(), values.end(), 0.0, [&](double total, float value) {
        return total + std::pow(std::abs(static_cast<double>(value)), power);
      });
  return sum / static_cast<double>(values.size());
}

TEST(DrawnValues, HaveTheMomentsOfTheirDistribution) {
  constexpr std::size_t kCount = 200000;
  // E|x| and E x^2, within about 5 standard errors; t3 has no fourth moment, so its square is left.
  const auto gauss = draw_values("gauss", kCount, 1);
  EXPECT_NEAR(moment(gauss, 1), std::sqrt(2 / M_PI), 0.007);
  EXPECT_NEAR(moment(gauss, 2), 1.0, 0.016);
  const auto laplace = draw_values("laplace", kCount, 1);
  EXPECT_NEAR(moment(laplace, 1), 1.0, 0.012);
  EXPECT_NEAR(moment(laplace, 2), 2.0, 0.05);
  const auto t3 = draw_values("t3", kCount, 1);
  EXPECT_NEAR(moment(t3, 1), 2 * std::sqrt(3.0) / M_PI, 0.016);
  const double root = std::pow(3.0, 0.25) * std::tgamma(0.75) * std::tgamma(1.25) /
                      (std::sqrt(M_PI) * std::tgamma(1.5));
  EXPECT_NEAR(moment(t3, 0.5), root, 0.006);
  for (const std::string& source : value_sources()) {
    const auto values = draw_values(source, kCount, 1);
    EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / kCount, 0.0, 0.02) << source;
  }
}

TEST(DrawnValues, DependOnTheSeedAndTheSource) {
  EXPECT_EQ(draw_values("t3", 100, 7), draw_values("t3", 100, 7));
  EXPECT_NE(draw_values("t3", 100, 7), draw_values("t3", 100, 8));
  EXPECT_NE(draw_values("gauss", 100, 7), draw_values("laplace", 100, 7));
}

TEST(Npy, GivesTheValuesOfAnyShape) {
  const std::vector<float> values{1, -2, 3.5F, 0, 5, 6};
  for (const char* shape : {"(6,)", "(2, 3)", "(1, 6, 1)", "(6,),"}) {
    const std::string text = npy_text(
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + ", }\n",
        values);
    const auto read = read_npy(as_bytes(text), "x.npy");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read.value(), values) << shape;
  }
  const auto scalar =
      read_npy(as_bytes(npy_text("{'descr': '<f4', 'shape': ()}", {4.0F})), "x.npy");
  EXPECT_EQ(scalar.value(), std::vector<float>{4.0F});
}

TEST(Npy, OtherTypesAndShapesAreRefusedByName) {
  const std::vector<float> values{1, 2};
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{'descr': '<f8', 'shape': (1,)}", "'<f8'"},
      {"{'descr': '>f4', 'shape': (2,)}", "'>f4'"},
      {"{'descr': [('a', '<f4')], 'shape': (2,)}", "not '<f4'"},
      {"{'shape': (2,)}", "not '<f4'"},
      {"{'descr': '<f4'}", "shape"},
      {"{'descr': '<f4', 'shape': (-2,)}", "shape"},
      {"{'descr': '<f4', 'shape': (two,)}", "shape"},
      {"{'descr': '<f4', 'shape': (2,", "shape"},
      {"{'descr': '<f4', 'shape': (4294967296, 4294967296)}", "shape"},
      {"{'descr': '<f4', 'shape': (4611686018427387904,)}", "8 bytes follow"},
      {"{'descr': '<f4', 'shape': (3,)}", "8 bytes follow"}};
  for (const auto& [header, word] : cases) {
    const auto read = read_npy(as_bytes(npy_text(header, values)), "x.npy");
    ASSERT_FALSE(read.ok()) << header;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(read.error().message.rfind("x.npy: ", 0), 0U);
    EXPECT_NE(read.error().message.find(word), std::string::npos) << read.error().message;
  }
}

TEST(Npy, AnyBytesGiveValuesOrAnError) {
  const std::string good = npy_text("{'descr': '<f4', 'shape': (2, 1)}", {1, 2});
  for (std::size_t length = 0; length < good.size(); ++length) {
    const Bytes cut(as_bytes(good).begin(),
                    as_bytes(good).begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(read_npy(cut, "x.npy").ok()) << length;
  }
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed 11");
  Rng rng({.seed = kSeed});
  for (int turn = 0; turn < 20000; ++turn) {
    std::string bad = good;
    for (std::uint64_t k = rng.below(4) + 1; k > 0; --k) {
      bad[rng.below(bad.size())] = static_cast<char>(rng.next_u32());
    }
    const auto read = read_npy(as_bytes(bad), "x.npy");
    EXPECT_TRUE(!read.ok() || read.value().size() <= 2);
  }
}

TEST(ValueFile, IsWrittenWholeOrNotAtAll) {
  const std::string path = testing::TempDir() + "codec_values_test.f32";
  const std::vector<float> values{1, 2, 3};
  ASSERT_TRUE(write_binary_file(path, std::as_bytes(std::span(values))).ok());
  EXPECT_EQ(read_value_file(path).value(), values);
  std::remove(path.c_str());
  const auto refused = write_binary_file(testing::TempDir() + "no/such/folder/x", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(write_binary_file("/dev/null", {}).ok()) << "a rename would replace the device";
}

}  // namespace
}  // namespace hobnob
