// What every view is computed from. Views only read it, and add notices.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"

namespace lockstep {

struct Notice {
  std::string view;
  std::string reason;
  friend auto operator<=>(const Notice&, const Notice&) = default;
};

struct AnalysisContext {
  const RunData& run;
  InstanceSource& instances;
  const AnalysisOptions& options;
  const RankResolution& ranks;
  const RunMatch& match;
  Executor& executor;
  int64_t run_start_ns = 0;          // earliest device activity of the analysed sources, aligned
  std::vector<bool> selected_ranks;  // by rank index: passes --ranks
  std::vector<Notice>& notices;
  std::vector<std::vector<bool>> named_rows = {};  // by rank index and row: passes --kernels; empty = all
  std::vector<std::vector<bool>> range_rows = {};  // by rank index and row: passes --nvtx; none where it is empty

  [[nodiscard]] const SourceData& SourceOf(size_t rank_index) const {
    return run.sources[ranks.ranks[rank_index].source];
  }
};

// Which instances pass --kernels by the name of their kernel; empty without a pattern. Errors: those of the pattern and
// of the instances.
[[nodiscard]] absl::StatusOr<std::vector<std::vector<bool>>> NamedRows(const RunData& run, InstanceSource& instances,
                                                                       const RankResolution& ranks,
                                                                       const std::string& pattern);

// Which instances were launched in a range that --nvtx asks for, and by --steps in one of those numbers, each on its
// own rank; none of ranks that are not selected. Empty without --nvtx. Errors: those of the instances.
[[nodiscard]] absl::StatusOr<std::vector<std::vector<bool>>> RangeRows(const Fleet& fleet, InstanceSource& instances);

// Whether an instance passes --steps, --nvtx, --time, --kernels and --ranks (exact: by step, by any member that was
// launched in such a range, by aligned start, by any member whose kernel passes, by any selected member).
[[nodiscard]] bool Selects(const AnalysisContext& context, const MatchedInstance& instance);

}  // namespace lockstep
