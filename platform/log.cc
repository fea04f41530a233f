#include "platform/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "analysis/base/utf8.h"

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

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":"%v"})";

std::atomic<LogFormat> log_format{LogFormat::kText};

spdlog::logger& Logger() {
  static spdlog::logger logger = [] {
    spdlog::logger made("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern(kTextPattern, spdlog::pattern_time_type::utc);
    made.set_level(spdlog::level::warn);
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return logger;
}

// What can move a cursor, break a line or turn its direction.
bool IsHarmful(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

// The code point at the start of valid UTF-8, and its bytes.
std::pair<uint32_t, size_t> FirstCode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint32_t code = size == 1 ? lead : lead & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3f);
  return {code, size};
}

}  // namespace

std::string LogText(LogFormat format, std::string_view message) {
  const std::string valid = RepairUtf8(message);
  std::string text;
  for (std::string_view rest = valid; !rest.empty();) {
    const auto [code, size] = FirstCode(rest);
    if (IsHarmful(code)) {
      text += code == '\n' ? "\\n" : fmt::format("\\u{:04x}", code);
    } else {
      if (format == LogFormat::kJson && (code == '"' || code == '\\')) text += '\\';
      text += rest.substr(0, size);
    }
    rest.remove_prefix(size);
  }
  return text;
}

std::optional<LogFormat> LogFormatFromName(std::string_view name) {
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return std::nullopt;
}

void SetLogFormat(LogFormat format) {
  log_format = format;
  Logger().set_pattern(format == LogFormat::kJson ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc);
}

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

void Log(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), "{}", LogText(log_format.load(), message));
}

}  // namespace lockstep
