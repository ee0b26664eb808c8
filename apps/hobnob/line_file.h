#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "runtime/base/result.h"

namespace hobnob {

// A file of lines that appears under its name only when close() succeeds; until then it is
// NAME.partial, and a full disk or an interruption leaves nothing behind. An empty path takes lines
// and keeps none.
class LineFile {
 public:
  static Result<std::unique_ptr<LineFile>> open(const std::string& path, const std::string& what);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void write(const std::string& line);
  // Reports the first write that failed, too.
  Result<void> close();

 private:
  LineFile(std::string path, std::string what, std::FILE* file);

  std::string path_;
  std::string what_;
  std::FILE* file_;
  int failed_errno_ = 0;
};

}  // namespace hobnob
