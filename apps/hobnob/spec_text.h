#pragma once

#include <string>

#include "runtime/base/json.h"
#include "runtime/base/result.h"

namespace hobnob {

// What "KIND" or "KIND:key=value,key=value" of a command line would be in a job: an object with
// "kind" and the keys, whose values are numbers, true, false or text. `what` is named in errors,
// `example` is shown in them.
Result<Json> read_spec_text(const std::string& text,
                            const std::string& what,
                            const std::string& example);

}  // namespace hobnob
