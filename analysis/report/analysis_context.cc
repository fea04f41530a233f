#include "analysis/report/analysis_context.h"

#include <algorithm>

#include "analysis/base/status_macros.h"
#include "analysis/condense/selection.h"
#include "analysis/metrics/kernels/name_filter.h"

namespace lockstep {
namespace {

bool HasSelectedRank(const AnalysisContext& context, const MatchedInstance& instance) {
  return std::any_of(instance.members.begin(), instance.members.end(),
                     [&](const MatchedMember& m) { return context.selected_ranks[static_cast<size_t>(m.rank_index)]; });
}

// The step of that number has the name that --nvtx asks for.
bool StepHasName(const AnalysisContext& context, const MatchedInstance& instance) {
  const SourceData& source = context.SourceOf(static_cast<size_t>(instance.members.front().rank_index));
  return std::any_of(source.steps.begin(), source.steps.end(), [&](const StepRow& row) {
    return row.step == instance.step && row.name < context.run.names.size() &&
           IsRangeAskedFor(context.options.nvtx, context.run.names[row.name]);
  });
}

bool InTime(const AnalysisContext& context, const MatchedInstance& instance) {
  int64_t start = INT64_MAX;
  for (const MatchedMember& m : instance.members) start = std::min(start, m.start_ns);
  const int64_t since_start = start - context.run_start_ns;
  return since_start >= context.options.time_ns->first && since_start < context.options.time_ns->second;
}

bool HasPassingName(const AnalysisContext& context, const MatchedInstance& instance) {
  return std::any_of(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
    const std::vector<bool>& rows = context.named_rows[static_cast<size_t>(m.rank_index)];
    return m.row >= 0 && static_cast<size_t>(m.row) < rows.size() && rows[static_cast<size_t>(m.row)];
  });
}

}  // namespace

absl::StatusOr<std::vector<std::vector<bool>>> NamedRows(const RunData& run, InstanceSource& instances,
                                                         const RankResolution& ranks, const std::string& pattern) {
  std::vector<std::vector<bool>> named;
  if (pattern.empty()) return named;
  LOCKSTEP_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Make(run, pattern));
  for (const ResolvedRank& rank : ranks.ranks) {
    named.emplace_back();
    LOCKSTEP_ASSIGN_OR_RETURN(auto stream, instances.Open(rank.source, InstanceSource::kAllCommunicators));
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<InstanceRow> block, stream->Next());
      if (block.empty()) break;
      for (const InstanceRow& row : block) {
        LOCKSTEP_ASSIGN_OR_RETURN(const bool passes, filter.Passes(row.name));
        named.back().push_back(passes);
      }
    }
  }
  return named;
}

bool Selects(const AnalysisContext& context, const MatchedInstance& instance) {
  const AnalysisOptions& options = context.options;
  if (!HasSelectedRank(context, instance)) return false;
  if (!context.named_rows.empty() && !HasPassingName(context, instance)) return false;
  const bool by_step = options.steps.has_value() || !options.nvtx.empty();
  if (by_step && instance.step == kNoStep) return false;
  if (options.steps && (instance.step < options.steps->first || instance.step > options.steps->second)) return false;
  if (!options.nvtx.empty() && !StepHasName(context, instance)) return false;
  return !options.time_ns || InTime(context, instance);
}

}  // namespace lockstep
