#include "apps/hobnob/read_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace hobnob {

Result<std::string> read_file(const std::string& path, const std::string& what, std::size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return make_error(ErrorCode::kInvalidArgument, "%s %s: %s", what.c_str(), path.c_str(),
                      std::strerror(errno));
  }
  std::string text;
  std::vector<char> block(1 << 16);
  while (file && text.size() <= limit) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad() || (file.fail() && !file.eof())) {
    return make_error(ErrorCode::kInvalidArgument, "%s %s: cannot be read; is it a file?",
                      what.c_str(), path.c_str());
  }
  if (text.size() > limit) {
    return make_error(ErrorCode::kInvalidArgument, "%s %s: longer than %zu bytes", what.c_str(),
                      path.c_str(), limit);
  }
  return text;
}

}  // namespace hobnob
