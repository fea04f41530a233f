// Log lines on stderr: time, level, message; as text, or as one JSON object a line. Results never go here, and nothing
// is logged by analysis/. Whatever a trace or a stranger put into a message, it stays one line and cannot move a
// cursor: control and direction characters are escaped, bad bytes replaced. Thread safe.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep {

enum class LogLevel : uint8_t { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kOff = 4 };

// "debug", "info", "warning", "error", "off"; nothing else.
[[nodiscard]] std::optional<LogLevel> LogLevelFromName(std::string_view name);

enum class LogFormat : uint8_t { kText = 0, kJson = 1 };
// "text", "json"; nothing else.
[[nodiscard]] std::optional<LogFormat> LogFormatFromName(std::string_view name);
// At first: kText. To be called before other threads log.
void SetLogFormat(LogFormat format);

// The message as it stands in a line; in JSON without the quotes around it. Pure.
[[nodiscard]] std::string LogText(LogFormat format, std::string_view message);

// Messages below this level are dropped. At first: kWarning.
void SetLogLevel(LogLevel level);
[[nodiscard]] bool LogEnabled(LogLevel level);
void Log(LogLevel level, std::string_view message);

template <typename... Args>
void LogAt(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level)) {
    Log(level, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  LogAt(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  LogAt(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  LogAt(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  LogAt(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace lockstep
