#include "apps/data/idx.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "apps/data/dataset.h"

namespace hobnob {
namespace {

// A folder of this test alone.
class Idx : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("hobnob_" + std::to_string(getpid()) + "_" + test->name());
    std::filesystem::create_directories(folder_);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  std::string write_gzip(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    gzclose(file);
    return path(name);
  }

  // The error must name the file, say `why`, and fit one line.
  static void expect_error(const std::string& file, const std::string& why) {
    const Result<IdxFile> read = read_idx(file);
    ASSERT_FALSE(read.ok());
    const std::string& message = read.error().message;
    EXPECT_NE(message.find(file), std::string::npos) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_NE(message.find("; "), std::string::npos) << "no remedy: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  std::filesystem::path folder_;
};

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xFF),
          static_cast<char>(value >> 8 & 0xFF), static_cast<char>(value & 0xFF)};
}

std::string idx_bytes(const std::vector<std::uint32_t>& shape, const std::string& values) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (const std::uint32_t size : shape) {
    bytes += big_endian(size);
  }
  return bytes + values;
}

TEST_F(Idx, ReadsAPlainFile) {
  const Result<IdxFile> read = read_idx(write("a", idx_bytes({2, 3}, "abcdef")));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().shape, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(std::string(read.value().values.begin(), read.value().values.end()), "abcdef");
}

TEST_F(Idx, ReadsBackAGzipFileOfManyChunks) {
  std::string values(300'000, '\0');
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<char>((k * k + k / 256) & 0x7F);
  }
  const Result<IdxFile> read = read_idx(write_gzip("a.gz", idx_bytes({300, 1000}, values)));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(std::string(read.value().values.begin(), read.value().values.end()), values);
}

TEST_F(Idx, ReadsAnEmptyArray) {
  const Result<IdxFile> read = read_idx(write("a", idx_bytes({0}, "")));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read.value().values.empty());
}

TEST_F(Idx, SaysHowToGetAMissingFile) {
  expect_error(path("none.gz"),
               "no such file; apt-get install dataset-fashion-mnist, or set data.path");
}

TEST_F(Idx, RefusesAFolder) {
  expect_error(path(""), "not a regular file");
}

TEST_F(Idx, RefusesAGzipNameWithoutGzipInside) {
  expect_error(write("a.gz", idx_bytes({1}, "x")), "not gzip");
}

TEST_F(Idx, RefusesCorruptGzip) {
  const std::string file = write_gzip("a.gz", idx_bytes({4}, "abcd"));
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-6, std::ios::end);  // in the checksum
  stream.put('\x55');
  stream.close();
  expect_error(file, "corrupt gzip");
}

TEST_F(Idx, RefusesEveryTruncationOfAPlainFile) {
  const std::string whole = idx_bytes({2, 2}, "abcd");
  for (std::size_t count = 0; count < whole.size(); ++count) {
    expect_error(write("a", whole.substr(0, count)), "truncated");
  }
}

TEST_F(Idx, RefusesEveryTruncationOfAGzipFile) {
  const std::string file = write_gzip("a.gz", idx_bytes({20}, "abcdefghijklmnopqrst"));
  for (auto size = std::filesystem::file_size(file); size-- > 0;) {
    std::filesystem::resize_file(file, size);
    EXPECT_FALSE(read_idx(file).ok()) << "cut to " << size;
  }
}

TEST_F(Idx, RefusesTrailingBytes) {
  expect_error(write("a", idx_bytes({2}, "abc")), "trailing bytes");
  expect_error(write_gzip("a.gz", idx_bytes({2}, "abc")), "trailing bytes");
}

TEST_F(Idx, RefusesABadMagic) {
  expect_error(write("a", "PNG file, is it not"), "bad magic");
}

TEST_F(Idx, RefusesOtherElementTypes) {
  std::string bytes = idx_bytes({1}, "abcd");
  bytes[2] = '\x0D';
  expect_error(write("a", bytes), "unsupported element type 0x0d");
}

TEST_F(Idx, RefusesTooManyDimensionsAndNone) {
  expect_error(write("a", idx_bytes({1, 1, 1, 1, 1}, "a")), "5 dimensions");
  expect_error(write("a", idx_bytes({}, "")), "0 dimensions");
}

TEST_F(Idx, RefusesAHeaderThatAsksForTooMuch) {
  const std::uint32_t most = 0xFFFFFFFF;
  expect_error(write("a", idx_bytes({most, most, most, most}, "a")), "asks for more than");
  // Within the limit, but not there: fails without reserving it.
  expect_error(write("a", idx_bytes({1U << 30}, "a")), "truncated");
}

TEST_F(Idx, DatasetNeedsAsManyLabelsAsImages) {
  write("train-images-idx3-ubyte", idx_bytes({2, 1, 2}, "abcd"));
  write("train-labels-idx1-ubyte", idx_bytes({1}, std::string(1, '\x01')));
  const auto data = load_idx_dataset(folder_.string());
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.error().message.find("2 images and 1 labels"), std::string::npos)
      << data.error().message;
}

TEST_F(Idx, DatasetRefusesALabelOutOfRange) {
  write("train-images-idx3-ubyte", idx_bytes({1, 1, 2}, "ab"));
  write("train-labels-idx1-ubyte", idx_bytes({1}, "\x0A"));
  const auto data = load_idx_dataset(folder_.string());
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.error().message.find("label 10"), std::string::npos) << data.error().message;
}

TEST_F(Idx, DatasetNormalisesByItsTrainHalf) {
  write("train-images-idx3-ubyte", idx_bytes({2, 1, 2}, std::string{'\0', '\4', '\0', '\4'}));
  write("train-labels-idx1-ubyte", idx_bytes({2}, std::string{'\0', '\1'}));
  write_gzip("t10k-images-idx3-ubyte.gz", idx_bytes({1, 1, 2}, std::string{'\2', '\6'}));
  write_gzip("t10k-labels-idx1-ubyte.gz", idx_bytes({1}, std::string{'\0'}));
  const auto data = load_idx_dataset(folder_.string());
  ASSERT_TRUE(data.ok()) << data.error().message;
  std::vector<float> row(2);
  data.value().train.read(1, row);
  EXPECT_EQ(row, (std::vector<float>{-1.0F, 1.0F}));
  data.value().test.read(0, row);
  EXPECT_EQ(row, (std::vector<float>{0.0F, 2.0F}));
}

TEST(Dataset, FashionMnistIsWholeAndBalanced) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is missing: apt-get install dataset-fashion-mnist";
  }
  const auto data = load_idx_dataset(folder);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data.value().train.count(), 60'000U);
  EXPECT_EQ(data.value().test.count(), 10'000U);
  EXPECT_EQ(data.value().train.features, 784U);
  EXPECT_EQ(data.value().test.inputs.size(), 7'840'000U);
  for (const Dataset* half : {&data.value().train, &data.value().test}) {
    std::vector<std::size_t> counts(10);
    for (const std::uint8_t label : half->labels) {
      ++counts[label];
    }
    EXPECT_EQ(counts, std::vector<std::size_t>(10, half->count() / 10));
  }
}

}  // namespace
}  // namespace hobnob
