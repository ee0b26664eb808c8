#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/result.h"

namespace hobnob {

// A JSON value. Objects keep their order. Value type; parsing and printing are done by
// nlohmann/json behind it.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  enum class Kind { kNull, kBool, kInteger, kNumber, kText, kArray, kObject };

  Json() = default;

  Json(bool value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  Json(int value)
      : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)

  Json(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  Json(std::uint64_t value)
      : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)

  Json(double value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  Json(const char* value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)

  Json(std::string value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Json(std::string_view value)
      : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)

  Json(Array value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Json(Object value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  Kind kind() const { return static_cast<Kind>(value_.index()); }

  bool is_null() const { return kind() == Kind::kNull; }

  bool is_bool() const { return kind() == Kind::kBool; }

  bool is_integer() const { return kind() == Kind::kInteger; }

  bool is_number() const { return is_integer() || kind() == Kind::kNumber; }

  bool is_text() const { return kind() == Kind::kText; }

  bool is_array() const { return kind() == Kind::kArray; }

  bool is_object() const { return kind() == Kind::kObject; }

  // The value as that kind; another kind is a bug (ask first).
  bool boolean() const { return std::get<bool>(value_); }

  std::int64_t integer() const { return std::get<std::int64_t>(value_); }

  double number() const;

  const std::string& text() const { return std::get<std::string>(value_); }

  const Array& array() const { return std::get<Array>(value_); }

  const Object& object() const { return std::get<Object>(value_); }

  // The member of an object, or null.
  const Json* find(std::string_view key) const;
  // Sets or replaces a member; a null value becomes an object first.
  Json& set(std::string_view key, Json value);
  // Appends to an array; a null value becomes an array first.
  Json& push(Json value);

  // `indent` < 0: one line. Non-finite numbers print as null. Doubles round-trip.
  std::string dump(int indent = -1) const;
  // Keys sorted, one line: equal documents give equal text.
  std::string canonical() const;

  friend bool operator==(const Json&, const Json&) = default;

  static constexpr std::size_t kMaxTextBytes = 16U << 20U;
  static constexpr int kMaxDepth = 32;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// Refuses: more than kMaxTextBytes, deeper than kMaxDepth, a key twice in one object. `name` (a
// file name) and the line are named in the error.
Result<Json> parse_json(std::string_view text, std::string_view name);

// Dotted path of the first place (depth first, sorted keys) where two documents differ; empty if
// equal.
std::string first_difference(const Json& a, const Json& b);

}  // namespace hobnob
