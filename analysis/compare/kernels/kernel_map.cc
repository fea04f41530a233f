#include "analysis/compare/kernels/kernel_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/base/ascii.h"
#include "analysis/base/status_macros.h"
#include "analysis/compare/kernels/kernel_identity.h"
#include "analysis/model/kernel_name.h"

namespace lockstep::compare {
namespace {

constexpr std::string_view kMapSeparator = " = ";
// A map is written by hand; each line is compared with each kernel.
constexpr size_t kMostMapLines = 1'000;

absl::Status MapError(std::string_view origin, size_t line, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: line {}: {}", origin, line, what));
}

// Ends of the quoted name at the beginning of the text; npos when the text does not begin with one.
size_t EndOfQuotedName(std::string_view text) {
  if (!text.starts_with('"')) return std::string_view::npos;
  const size_t close = text.find('"', 1);
  return close == std::string_view::npos ? close : close + 1;
}

std::string_view Unquoted(std::string_view name) {
  const bool quoted = name.size() >= 2 && name.front() == '"' && EndOfQuotedName(name) == name.size();
  return quoted ? name.substr(1, name.size() - 2) : name;
}

absl::StatusOr<std::pair<std::string_view, std::string_view>> SidesOfLine(std::string_view text,
                                                                          std::string_view origin, size_t line) {
  size_t at = EndOfQuotedName(text);
  const bool quoted = at != std::string_view::npos && text.substr(at).starts_with(kMapSeparator);
  if (!quoted) at = text.find(kMapSeparator);
  if (at == std::string_view::npos) {
    return MapError(origin, line, fmt::format("'{:.80}' has no ' = ' between the old and the new name", text));
  }
  const std::string_view right = Trimmed(text.substr(at + kMapSeparator.size()), " \t");
  if (right.find(kMapSeparator) != std::string_view::npos && Unquoted(right).size() == right.size()) {
    return MapError(origin, line, "there is more than one ' = '; put a name that has one in itself in double quotes");
  }
  const std::string_view left = Trimmed(text.substr(0, at), " \t");
  if (left.empty() || left == "\"\"") return MapError(origin, line, "the old name is empty");
  if (right.empty() || right == "\"\"") return MapError(origin, line, "the new name is empty");
  return std::pair(left, right);
}

absl::StatusOr<KernelMapLine> ReadMapLine(std::string_view text, std::string_view origin, size_t line) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto sides, SidesOfLine(text, origin, line));
  KernelMapLine out{.line = line, .before = {}, .pattern = std::nullopt, .after = std::string(Unquoted(sides.second))};
  const std::string_view left = sides.first;
  if (!left.starts_with('/')) {
    out.before = Unquoted(left);
    return out;
  }
  if (left.size() < 3 || !left.ends_with('/')) {
    return MapError(origin, line,
                    fmt::format("'{:.80}' begins as a /regular expression/, but is empty or lacks the "
                                "'/' at its end",
                                left));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      out.pattern, NamePattern::Make(left.substr(1, left.size() - 2), fmt::format("{}: line {}", origin, line)));
  return out;
}

bool IsNameOrBase(std::string_view given, std::string_view name) {
  return name == given || SplitKernelName(name.substr(0, kMostReadOfName)).base == given;
}

}  // namespace

absl::StatusOr<KernelMap> KernelMap::Parse(std::string_view text, std::string_view origin) {
  KernelMap out;
  std::map<std::string, std::pair<std::string, size_t>> known;  // old name -> its new name and the line that says so
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end), " \t\r");
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    LOCKSTEP_ASSIGN_OR_RETURN(KernelMapLine read, ReadMapLine(line, origin, number));
    if (!read.pattern) {
      const auto [entry, is_new] = known.try_emplace(read.before, read.after, number);
      if (!is_new && entry->second.first != read.after) {
        return MapError(origin, number,
                        fmt::format("line {} maps '{:.80}' to another kernel, '{:.80}'", entry->second.second,
                                    read.before, entry->second.first));
      }
    }
    if (out.lines_.size() == kMostMapLines) {
      return MapError(origin, number, fmt::format("at most {} lines with names are accepted", kMostMapLines));
    }
    out.lines_.push_back(std::move(read));
  }
  return out;
}

absl::StatusOr<bool> SpeaksOfOld(const KernelMapLine& line, std::string_view name) {
  return line.pattern ? line.pattern->IsIn(name) : absl::StatusOr<bool>(IsNameOrBase(line.before, name));
}

bool SpeaksOfNew(const KernelMapLine& line, std::string_view name) { return IsNameOrBase(line.after, name); }

}  // namespace lockstep::compare
