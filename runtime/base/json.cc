#include "runtime/base/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace hobnob {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered to_library(const Json& value, bool sorted) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return nullptr;
    case Json::Kind::kBool:
      return value.boolean();
    case Json::Kind::kInteger:
      return value.integer();
    case Json::Kind::kNumber:
      return value.number();
    case Json::Kind::kText:
      return value.text();
    case Json::Kind::kArray: {
      Ordered array = Ordered::array();
      for (const Json& item : value.array()) {
        array.push_back(to_library(item, sorted));
      }
      return array;
    }
    case Json::Kind::kObject:
      break;
  }
  Json::Object members = value.object();
  if (sorted) {
    std::ranges::sort(members, {}, &Json::Member::first);
  }
  Ordered object = Ordered::object();
  for (const auto& [key, member] : members) {
    object[key] = to_library(member, sorted);
  }
  return object;
}

// Walks the text for the library's parser and leaves word of how far it is.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}

  reference operator*() const { return *at_; }

  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }

  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// Builds a Json from the library's events, so that duplicate keys and depth are seen as they come.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(Json()); }

  bool boolean(bool value) override { return add(value); }

  bool number_integer(std::int64_t value) override { return add(value); }

  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      return stop("number above 2^63 - 1");
    }
    return add(static_cast<std::int64_t>(value));
  }

  bool number_float(double value, const std::string& /*text*/) override { return add(value); }

  bool string(std::string& value) override { return add(value); }

  bool binary(nlohmann::json::binary_t& /*value*/) override { return stop("binary value"); }

  bool start_object(std::size_t /*size*/) override { return open(Json(Json::Object{})); }

  bool key(std::string& value) override {
    if (open_.back().find(value) != nullptr) {
      return stop("key \"" + value + "\" twice in one object");
    }
    open_.back().set(value, Json());
    keys_.back() = value;
    return true;
  }

  bool end_object() override { return close(); }

  bool start_array(std::size_t /*size*/) override { return open(Json(Json::Array{})); }

  bool end_array() override { return close(); }

  bool parse_error(std::size_t /*position*/,
                   const std::string& /*token*/,
                   const nlohmann::detail::exception& /*why*/) override {
    return stop("not valid JSON");
  }

  Json take() { return std::move(root_); }

  const std::string& problem() const { return problem_; }

 private:
  bool stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool open(Json value) {
    if (open_.size() >= static_cast<std::size_t>(Json::kMaxDepth)) {
      return stop(format("nesting deeper than %d", Json::kMaxDepth));
    }
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    Json value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().push(std::move(value));
    } else {
      open_.back().set(keys_.back(), std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Json> open_;
  std::vector<std::string> keys_;
  std::string problem_;
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string join_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string shown(double value) {
  return format("%g", value);
}

}  // namespace

double Json::number() const {
  return is_integer() ? static_cast<double>(integer()) : std::get<double>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) {
    return nullptr;
  }
  const auto found = std::ranges::find(object(), key, &Member::first);
  return found == object().end() ? nullptr : &found->second;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) {
    value_ = Object{};
  }
  auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, key, &Member::first);
  if (found == members.end()) {
    members.emplace_back(std::string(key), std::move(value));
  } else {
    found->second = std::move(value);
  }
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) {
    value_ = Array{};
  }
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

std::string Json::dump(int indent) const {
  return to_library(*this, false).dump(indent, ' ', false, Ordered::error_handler_t::replace);
}

std::string Json::canonical() const {
  return to_library(*this, true).dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

Result<Json> parse_json(std::string_view text, std::string_view name) {
  const std::string source(name);
  if (text.size() > Json::kMaxTextBytes) {
    return make_error(ErrorCode::kInvalidArgument, "%s: %zu bytes of JSON; the limit is %zu",
                      source.c_str(), text.size(), Json::kMaxTextBytes);
  }
  Builder builder;
  const char* reached = text.data();
  if (nlohmann::json::sax_parse(CountingIterator(text.data(), &reached),
                                CountingIterator(text.data() + text.size(), &reached), &builder)) {
    return builder.take();
  }
  // The character read last is the one that did not fit.
  const auto position = std::max(reached - text.data(), std::ptrdiff_t{1}) - 1;
  const auto line = 1 + std::count(text.data(), text.data() + position, '\n');
  return make_error(ErrorCode::kInvalidArgument, "%s:%td: %s near byte %td", source.c_str(), line,
                    builder.problem().c_str(), position);
}

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
  return join_path(path_, key);
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

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string first_difference(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object()) {
    return a.canonical() == b.canonical() ? "" : "(value)";
  }
  std::vector<std::string> keys;
  for (const Json* side : {&a, &b}) {
    for (const auto& [key, value] : side->object()) {
      keys.push_back(key);
    }
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys) {
    const Json* in_a = a.find(key);
    const Json* in_b = b.find(key);
    const std::string deeper =
        first_difference(in_a == nullptr ? Json() : *in_a, in_b == nullptr ? Json() : *in_b);
    if (!deeper.empty()) {
      return deeper == "(value)" ? key : key + "." + deeper;
    }
  }
  return "";
}

}  // namespace hobnob
