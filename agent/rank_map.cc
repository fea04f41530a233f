#include "agent/rank_map.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/base/status_macros.h"
#include "platform/file_system.h"

namespace lockstep {
namespace {

constexpr size_t kColumns = 5;
constexpr std::string_view kHeader = "path,pid,device,rank,host";
constexpr int64_t kMaxFileBytes = int64_t{64} << 20;

std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

// One field, with RFC 4180 quotes; moves `line` behind the comma after it. Null for a quote that never ends.
std::optional<std::string> TakeField(std::string_view& line) {
  std::string field;
  bool quoted = false;
  size_t at = 0;
  for (; at < line.size() && (quoted || line[at] != ','); ++at) {
    if (line[at] != '"') {
      field += line[at];
    } else if (quoted && at + 1 < line.size() && line[at + 1] == '"') {
      field += line[at++];
    } else {
      quoted = !quoted;
    }
  }
  line.remove_prefix(at < line.size() ? at + 1 : at);
  return quoted ? std::nullopt : std::optional(std::move(field));
}

std::optional<std::array<std::string, kColumns>> SplitLine(std::string_view line) {
  std::array<std::string, kColumns> fields;
  for (size_t i = 0; i < kColumns; ++i) {
    const bool more = !line.empty();
    std::optional<std::string> field = TakeField(line);
    if (!field || (!more && i + 1 < kColumns)) {
      return std::nullopt;
    }
    fields[i] = *std::move(field);
  }
  return line.empty() ? std::optional(std::move(fields)) : std::nullopt;
}

template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return good ? std::optional<T>(value) : std::nullopt;
}

// Of a line, for an error: a file that is no rank map may be one line of a megabyte.
std::string_view Beginning(std::string_view line) {
  constexpr size_t kShown = 120;
  return line.substr(0, kShown);
}

absl::Status BadLine(std::string_view name, int64_t line, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}, line {}: {}; needed is {}", name, line, what, kHeader));
}

absl::StatusOr<RankMapRow> ParseLine(std::string_view line, std::string_view name, int64_t number) {
  const auto fields = SplitLine(line);
  if (!fields) {
    return BadLine(name, number, fmt::format("'{}' does not have {} fields", Beginning(line), kColumns));
  }
  const auto& [path, pid, device, rank, host] = *fields;
  RankMapRow row{.path = path, .pid = NumberIn<int64_t>(pid), .device = NumberIn<int32_t>(device), .host = host};
  const std::optional<int32_t> rank_number = NumberIn<int32_t>(rank);
  if (path.empty() || !rank_number || (!row.pid && !pid.empty()) || (!row.device && !device.empty())) {
    return BadLine(
        name, number,
        fmt::format("'{}' needs a path and a rank from 0; pid and device are numbers or empty", Beginning(line)));
  }
  row.rank = *rank_number;
  return row;
}

}  // namespace

absl::StatusOr<std::vector<RankMapRow>> ParseRankMap(std::string_view text, std::string_view name) {
  if (text.starts_with("\xef\xbb\xbf")) {
    text.remove_prefix(3);  // the mark that spreadsheets put before UTF-8
  }
  if (const std::string_view header = TakeLine(text); header != kHeader) {
    return BadLine(name, 1, fmt::format("the header is '{}'", Beginning(header)));
  }
  std::vector<RankMapRow> rows;
  for (int64_t number = 2; !text.empty(); ++number) {
    const std::string_view line = TakeLine(text);
    if (!line.empty()) {
      LOCKSTEP_ASSIGN_OR_RETURN(RankMapRow row, ParseLine(line, name, number));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

absl::StatusOr<std::vector<RankMapRow>> ReadRankMap(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxFileBytes));
  return ParseRankMap(text, path);
}

}  // namespace lockstep
