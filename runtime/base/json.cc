#include "runtime/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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
