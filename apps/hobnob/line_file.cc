#include "apps/hobnob/line_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace hobnob {

LineFile::LineFile(std::string path, std::string what, std::FILE* file)
    : path_(std::move(path)), what_(std::move(what)), file_(file) {}

Result<std::unique_ptr<LineFile>> LineFile::open(const std::string& path, const std::string& what) {
  std::FILE* file = nullptr;
  if (!path.empty()) {
    file = std::fopen((path + ".partial").c_str(), "wb");
    if (file == nullptr) {
      return make_error(ErrorCode::kInvalidArgument, "%s %s: cannot create the file: %s",
                        what.c_str(), path.c_str(), std::strerror(errno));
    }
  }
  return std::unique_ptr<LineFile>(new LineFile(path, what, file));
}

LineFile::~LineFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
    std::remove((path_ + ".partial").c_str());
  }
}

void LineFile::write(const std::string& line) {
  if (file_ == nullptr || failed_errno_ != 0) {
    return;
  }
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() ||
      std::fputc('\n', file_) == EOF) {
    failed_errno_ = errno;
  }
}

Result<void> LineFile::close() {
  if (file_ == nullptr) {
    return {};
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && failed_errno_ == 0) {
    failed_errno_ = errno;
  }
  const std::string partial = path_ + ".partial";
  if (failed_errno_ == 0 && std::rename(partial.c_str(), path_.c_str()) != 0) {
    failed_errno_ = errno;
  }
  if (failed_errno_ != 0) {
    std::remove(partial.c_str());
    return make_error(ErrorCode::kInvalidArgument,
                      "%s %s: %s; nothing was kept, choose another place", what_.c_str(),
                      path_.c_str(), std::strerror(failed_errno_));
  }
  return {};
}

}  // namespace hobnob
