#include "analysis/base/name_pattern.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

// Names longer than this are matched by their beginning only.
constexpr size_t kMaxMatchedLength = 4'096;
// The breadth-first matcher: polynomial time and no recursion per character, whatever the pattern; no back references.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

}  // namespace

absl::StatusOr<NamePattern> NamePattern::Make(std::string_view pattern, std::string_view origin) {
  if (pattern.size() > kMaxPatternLength) {
    return absl::InvalidArgumentError(fmt::format("{}: the pattern has {} characters, at most {} are accepted", origin,
                                                  pattern.size(), kMaxPatternLength));
  }
  try {
    return NamePattern(std::regex(pattern.begin(), pattern.end(), kSyntax), origin);
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: '{}' is no regular expression (ECMAScript syntax without back references): {}", origin,
                    pattern, error.what()));
  }
}

absl::StatusOr<bool> NamePattern::IsIn(std::string_view name) const {
  const std::string_view read = name.substr(0, kMaxMatchedLength);
  try {
    return std::regex_search(read.begin(), read.end(), pattern_);
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the pattern is too complex for the name '{:.80}': {}", origin_, name, error.what()));
  }
}

}  // namespace lockstep
