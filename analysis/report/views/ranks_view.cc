#include "analysis/report/views/views.h"

#include <algorithm>
#include <string>

#include "analysis/metrics/run/activity_window.h"
#include "analysis/model/row_values.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

// "ProfilerStep" of "ProfilerStep#12".
std::string_view NameWithoutNumber(const AnalysisContext& context, const StepRow& step) {
  if (step.name >= context.run.names.size()) return {};
  std::string_view name = context.run.names[step.name];
  const size_t end = name.find_last_not_of("0123456789");
  name = name.substr(0, end == std::string_view::npos ? 0 : end + 1);
  while (!name.empty() && (name.back() == '#' || name.back() == ' ')) name.remove_suffix(1);
  return name;
}

report::StepsOfRank StepsOf(const AnalysisContext& context, const SourceData& source) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  int64_t count = 0;
  std::string_view marked_by;
  bool one_name = true;
  for (const StepRow& step : source.steps) {
    if (step.step == kNoStep) continue;
    first = std::min(first, step.step);
    last = std::max(last, step.step);
    ++count;
    const std::string_view name = NameWithoutNumber(context, step);
    if (marked_by.empty()) marked_by = name;
    one_name = one_name && name == marked_by;
  }
  // Ranges of many names, as the passes of a serving engine have, are just that.
  const bool named = one_name && !marked_by.empty();
  return {KnownIf(count > 0, first), KnownIf(count > 0, last), count,
          TextIfAny(named ? marked_by : Name(source.context.step_source))};
}

HostSource HostSourceOf(const AnalysisContext& context, size_t rank_index) {
  const auto& refined = context.match.host_sources;
  return rank_index < refined.size() ? refined[rank_index] : context.ranks.ranks[rank_index].host_source;
}

// What is known of the rank's place.
void FillWhere(const AnalysisContext& context, size_t rank_index, report::RankRow& row) {
  const ResolvedRank& rank = context.ranks.ranks[rank_index];
  const SourceContext& c = context.SourceOf(rank_index).context;
  row.rank = rank.rank;
  row.rank_source = Name(rank.rank_source);
  row.host = TextIfAny(rank.host);
  row.host_source = Name(HostSourceOf(context, rank_index));
  row.domain = context.match.clock.DomainOf(static_cast<int32_t>(rank_index)).value;
  row.capture = rank.capture;
  row.device = IdIfAny(c.device);
  row.pid = IdIfAny(c.pid);
  row.gpu_name = TextIfAny(c.gpu.name);
  row.gpu_uuid = TextIfAny(c.gpu.uuid);
  row.pci_bus = TextIfAny(c.gpu.pci_bus);
}

report::RankRow RankRowOf(const AnalysisContext& context, size_t rank_index) {
  const SourceData& source = context.SourceOf(rank_index);
  const SourceContext& c = source.context;
  report::RankRow row;
  FillWhere(context, rank_index, row);
  row.format = TextIfAny(c.format);
  row.tool_version = TextIfAny(c.tool_version);
  row.versions.assign(c.versions.begin(), c.versions.end());
  row.path = TextIfAny(c.path);
  const ActivityWindow window = WindowOf(c);
  row.start_unix_ns = KnownIf(window.active, report::Digits(window.start_ns));
  row.span_ns = KnownIf(window.active, report::Count(window.end_ns - window.start_ns));
  row.kernels = c.kernels;
  row.collectives = c.collectives;
  row.copies = c.memcpys + c.memsets;
  row.steps = StepsOf(context, source);
  row.complete = source.complete;
  return row;
}

}  // namespace

std::vector<report::RankRow> RanksView(const AnalysisContext& context) {
  std::vector<report::RankRow> rows;
  for (size_t i = 0; i < context.ranks.ranks.size(); ++i) {
    if (context.selected_ranks[i]) rows.push_back(RankRowOf(context, i));
  }
  for (const std::string& note : context.ranks.notes) context.notices.push_back({"ranks", note});
  return rows;
}

}  // namespace lockstep
