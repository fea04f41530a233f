#include "cli/time_windows.h"

#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/match/run_matcher.h"
#include "platform/executor.h"

namespace lockstep {

absl::StatusOr<std::vector<FileSelection::Window>> TimeWindows(JobStore& store, const std::string& run,
                                                               const AnalysisOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedRun loaded, store.LoadRun(run));
  const RankResolution ranks = ResolveRanks(loaded.data, options);
  ThreadPool threads(0);
  LOCKSTEP_ASSIGN_OR_RETURN(const MatchResult match, MatchRun(loaded.data, *loaded.instances, ranks, threads));
  const Fleet fleet = MakeFleet(loaded.data, ranks, match, options);
  std::vector<FileSelection::Window> windows;
  for (const FleetRank& member : fleet.members) {
    const SourceContext& context = member.source->context;
    if (const auto window = fleet.TimeWindowOf(member)) {
      windows.push_back({context.path, context.pid, context.device, window->first, window->second});
    }
  }
  return windows;
}

}  // namespace lockstep
