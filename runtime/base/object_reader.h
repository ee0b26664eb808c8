#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"

namespace hobnob {

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

}  // namespace hobnob
