#pragma once

// HOBNOB_CHECK: a bug in this program, always on; prints where and why, then aborts.

namespace hobnob {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* text);

}  // namespace hobnob

#define HOBNOB_CHECK(condition, text)                               \
  do {                                                              \
    if (!(condition)) [[unlikely]] {                                \
      ::hobnob::check_failed(__FILE__, __LINE__, #condition, text); \
    }                                                               \
  } while (false)
