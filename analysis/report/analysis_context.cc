#include "analysis/report/analysis_context.h"

#include <algorithm>

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
           context.run.names[row.name] == context.options.nvtx;
  });
}

bool InTime(const AnalysisContext& context, const MatchedInstance& instance) {
  int64_t start = INT64_MAX;
  for (const MatchedMember& m : instance.members) start = std::min(start, m.start_ns);
  const int64_t since_start = start - context.run_start_ns;
  return since_start >= context.options.time_ns->first && since_start < context.options.time_ns->second;
}

}  // namespace

bool Selects(const AnalysisContext& context, const MatchedInstance& instance) {
  const AnalysisOptions& options = context.options;
  if (!HasSelectedRank(context, instance)) return false;
  const bool by_step = options.steps.has_value() || !options.nvtx.empty();
  if (by_step && instance.step == kNoStep) return false;
  if (options.steps && (instance.step < options.steps->first || instance.step > options.steps->second)) return false;
  if (!options.nvtx.empty() && !StepHasName(context, instance)) return false;
  return !options.time_ns || InTime(context, instance);
}

}  // namespace lockstep
