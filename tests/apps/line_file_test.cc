#include "apps/hobnob/line_file.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace hobnob {
namespace {

namespace fs = std::filesystem;

// A folder that is gone after the test.
class LineFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hobnob_line_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(LineFileTest, AppearsUnderItsNameOnlyWhenClosed) {
  const fs::path path = folder_ / "out.jsonl";
  auto file = LineFile::open(path.string(), "--out");
  ASSERT_TRUE(file.ok());
  file.value()->write("one");
  file.value()->write("two");
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file.value()->close().ok());
  EXPECT_EQ(content(path), "one\ntwo\n");
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(file.value()->close().ok()) << "closing again does nothing";
}

TEST_F(LineFileTest, LeavesNothingBehindWhenNotClosed) {
  {
    auto file = LineFile::open((folder_ / "out.jsonl").string(), "--out");
    ASSERT_TRUE(file.ok());
    file.value()->write("lost");
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(LineFileTest, TheOldFileStaysWhenNotClosed) {
  const fs::path path = folder_ / "out.jsonl";
  std::ofstream(path) << "old\n";
  {
    auto file = LineFile::open(path.string(), "--out");
    ASSERT_TRUE(file.ok());
    file.value()->write("new");
  }
  EXPECT_EQ(content(path), "old\n");
}

TEST_F(LineFileTest, AMissingFolderIsAnErrorThatNamesTheFlagAndTheFile) {
  const auto file = LineFile::open((folder_ / "none" / "out.jsonl").string(), "--out");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(file.error().message.rfind("--out ", 0), 0U);
  EXPECT_NE(file.error().message.find("out.jsonl"), std::string::npos);
  EXPECT_NE(file.error().message.find("No such file"), std::string::npos);
}

TEST_F(LineFileTest, AnEmptyPathTakesLinesAndKeepsNone) {
  auto file = LineFile::open("", "--out");
  ASSERT_TRUE(file.ok());
  file.value()->write("nowhere");
  EXPECT_TRUE(file.value()->close().ok());
  EXPECT_EQ(files(), 0U);
}

TEST_F(LineFileTest, ATargetThatCannotBeReplacedIsAnErrorAndLeavesNothing) {
  const fs::path path = folder_ / "out.jsonl";
  fs::create_directories(path / "full");
  auto file = LineFile::open(path.string(), "--out");
  ASSERT_TRUE(file.ok());
  const auto closed = file.value()->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(files(), 1U) << "only the folder that was there";
}

// /dev/full under the name that will be opened: the lines fill its buffer and the disk is full.
TEST_F(LineFileTest, AFullDiskIsReportedAndNothingIsKept) {
  const fs::path path = folder_ / "out.jsonl";
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "SKIPPED: no /dev/full here";
  }
  for (const std::size_t lines : {1U, 10'000U}) {
    fs::create_symlink("/dev/full", path.string() + ".partial");
    auto file = LineFile::open(path.string(), "--out");
    ASSERT_TRUE(file.ok());
    for (std::size_t k = 0; k < lines; ++k) {
      file.value()->write("a line of some length");
    }
    const auto closed = file.value()->close();
    ASSERT_FALSE(closed.ok());
    EXPECT_EQ(closed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(closed.error().message.find("No space left"), std::string::npos);
    EXPECT_EQ(files(), 0U);
  }
}

TEST_F(LineFileTest, AFullFileSystemIsReportedAndNothingIsKept) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "SKIPPED: a small tmpfs cannot be mounted here (needs root)";
  }
  {
    auto file = LineFile::open((folder_ / "out.jsonl").string(), "--out");
    ASSERT_TRUE(file.ok());
    for (int k = 0; k < 10'000; ++k) {
      file.value()->write("a line of some length");
    }
    const auto closed = file.value()->close();
    EXPECT_FALSE(closed.ok());
    EXPECT_EQ(files(), 0U);
  }
  EXPECT_EQ(umount(folder_.c_str()), 0);
}

}  // namespace
}  // namespace hobnob
