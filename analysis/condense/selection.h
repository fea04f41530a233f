// What a person restricted, as far as one source's tables are concerned.
//
// Files are condensed with the selection, so that what cannot be cut later (kernels, copies, calls, ranges, launches,
// gaps) holds exactly what was asked for: activities of the chosen steps by launch, and what starts in the chosen time.
// Steps, instances and the interval measures of the steps stay whole: they are cut when they are asked for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/time.h"

namespace lockstep {

// Key of SourceContext::options that marks a source whose tables were condensed with a selection.
inline constexpr std::string_view kSelectedTables = "lockstep.selected_tables";
// Key whose value is the name of the ranges that mark the source's steps, as it was asked for; absent without one.
inline constexpr std::string_view kStepRange = "lockstep.step_range";
// What keys begin with whose values people gave: "lockstep.context.model".
inline constexpr std::string_view kRunContext = "lockstep.context.";

struct CondenseSelection {
  std::optional<std::vector<bool>> steps;              // by position in the source's step table; none = all
  std::optional<std::pair<int64_t, int64_t>> time_ns;  // half open, on the source's axis; none = all
  bool launched_only = false;  // the steps are ranges asked for by name: what has no launch row is in none of them

  [[nodiscard]] bool active() const { return steps.has_value() || time_ns.has_value(); }
  // Something that starts at `start_ns` and belongs to the step at this position (negative: to none).
  [[nodiscard]] bool Has(int32_t step, int64_t start_ns) const {
    if (time_ns && (start_ns < time_ns->first || start_ns >= time_ns->second)) return false;
    if (!steps) return true;
    return step >= 0 && static_cast<size_t>(step) < steps->size() && (*steps)[static_cast<size_t>(step)];
  }
};

// Whether a range of this text in this domain is the one asked for: "name" in any domain, "domain:name" as nsys prints
// ranges, or "name@domain" as nsys takes them.
[[nodiscard]] constexpr bool IsRangeAskedFor(std::string_view asked, std::string_view domain, std::string_view text) {
  if (asked.empty()) return false;
  if (asked == text) return true;
  if (domain.empty() || asked.size() != domain.size() + 1 + text.size()) return false;
  const bool before = asked.starts_with(domain) && asked[domain.size()] == ':' && asked.ends_with(text);
  return before || (asked.starts_with(text) && asked[text.size()] == '@' && asked.ends_with(domain));
}

// The same where the domain is no longer known: that of the ranges condensed as steps was the right one.
[[nodiscard]] constexpr bool IsRangeAskedFor(std::string_view asked, std::string_view text) {
  if (asked == text) return !asked.empty();
  if (text.empty() || asked.size() <= text.size() + 1) return false;
  const size_t domain = asked.size() - text.size() - 1;
  return (asked.ends_with(text) && asked[domain] == ':') || (asked.starts_with(text) && asked[text.size()] == '@');
}

}  // namespace lockstep
