#pragma once

#include <string>
#include <utility>
#include <variant>

#include "runtime/base/check.h"

// Failures of the world (peer, socket, file, config, frame). A bug is a HOBNOB_CHECK, never a
// Result.

namespace hobnob {

// Says what the caller should do, not what went wrong; the message says what went wrong.
enum class ErrorCode {
  kInvalidArgument,  // the user must change something
  kMalformed,        // drop what the peer sent
  kUnavailable,      // try again later
  kTimeout,          // gave up waiting
  kCancelled,        // somebody asked to stop
  kIo,               // the machine refused
};

struct Error {
  ErrorCode code;
  std::string message;  // "what failed: why", lower case, one line
};

// printf into a std::string (GCC 12 has no std::format).
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

[[gnu::format(printf, 2, 3)]] Error make_error(ErrorCode code, const char* pattern, ...);

template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` and `return error;` both convert.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }

  const T& value() const& {
    HOBNOB_CHECK(ok(), "value() of a failed result");
    return std::get<0>(state_);
  }

  T& value() & {
    HOBNOB_CHECK(ok(), "value() of a failed result");
    return std::get<0>(state_);
  }

  T&& value() && {
    HOBNOB_CHECK(ok(), "value() of a failed result");
    return std::get<0>(std::move(state_));
  }

  const Error& error() const {
    HOBNOB_CHECK(!ok(), "error() of a good result");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;

  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }

  const Error& error() const {
    HOBNOB_CHECK(!ok_, "error() of a good result");
    return error_;
  }

 private:
  Error error_{ErrorCode::kIo, {}};
  bool ok_ = true;
};

}  // namespace hobnob
