#include "runtime/base/result.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace hobnob {

namespace {

std::string format_list(const char* pattern, va_list arguments) {
  va_list measure;
  va_copy(measure, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, measure);
  va_end(measure);
  HOBNOB_CHECK(length >= 0, "bad format pattern");
  std::string text(static_cast<std::size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  return text;
}

}  // namespace

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = format_list(pattern, arguments);
  va_end(arguments);
  return text;
}

Error make_error(ErrorCode code, const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  Error error{code, format_list(pattern, arguments)};
  va_end(arguments);
  return error;
}

void check_failed(const char* file, int line, const char* condition, const char* text) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace hobnob
