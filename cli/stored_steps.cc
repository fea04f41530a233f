#include "cli/stored_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/condense/selection.h"

namespace lockstep {
namespace {

std::set<std::string> StepRangesOf(const std::vector<SourceContext>& sources) {
  std::set<std::string> ranges;
  for (const SourceContext& source : sources) {
    const auto range = source.options.find(std::string(kStepRange));
    ranges.insert(range == source.options.end() ? "" : range->second);
  }
  return ranges;
}

std::string HowStored(const std::string& range) {
  return range.empty() ? "without --step-range" : fmt::format("with --step-range '{}'", range);
}

}  // namespace

absl::StatusOr<std::string> StepRangeOfRun(JobStore& store, const std::string& run, const std::string& asked) {
  const absl::StatusOr<std::vector<SourceContext>> stored = store.LoadContexts(run);
  if (absl::IsNotFound(stored.status())) return asked;
  LOCKSTEP_RETURN_IF_ERROR(stored.status());
  const std::set<std::string> ranges = StepRangesOf(*stored);
  if (ranges.empty() || (ranges.size() == 1 && *ranges.begin() == asked)) return asked;
  if (asked.empty()) return *ranges.rbegin();
  const std::string& other = *ranges.begin() == asked ? *ranges.rbegin() : *ranges.begin();
  return absl::InvalidArgumentError(fmt::format(
      "--step-range '{}': the run '{}' is stored {} and keeps those steps; --replace reads it again, --run NAME makes "
      "another run",
      asked, run, HowStored(other)));
}

absl::Status CheckStepRange(JobStore& store, const std::string& run, const std::string& asked) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<SourceContext> sources, store.LoadContexts(run));
  const bool found = std::any_of(sources.begin(), sources.end(),
                                 [](const SourceContext& source) { return source.step_source == StepSource::kRange; });
  if (found) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "--step-range '{}': no range or annotation of this name is in the traces; --view nvtx lists those of Nsight "
      "Systems exports",
      asked));
}

}  // namespace lockstep
