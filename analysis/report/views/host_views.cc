#include "analysis/report/views/host_views.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/name_filter.h"
#include "analysis/report/json.h"
#include "analysis/report/views/percentiles.h"

namespace lockstep {
namespace {

struct ApiTotal {
  std::set<int32_t> ranks;
  Sketch duration;
  Sketch launch_delay;
};

std::map<std::string, ApiTotal> SumApis(const Fleet& fleet) {
  std::map<std::string, ApiTotal> totals;
  for (const FleetRank& member : fleet.members) {
    for (const ApiRow& row : member.source->apis) {
      ApiTotal& total = totals[NameOf(fleet.run, row.name)];
      total.ranks.insert(member.rank);
      total.duration.Merge(row.duration);
      total.launch_delay.Merge(row.launch_delay);
    }
  }
  return totals;
}

std::string_view StyleName(HostKind kind) {
  switch (kind) {
    case HostKind::kStep:
      return "step";
    case HostKind::kStartEnd:
      return "start_end";
    case HostKind::kMark:
      return "mark";
    case HostKind::kCollective:
      return "collective";
    case HostKind::kRange:
      break;
  }
  return "push_pop";
}

// What the whole capture holds cannot be cut later.
void NotifyOfRestriction(const ViewInput& input, std::string_view view) {
  if (input.fleet.TablesTooWide()) {
    input.Notify(view, "condensed over whole captures: --steps, --time and --nvtx do not restrict this view");
  }
}

void NotifyOfNothing(const ViewInput& input, std::string_view view, std::string_view of_whole_traces) {
  const bool asked_for_less = input.fleet.Restricted() || !input.fleet.options.kernels.empty();
  input.Notify(view, std::string(asked_for_less ? "nothing of it lies in what was asked for" : of_whole_traces));
}

Json KnownOrNull(int64_t id) { return id >= 0 ? Json(id) : Json(nullptr); }

template <typename Row>
void SortByTotal(std::vector<std::pair<Row, int64_t>>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
}

Json Unwrap(std::vector<std::pair<Json, int64_t>> rows) {
  SortByTotal(rows);
  Json list = Json::array();
  for (auto& [row, total] : rows) list.push_back(std::move(row));
  return list;
}

}  // namespace

Json HostView(const ViewInput& input) {
  NotifyOfRestriction(input, "host");
  std::vector<std::pair<Json, int64_t>> rows;
  for (const auto& [name, total] : SumApis(input.fleet)) {
    Json row;
    row["api"] = name;
    row["ranks"] = total.ranks.size();
    row["calls"] = total.duration.count();
    row["total_ns"] = total.duration.sum();
    row["duration_ns"] = Percentiles(total.duration, PercentileMedian::kInclude);
    AddTailRatios(total.duration, row);
    row["launch_delay_ns"] = Percentiles(total.launch_delay);
    row["queue_ns"] = Percentiles(total.launch_delay);  // of which only positive ones are kept
    rows.emplace_back(std::move(row), total.duration.sum());
  }
  if (rows.empty()) NotifyOfNothing(input, "host", "the traces hold no runtime or driver calls");
  return Unwrap(std::move(rows));
}

absl::StatusOr<Json> LaunchesView(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Make(input.fleet.run, input.fleet.options.kernels));
  NotifyOfRestriction(input, "launches");
  std::vector<std::pair<Json, int64_t>> rows;
  for (const FleetRank& member : input.fleet.members) {
    std::map<std::tuple<std::string, std::string, int64_t>, const LaunchRow*> ordered;
    for (const LaunchRow& row : member.source->launches) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool passes, filter.Passes(row.kernel));
      if (passes) ordered[{NameOf(input.fleet.run, row.api), NameOf(input.fleet.run, row.kernel), row.tid}] = &row;
    }
    for (const auto& [key, launch] : ordered) {
      Json row;
      row["api"] = std::get<0>(key);
      row["kernel"] = std::get<1>(key);
      row["rank"] = member.rank;
      row["pid"] = KnownOrNull(member.source->context.pid);
      row["tid"] = KnownOrNull(launch->tid);
      row["device"] = KnownOrNull(member.source->context.device);
      row["count"] = launch->total.count();
      row["queue_count"] = launch->queue_count;
      row["total_ns"] = Percentiles(launch->total, PercentileMedian::kInclude);
      row["api_ns"] = Percentiles(launch->api_time, PercentileMedian::kInclude);
      row["queue_ns"] = Percentiles(launch->queue, PercentileMedian::kInclude);
      row["kernel_ns"] = Percentiles(launch->kernel_time, PercentileMedian::kInclude);
      rows.emplace_back(std::move(row), launch->total.sum());
    }
  }
  if (rows.empty()) NotifyOfNothing(input, "launches", "the traces join no kernel with its launch call");
  return Unwrap(std::move(rows));
}

Json NvtxView(const ViewInput& input) {
  NotifyOfRestriction(input, "nvtx");
  struct Lengths {
    Sketch host;
    Sketch device;
  };
  std::map<std::tuple<std::string, std::string, HostKind>, Lengths> ranges;
  for (const FleetRank& member : input.fleet.members) {
    for (const RangeRow& row : member.source->ranges) {
      Lengths& lengths = ranges[{NameOf(input.fleet.run, row.name), NameOf(input.fleet.run, row.domain), row.style}];
      lengths.host.Merge(row.duration);
      lengths.device.Merge(row.projected);
    }
  }
  std::vector<std::pair<Json, int64_t>> rows;
  for (const auto& [key, lengths] : ranges) {
    Json row;
    row["range"] = std::get<0>(key);
    row["domain"] = TextOrNull(std::get<1>(key));
    row["style"] = StyleName(std::get<2>(key));
    row["rank"] = nullptr;
    row["instances"] = lengths.host.count();
    row["total_ns"] = lengths.host.sum();
    row["duration_ns"] = Percentiles(lengths.host, PercentileMedian::kInclude);
    row["projected_ns"] = Percentiles(lengths.device, PercentileMedian::kInclude);
    rows.emplace_back(std::move(row), lengths.host.sum());
  }
  if (rows.empty()) {
    NotifyOfNothing(input, "nvtx", "the traces hold no ranges or annotations");
  } else {
    input.Notify("nvtx", "ranges are summed over the ranks");
  }
  return Unwrap(std::move(rows));
}

}  // namespace lockstep
