#include "analysis/metrics/kernels/name_filter.h"

#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

absl::StatusOr<NameFilter> NameFilter::Make(const RunData& run, const std::string& pattern) {
  if (pattern.empty()) return NameFilter(run, std::nullopt);
  LOCKSTEP_ASSIGN_OR_RETURN(NamePattern made, NamePattern::Make(pattern, "--kernels"));
  return NameFilter(run, std::move(made));
}

absl::StatusOr<bool> NameFilter::Passes(uint32_t name) {
  if (!pattern_) return true;
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  LOCKSTEP_ASSIGN_OR_RETURN(const bool passes, pattern_->IsIn(NameOf(*run_, name)));
  return known_[name] = passes;
}

}  // namespace lockstep
