#pragma once

#include <string_view>

// One line per event on stderr: error = cannot go on, warn = degraded, info = per-object events,
// debug = per message. Text is lower case, "word value", the cause and not a guess. Numbers over
// time are metrics, not logs.

namespace hobnob {

enum class LogLevel { kError = 0, kWarn = 1, kInfo = 2, kDebug = 3 };

// The only mutable globals of the library: level and the name put before each line (thread-safe).
void set_log_level(LogLevel level);
void set_log_name(std::string_view name);

[[gnu::format(printf, 1, 2)]] void log_error(const char* pattern, ...);
[[gnu::format(printf, 1, 2)]] void log_warn(const char* pattern, ...);
[[gnu::format(printf, 1, 2)]] void log_info(const char* pattern, ...);
[[gnu::format(printf, 1, 2)]] void log_debug(const char* pattern, ...);

}  // namespace hobnob
