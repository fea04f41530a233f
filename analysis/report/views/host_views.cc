#include "analysis/report/views/views.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/name_filter.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/values.h"

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

// What is condensed over a whole capture cannot be restricted later.
void NotifyOfRestriction(const ViewInput& input, std::string_view view) {
  if (input.fleet.TablesTooWide()) {
    input.Notify(view, "the figures of this view cover whole captures: --steps, --time and --nvtx do not restrict it");
  }
}

void NotifyOfNothing(const ViewInput& input, std::string_view view, std::string_view of_whole_traces) {
  const bool asked_for_less = input.fleet.Restricted() || !input.fleet.options.kernels.empty();
  input.Notify(view, std::string(asked_for_less ? "the selection contains nothing of it" : of_whole_traces));
}

std::optional<report::Count> CountIfKnown(int64_t id) { return KnownIf(id >= 0, report::Count(id)); }

struct RangeLengths {
  Sketch host;
  Sketch device;
};
using NamedRange = std::tuple<std::string, std::string, HostKind>;  // name, domain, style

std::map<NamedRange, RangeLengths> SumRanges(const Fleet& fleet) {
  std::map<NamedRange, RangeLengths> ranges;
  for (const FleetRank& member : fleet.members) {
    for (const RangeRow& row : member.source->ranges) {
      RangeLengths& lengths = ranges[{NameOf(fleet.run, row.name), NameOf(fleet.run, row.domain), row.style}];
      lengths.host.Merge(row.duration);
      lengths.device.Merge(row.projected);
    }
  }
  return ranges;
}

report::LaunchRow LaunchRowOf(const FleetRank& member, const LaunchRow& launch) {
  report::LaunchRow row;
  row.rank = member.rank;
  row.pid = CountIfKnown(member.source->context.pid);
  row.tid = CountIfKnown(launch.tid);
  row.device = CountIfKnown(member.source->context.device);
  row.count = launch.total.count();
  row.queue_count = launch.queue_count;
  row.total_ns = PercentilesOf(launch.total, PercentileMedian::kInclude);
  row.api_ns = PercentilesOf(launch.api_time, PercentileMedian::kInclude);
  row.queue_ns = PercentilesOf(launch.queue, PercentileMedian::kInclude);
  row.kernel_ns = PercentilesOf(launch.kernel_time, PercentileMedian::kInclude);
  return row;
}

// The rows by total time, the largest first; equal ones keep their order.
template <typename Row>
std::vector<Row> ByTotal(std::vector<std::pair<Row, int64_t>> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<Row> list;
  list.reserve(rows.size());
  for (auto& [row, total] : rows) list.push_back(std::move(row));
  return list;
}

}  // namespace

std::vector<report::HostRow> HostView(const ViewInput& input) {
  NotifyOfRestriction(input, "host");
  std::vector<std::pair<report::HostRow, int64_t>> rows;
  for (const auto& [name, total] : SumApis(input.fleet)) {
    report::HostRow row;
    row.api = name;
    row.ranks = total.ranks.size();
    row.calls = total.duration.count();
    row.total_ns = total.duration.sum();
    row.duration_ns = PercentilesOf(total.duration, PercentileMedian::kInclude);
    static_cast<report::TailRatios&>(row) = TailRatiosOf(total.duration);
    row.launch_delay_ns = PercentilesOf(total.launch_delay);
    row.queue_ns = row.launch_delay_ns;  // of which only positive ones are kept
    rows.emplace_back(std::move(row), total.duration.sum());
  }
  if (rows.empty()) NotifyOfNothing(input, "host", "the traces contain no runtime or driver calls");
  return ByTotal(std::move(rows));
}

absl::StatusOr<std::vector<report::LaunchRow>> LaunchesView(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(NameFilter filter, NameFilter::Make(input.fleet.run, input.fleet.options.kernels));
  NotifyOfRestriction(input, "launches");
  std::vector<std::pair<report::LaunchRow, int64_t>> rows;
  for (const FleetRank& member : input.fleet.members) {
    std::map<std::tuple<std::string, std::string, int64_t>, const LaunchRow*> ordered;
    for (const LaunchRow& row : member.source->launches) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool passes, filter.Passes(row.kernel));
      if (passes) ordered[{NameOf(input.fleet.run, row.api), NameOf(input.fleet.run, row.kernel), row.tid}] = &row;
    }
    for (const auto& [key, launch] : ordered) {
      auto& [row, total] = rows.emplace_back(LaunchRowOf(member, *launch), launch->total.sum());
      row.api = std::get<0>(key);
      row.kernel = std::get<1>(key);
    }
  }
  if (rows.empty()) NotifyOfNothing(input, "launches", "the traces link no kernel with its launch call");
  return ByTotal(std::move(rows));
}

std::vector<report::RangeRow> NvtxView(const ViewInput& input) {
  NotifyOfRestriction(input, "nvtx");
  std::vector<std::pair<report::RangeRow, int64_t>> rows;
  for (const auto& [key, lengths] : SumRanges(input.fleet)) {
    report::RangeRow row;
    row.range = std::get<0>(key);
    row.domain = TextIfAny(std::get<1>(key));
    row.style = StyleName(std::get<2>(key));
    row.instances = lengths.host.count();
    row.total_ns = lengths.host.sum();
    row.duration_ns = PercentilesOf(lengths.host, PercentileMedian::kInclude);
    row.projected_ns = PercentilesOf(lengths.device, PercentileMedian::kInclude);
    rows.emplace_back(std::move(row), lengths.host.sum());
  }
  if (rows.empty()) {
    NotifyOfNothing(input, "nvtx", "the traces contain no ranges or annotations");
  } else {
    input.Notify("nvtx", "ranges are summed over the ranks");
  }
  return ByTotal(std::move(rows));
}

}  // namespace lockstep
