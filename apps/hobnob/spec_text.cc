#include "apps/hobnob/spec_text.h"

#include <cmath>

#include "runtime/base/text.h"

namespace hobnob {

namespace {

Json spec_value(const std::string& text) {
  if (text == "true" || text == "false") {
    return text == "true";
  }
  if (const auto integer = parse_number<std::int64_t>(text)) {
    return *integer;
  }
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? Json(*number) : Json(text);
}

}  // namespace

Result<Json> read_spec_text(const std::string& text,
                            const std::string& what,
                            const std::string& example) {
  const std::size_t colon = text.find(':');
  Json json;
  json.set("kind", text.substr(0, colon));
  if (colon == std::string::npos) {
    return json;
  }
  for (const std::string& each : split(text.substr(colon + 1), ',')) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      return make_error(ErrorCode::kInvalidArgument,
                        "%s %s: cannot read \"%s\"; write KIND:key=value, such as %s", what.c_str(),
                        text.c_str(), each.c_str(), example.c_str());
    }
    const std::string key = each.substr(0, equals);
    if (json.find(key) != nullptr) {
      return make_error(ErrorCode::kInvalidArgument, "%s %s: %s stands twice", what.c_str(),
                        text.c_str(), key.c_str());
    }
    json.set(key, spec_value(each.substr(equals + 1)));
  }
  return json;
}

}  // namespace hobnob
