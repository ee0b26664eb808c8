#include "runtime/base/object_reader.h"

#include <algorithm>

#include "runtime/base/nearest_word.h"

namespace hobnob {

namespace {

std::string shown(double value) {
  return format("%g", value);
}

}  // namespace

ObjectReader::ObjectReader(const Json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    problem_ = make_error(ErrorCode::kInvalidArgument, "%s: expected an object {...}",
                          path_.empty() ? "document" : path_.c_str());
    object_ = Json(Json::Object{});
  }
}

const Json* ObjectReader::take(std::string_view key) {
  asked_.emplace_back(key);
  return object_.find(key);
}

bool ObjectReader::has(std::string_view key) {
  return take(key) != nullptr;
}

std::string ObjectReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void ObjectReader::fail(std::string_view key, std::string_view problem) {
  if (problem_.ok()) {
    problem_ = make_error(ErrorCode::kInvalidArgument, "%s: %s", path_of(key).c_str(),
                          std::string(problem).c_str());
  }
}

std::string ObjectReader::text(std::string_view key, std::string fallback) {
  const Json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_text()) {
    fail(key, "expected a text in quotes, got " + value->dump());
    return fallback;
  }
  return value->text();
}

std::string ObjectReader::choice(std::string_view key,
                                 std::string fallback,
                                 const std::vector<std::string>& choices) {
  std::string value = text(key, fallback);
  if (std::ranges::find(choices, value) != choices.end()) {
    return value;
  }
  std::string list;
  for (const std::string& each : choices) {
    list += (list.empty() ? "" : ", ") + each;
  }
  const std::string near = nearest_word(value, choices);
  fail(key, "unknown \"" + value + "\"" + (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
                " (known: " + list + ")");
  return fallback;
}

std::int64_t ObjectReader::integer(std::string_view key,
                                   std::int64_t fallback,
                                   std::int64_t low,
                                   std::int64_t high) {
  const Json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_integer()) {
    fail(key, "expected a whole number, got " + value->dump());
    return fallback;
  }
  if (value->integer() < low || value->integer() > high) {
    fail(key, format("%lld is out of range [%lld, %lld]", static_cast<long long>(value->integer()),
                     static_cast<long long>(low), static_cast<long long>(high)));
    return fallback;
  }
  return value->integer();
}

double ObjectReader::number(std::string_view key, double fallback, double low, double high) {
  const Json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number()) {
    fail(key, "expected a number, got " + value->dump());
    return fallback;
  }
  if (!(value->number() >= low && value->number() <= high)) {
    fail(key,
         shown(value->number()) + " is out of range [" + shown(low) + ", " + shown(high) + "]");
    return fallback;
  }
  return value->number();
}

bool ObjectReader::boolean(std::string_view key, bool fallback) {
  const Json* value = take(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_bool()) {
    fail(key, "expected true or false, got " + value->dump());
    return fallback;
  }
  return value->boolean();
}

std::vector<std::int64_t> ObjectReader::integers(std::string_view key,
                                                 std::int64_t low,
                                                 std::int64_t high) {
  const Json* value = take(key);
  std::vector<std::int64_t> list;
  if (value == nullptr) {
    return list;
  }
  if (!value->is_array()) {
    fail(key, "expected a list of whole numbers, got " + value->dump());
    return list;
  }
  for (const Json& item : value->array()) {
    if (!item.is_integer() || item.integer() < low || item.integer() > high) {
      fail(key,
           format("expected whole numbers in [%lld, %lld], got %s", static_cast<long long>(low),
                  static_cast<long long>(high), item.dump().c_str()));
      return {};
    }
    list.push_back(item.integer());
  }
  return list;
}

std::vector<std::vector<double>> ObjectReader::matrix(std::string_view key) {
  const Json* value = take(key);
  std::vector<std::vector<double>> rows;
  if (value == nullptr) {
    return rows;
  }
  if (!value->is_array()) {
    fail(key, "expected a matrix [[...], ...]");
    return rows;
  }
  for (const Json& row : value->array()) {
    std::vector<double> numbers;
    if (row.is_array()) {
      for (const Json& item : row.array()) {
        if (item.is_number()) {
          numbers.push_back(item.number());
        }
      }
    }
    if (!row.is_array() || numbers.empty() || numbers.size() != row.array().size() ||
        (!rows.empty() && rows[0].size() != numbers.size())) {
      fail(key, format("row %zu is not a list of numbers as long as the first", rows.size()));
      return {};
    }
    rows.push_back(std::move(numbers));
  }
  return rows;
}

Json ObjectReader::any(std::string_view key) {
  const Json* value = take(key);
  return value == nullptr ? Json() : *value;
}

Json ObjectReader::object(std::string_view key) {
  const Json* value = take(key);
  if (value == nullptr) {
    return Json(Json::Object{});
  }
  if (!value->is_object()) {
    fail(key, "expected an object {...}, got " + value->dump());
    return Json(Json::Object{});
  }
  return *value;
}

void ObjectReader::adopt(const Result<void>& nested) {
  if (problem_.ok()) {
    problem_ = nested;
  }
}

Result<void> ObjectReader::finish() {
  if (!problem_.ok()) {
    return problem_;
  }
  for (const auto& [key, value] : object_.object()) {
    if (std::ranges::find(asked_, key) != asked_.end()) {
      continue;
    }
    const std::string near = nearest_word(key, asked_);
    fail(key, "unknown key" + (near.empty() ? std::string("; remove it")
                                            : "; did you mean \"" + path_of(near) + "\"?"));
    return problem_;
  }
  return {};
}

}  // namespace hobnob
