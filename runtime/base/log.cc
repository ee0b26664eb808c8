#include "runtime/base/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>

namespace hobnob {

namespace {

struct Sink {
  std::atomic<int> level{static_cast<int>(LogLevel::kInfo)};
  std::mutex mutex;
  std::string name;  // guarded by mutex
};

Sink& sink() {
  static Sink instance;
  return instance;
}

void write_line(LogLevel level, const char* label, const char* pattern, va_list arguments) {
  Sink& out = sink();
  if (static_cast<int>(level) > out.level.load(std::memory_order_relaxed)) {
    return;
  }
  char text[1024];
  std::vsnprintf(text, sizeof text, pattern, arguments);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  const std::lock_guard lock(out.mutex);
  std::fprintf(stderr, "%02d:%02d:%02d.%03ld %s %s%s%s\n", parts.tm_hour, parts.tm_min,
               parts.tm_sec, now.tv_nsec / 1000000, label, out.name.c_str(),
               out.name.empty() ? "" : ": ", text);
}

}  // namespace

void set_log_level(LogLevel level) {
  sink().level.store(static_cast<int>(level), std::memory_order_relaxed);
}

void set_log_name(std::string_view name) {
  Sink& out = sink();
  const std::lock_guard lock(out.mutex);
  out.name = name;
}

void log_error(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  write_line(LogLevel::kError, "error", pattern, arguments);
  va_end(arguments);
}

void log_warn(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  write_line(LogLevel::kWarn, "warn ", pattern, arguments);
  va_end(arguments);
}

void log_info(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  write_line(LogLevel::kInfo, "info ", pattern, arguments);
  va_end(arguments);
}

void log_debug(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  write_line(LogLevel::kDebug, "debug", pattern, arguments);
  va_end(arguments);
}

}  // namespace hobnob
