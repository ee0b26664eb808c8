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

// Reads one object's members by key, with defaults and bounds, and at the end refuses the keys
// nobody asked for, naming the nearest known one. The first problem wins and is kept; later reads
// give defaults.
class ObjectReader {
 public:
  // `path` names the object in messages ("gossip.codec"; "" is the whole document).
  ObjectReader(const Json& object, std::string path);

  bool has(std::string_view key);
  std::string text(std::string_view key, std::string fallback);
  // One of `choices`.
  std::string choice(std::string_view key,
                     std::string fallback,
                     const std::vector<std::string>& choices);
  std::int64_t integer(std::string_view key,
                       std::int64_t fallback,
                       std::int64_t low,
                       std::int64_t high);
  double number(std::string_view key, double fallback, double low, double high);
  bool boolean(std::string_view key, bool fallback);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t low, std::int64_t high);
  // Rows of equal, nonzero length.
  std::vector<std::vector<double>> matrix(std::string_view key);
  // A null member or a missing one gives a null Json.
  Json any(std::string_view key);
  // A member that is an object, or an empty object.
  Json object(std::string_view key);

  std::string path_of(std::string_view key) const;
  void fail(std::string_view key, std::string_view problem);
  // Adopts the problem a nested reader finished with.
  void adopt(const Result<void>& nested);
  // The first problem, else an unknown key, else success.
  Result<void> finish();

 private:
  const Json* take(std::string_view key);

  Json object_;
  std::string path_;
  std::vector<std::string> asked_;
  Result<void> problem_;
};

// The candidate with the least edit distance to `word`, or empty when none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

// Dotted path of the first place (depth first, sorted keys) where two documents differ; empty if
// equal.
std::string first_difference(const Json& a, const Json& b);

}  // namespace hobnob
