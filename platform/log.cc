#include "platform/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <memory>

namespace lockstep {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

spdlog::logger& Logger() {
  static spdlog::logger logger = [] {
    spdlog::logger made("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made.set_level(spdlog::level::warn);
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return logger;
}

}  // namespace

std::optional<LogLevel> LogLevelFromName(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warning", "error", "off"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<LogLevel>(i);
    }
  }
  return std::nullopt;
}

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

bool LogEnabled(LogLevel level) { return level != LogLevel::kOff && Logger().should_log(ToSpdlog(level)); }

void Log(LogLevel level, std::string_view message) { Logger().log(ToSpdlog(level), "{}", message); }

}  // namespace lockstep
