#include "analysis/report/views/ranks_view.h"

#include <algorithm>
#include <string>

#include "analysis/metrics/run/activity_window.h"
#include "analysis/model/row_values.h"
#include "analysis/report/json.h"
#include "analysis/report/views/json_values.h"

namespace lockstep {
namespace {

Json NumberOrNull(int64_t value) { return value < 0 ? Json(nullptr) : Json(value); }

// "ProfilerStep" of "ProfilerStep#12".
std::string_view NameWithoutNumber(const AnalysisContext& context, const StepRow& step) {
  if (step.name >= context.run.names.size()) return {};
  std::string_view name = context.run.names[step.name];
  const size_t end = name.find_last_not_of("0123456789");
  name = name.substr(0, end == std::string_view::npos ? 0 : end + 1);
  while (!name.empty() && (name.back() == '#' || name.back() == ' ')) name.remove_suffix(1);
  return name;
}

Json StepsOf(const AnalysisContext& context, const SourceData& source) {
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
  Json out;
  out["first"] = count == 0 ? Json(nullptr) : Json(first);
  out["last"] = count == 0 ? Json(nullptr) : Json(last);
  out["count"] = count;
  // Ranges of many names, as the passes of a serving engine have, are just that.
  const bool named = one_name && !marked_by.empty();
  out["source"] = TextOrNull(named ? marked_by : Name(source.context.step_source));
  return out;
}

HostSource HostSourceOf(const AnalysisContext& context, size_t rank_index) {
  const auto& refined = context.match.host_sources;
  return rank_index < refined.size() ? refined[rank_index] : context.ranks.ranks[rank_index].host_source;
}

Json VersionsOf(const SourceContext& c) {
  Json out = Json::object();
  for (const auto& [component, version] : c.versions) out[component] = version;
  return out;
}

void AddWhere(const AnalysisContext& context, size_t rank_index, Json& row) {
  const ResolvedRank& rank = context.ranks.ranks[rank_index];
  const SourceContext& c = context.SourceOf(rank_index).context;
  row["rank"] = rank.rank;
  row["rank_source"] = std::string(Name(rank.rank_source));
  row["host"] = TextOrNull(rank.host);
  row["host_source"] = std::string(Name(HostSourceOf(context, rank_index)));
  row["domain"] = context.match.clock.DomainOf(static_cast<int32_t>(rank_index)).value;
  row["capture"] = rank.capture;
  row["device"] = NumberOrNull(c.device);
  row["pid"] = NumberOrNull(c.pid);
  row["gpu_name"] = TextOrNull(c.gpu.name);
  row["gpu_uuid"] = TextOrNull(c.gpu.uuid);
  row["pci_bus"] = TextOrNull(c.gpu.pci_bus);
}

Json RankRowOf(const AnalysisContext& context, size_t rank_index) {
  const SourceData& source = context.SourceOf(rank_index);
  const SourceContext& c = source.context;
  Json row;
  AddWhere(context, rank_index, row);
  row["format"] = TextOrNull(c.format);
  row["tool_version"] = TextOrNull(c.tool_version);
  row["versions"] = VersionsOf(c);
  row["path"] = TextOrNull(c.path);
  const ActivityWindow window = WindowOf(c);
  row["start_unix_ns"] = window.active ? Json(std::to_string(window.start_ns)) : Json(nullptr);
  row["span_ns"] = window.active ? Json(window.end_ns - window.start_ns) : Json(nullptr);
  row["kernels"] = c.kernels;
  row["collectives"] = c.collectives;
  row["copies"] = c.memcpys + c.memsets;
  row["steps"] = StepsOf(context, source);
  row["complete"] = source.complete;
  return row;
}

}  // namespace

Json RanksView(const AnalysisContext& context) {
  Json out = Json::array();
  for (size_t i = 0; i < context.ranks.ranks.size(); ++i) {
    if (context.selected_ranks[i]) out.push_back(RankRowOf(context, i));
  }
  for (const std::string& note : context.ranks.notes) context.notices.push_back({"ranks", note});
  return out;
}

}  // namespace lockstep
