#include "analysis/report/analysis_context.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/name_filter.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

bool HasSelectedRank(const AnalysisContext& context, const MatchedInstance& instance) {
  return std::any_of(instance.members.begin(), instance.members.end(),
                     [&](const MatchedMember& m) { return context.selected_ranks[static_cast<size_t>(m.rank_index)]; });
}

bool InTime(const AnalysisContext& context, const MatchedInstance& instance) {
  int64_t start = INT64_MAX;
  for (const MatchedMember& m : instance.members) start = std::min(start, m.start_ns);
  const int64_t since_start = start - context.run_start_ns;
  return since_start >= context.options.time_ns->first && since_start < context.options.time_ns->second;
}

using PassingRows = std::vector<std::vector<bool>>;  // by rank index and row

bool HasPassing(const PassingRows& passing, const MatchedInstance& instance) {
  return std::any_of(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
    if (static_cast<size_t>(m.rank_index) >= passing.size()) return false;
    const std::vector<bool>& rows = passing[static_cast<size_t>(m.rank_index)];
    return m.row >= 0 && static_cast<size_t>(m.row) < rows.size() && rows[static_cast<size_t>(m.row)];
  });
}

// passes(row) -> absl::StatusOr<bool>, of each instance of a source in order.
template <typename Passes>
absl::StatusOr<std::vector<bool>> RowsThatPass(InstanceSource& instances, size_t source, Passes passes) {
  std::vector<bool> rows;
  LOCKSTEP_ASSIGN_OR_RETURN(auto stream, instances.Open(source));
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, stream->Next());
    if (block.empty()) return rows;
    for (const InstanceRow& row : block) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool pass, passes(row));
      rows.push_back(pass);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<std::vector<bool>>> NamedRows(const RunData& run, InstanceSource& instances,
                                                         const RankResolution& ranks, const std::string& pattern) {
  std::vector<std::vector<bool>> named;
  if (pattern.empty()) return named;
  LOCKSTEP_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Make(run, pattern));
  for (const ResolvedRank& rank : ranks.ranks) {
    LOCKSTEP_ASSIGN_OR_RETURN(auto rows, RowsThatPass(instances, rank.source,
                                                      [&](const InstanceRow& row) { return filter.Passes(row.name); }));
    named.push_back(std::move(rows));
  }
  return named;
}

absl::StatusOr<std::vector<std::vector<bool>>> RangeRows(const Fleet& fleet, InstanceSource& instances) {
  std::vector<std::vector<bool>> in_range;
  if (fleet.options.nvtx.empty()) return in_range;
  in_range.resize(fleet.ranks.ranks.size());
  for (const FleetRank& member : fleet.members) {
    std::unordered_set<int64_t> numbers;
    for (const StepRow& row : member.source->steps) {
      if (fleet.SelectsStep(row)) numbers.insert(row.step);
    }
    LOCKSTEP_ASSIGN_OR_RETURN(in_range[member.index], RowsThatPass(instances, fleet.ranks.ranks[member.index].source,
                                                                   [&](const InstanceRow& row) -> absl::StatusOr<bool> {
                                                                     return numbers.contains(row.step);
                                                                   }));
  }
  return in_range;
}

bool Selects(const AnalysisContext& context, const MatchedInstance& instance) {
  const AnalysisOptions& options = context.options;
  if (!HasSelectedRank(context, instance)) return false;
  if (!context.named_rows.empty() && !HasPassing(context.named_rows, instance)) return false;
  if (!options.nvtx.empty()) {
    if (!HasPassing(context.range_rows, instance)) return false;
  } else if (options.steps) {
    if (instance.step == kNoStep) return false;
    if (instance.step < options.steps->first || instance.step > options.steps->second) return false;
  }
  return !options.time_ns || InTime(context, instance);
}

}  // namespace lockstep
