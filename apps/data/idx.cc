#include "apps/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>

namespace hobnob {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
constexpr std::uint8_t kUnsignedByte = 0x08;

constexpr const char* kGetIt = "apt-get install dataset-fashion-mnist, or set data.path";
constexpr const char* kGetItAgain =
    "fetch the file again (apt-get install --reinstall dataset-fashion-mnist), or set data.path";

struct CloseGzip {
  void operator()(gzFile file) const { gzclose_r(file); }
};

using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

Error damaged(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::kMalformed, "cannot read %s: %s; %s", path.c_str(), why.c_str(),
                    kGetItAgain);
}

// The file's decompressed bytes, in order. Plain files pass through zlib unchanged.
class IdxStream {
 public:
  IdxStream(const std::string& path, GzipFile file) : path_(path), file_(std::move(file)) {}

  // Fills `target` or says why not: fewer bytes than that is an error.
  Result<void> read(std::span<std::uint8_t> target) {
    Result<std::size_t> got = read_some(target);
    if (!got.ok()) {
      return got.error();
    }
    if (got.value() != target.size()) {
      return damaged(path_, format("truncated: its header asks for at least %zu bytes, it has %zu",
                                   position_ - got.value() + target.size(), position_));
    }
    return {};
  }

  // Reads one byte too many, which also makes zlib check the sum at the end of the stream.
  Result<void> expect_end() {
    std::uint8_t extra = 0;
    Result<std::size_t> got = read_some({&extra, 1});
    if (!got.ok()) {
      return got.error();
    }
    if (got.value() != 0) {
      return damaged(path_,
                     format("trailing bytes after the %zu its header asks for", position_ - 1));
    }
    return {};
  }

 private:
  Result<std::size_t> read_some(std::span<std::uint8_t> target) {
    errno = 0;
    const int got = gzread(file_.get(), target.data(), static_cast<unsigned>(target.size()));
    int status = Z_OK;
    const char* text = gzerror(file_.get(), &status);
    if (status == Z_ERRNO) {
      return make_error(ErrorCode::kIo, "cannot read %s: %s; check the disk, or set data.path",
                        path_.c_str(), std::strerror(errno));
    }
    if (status == Z_BUF_ERROR) {
      return damaged(path_, "truncated: the gzip stream ends too early");
    }
    if (got < 0 || (status != Z_OK && status != Z_STREAM_END)) {
      return damaged(path_, format("corrupt gzip (%s)", text));
    }
    position_ += static_cast<std::size_t>(got);
    return static_cast<std::size_t>(got);
  }

  const std::string& path_;
  GzipFile file_;
  std::size_t position_ = 0;
};

Result<GzipFile> open(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return make_error(ErrorCode::kInvalidArgument, "cannot read %s: no such file; %s", path.c_str(),
                      kGetIt);
  }
  if (error) {
    return make_error(ErrorCode::kIo, "cannot read %s: %s; check its permissions, or set data.path",
                      path.c_str(), error.message().c_str());
  }
  // A pipe or a device could block for ever.
  if (!std::filesystem::is_regular_file(status)) {
    return make_error(ErrorCode::kInvalidArgument, "cannot read %s: not a regular file; %s",
                      path.c_str(), kGetIt);
  }
  errno = 0;
  GzipFile file(gzopen(path.c_str(), "rb"));
  if (!file) {
    return make_error(ErrorCode::kIo, "cannot read %s: %s; check its permissions, or set data.path",
                      path.c_str(), std::strerror(errno));
  }
  gzbuffer(file.get(), kChunkBytes);
  if (path.ends_with(".gz") && std::filesystem::file_size(path, error) > 0 &&
      gzdirect(file.get()) != 0) {
    return damaged(path, "not gzip, though its name ends in .gz");
  }
  return file;
}

// The dimensions, bounded; leaves the stream at the first value.
Result<std::vector<std::uint32_t>> read_shape(IdxStream& stream, const std::string& path) {
  std::array<std::uint8_t, 4> magic{};
  if (Result<void> read = stream.read(magic); !read.ok()) {
    return read.error();
  }
  if (magic[0] != 0 || magic[1] != 0) {
    return damaged(path, format("not an IDX file (bad magic %02x%02x%02x%02x, it starts with 0000)",
                                magic[0], magic[1], magic[2], magic[3]));
  }
  if (magic[2] != kUnsignedByte) {
    return make_error(ErrorCode::kInvalidArgument,
                      "cannot read %s: unsupported element type 0x%02x; "
                      "convert it to unsigned bytes (type 0x08)",
                      path.c_str(), magic[2]);
  }
  if (magic[3] == 0 || magic[3] > kMaxIdxDimensions) {
    return damaged(path, format("%d dimensions, 1 to %zu are read", magic[3], kMaxIdxDimensions));
  }
  std::vector<std::uint32_t> shape;
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<std::uint8_t, 4> size{};
    if (Result<void> read = stream.read(size); !read.ok()) {
      return read.error();
    }
    shape.push_back(std::uint32_t{size[0]} << 24 | std::uint32_t{size[1]} << 16 |
                    std::uint32_t{size[2]} << 8 | size[3]);
  }
  return shape;
}

}  // namespace

Result<IdxFile> read_idx(const std::string& path) {
  Result<GzipFile> file = open(path);
  if (!file.ok()) {
    return file.error();
  }
  IdxStream stream(path, std::move(file).value());
  Result<std::vector<std::uint32_t>> shape = read_shape(stream, path);
  if (!shape.ok()) {
    return shape.error();
  }
  std::size_t count = 1;
  for (const std::uint32_t size : shape.value()) {
    // Cannot overflow: count is at most 2^30 and size below 2^32.
    count *= size;
    if (count > kMaxIdxBytes) {
      return damaged(path, format("its header asks for more than %zu bytes", kMaxIdxBytes));
    }
  }
  IdxFile idx{.shape = std::move(shape).value()};
  // Memory follows the bytes that are there, not what the header claims.
  while (idx.values.size() < count) {
    const std::size_t start = idx.values.size();
    idx.values.resize(start + std::min(kChunkBytes, count - start));
    if (Result<void> read = stream.read(std::span(idx.values).subspan(start)); !read.ok()) {
      return read.error();
    }
  }
  if (Result<void> end = stream.expect_end(); !end.ok()) {
    return end.error();
  }
  return idx;
}

}  // namespace hobnob
