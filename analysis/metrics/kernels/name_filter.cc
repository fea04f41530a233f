#include "analysis/metrics/kernels/name_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {
namespace {

// Names longer than this are matched by their beginning only.
constexpr size_t kMaxMatchedLength = 4'096;
// The breadth-first matcher: polynomial time and no recursion per character, whatever the pattern; no back references.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

}  // namespace

absl::StatusOr<NameFilter> NameFilter::Make(const RunData& run, const std::string& pattern) {
  if (pattern.empty()) return NameFilter(run, std::nullopt);
  if (pattern.size() > kMaxPatternLength) {
    return absl::InvalidArgumentError(fmt::format("--kernels: the pattern has {} characters, at most {} are accepted",
                                                  pattern.size(), kMaxPatternLength));
  }
  try {
    return NameFilter(run, std::regex(pattern, kSyntax));
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("--kernels: '{}' is no regular expression (ECMAScript syntax without back references): {}", pattern,
                    error.what()));
  }
}

absl::StatusOr<bool> NameFilter::Passes(uint32_t name) {
  if (!pattern_) return true;
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  const std::string& text = NameOf(*run_, name);
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), kMaxMatchedLength));
  try {
    return known_[name] = std::regex_search(text.begin(), end, *pattern_);
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("--kernels: the pattern is too complex for the name '{:.80}': {}", text, error.what()));
  }
}

}  // namespace lockstep
