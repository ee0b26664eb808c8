#pragma once

#include <string>

#include "runtime/base/result.h"

namespace hobnob {

// The whole file; kInvalidArgument when it cannot be read or is longer than `limit`. `what` says
// what the file should hold: "job", "graph".
Result<std::string> read_file(const std::string& path, const std::string& what, std::size_t limit);

}  // namespace hobnob
