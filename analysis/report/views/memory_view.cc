#include "analysis/report/views/memory_view.h"

#include "analysis/metrics/kernels/memory.h"
#include "analysis/model/row_values.h"
#include "analysis/report/json.h"
#include "analysis/report/views/percentiles.h"

namespace lockstep {
namespace {

Json Places(const MemoryGroup& group) {
  Json list = Json::array();
  for (const MemoryPlaces& places : group.places) {
    list.push_back({{"source", Name(places.source)},
                    {"target", Name(places.target)},
                    {"operations", places.operations},
                    {"bytes", places.bytes},
                    {"total_ns", places.total_ns}});
  }
  return list;
}

Json GroupRow(const MemoryGroup& group) {
  Json row;
  row["kind"] = group.kind;
  row["operations"] = group.operations;
  row["bytes"] = group.bytes.empty() ? Json(nullptr) : Json(group.bytes.sum());
  row["total_ns"] = group.total_ns;
  row["duration_ns"] = Percentiles(group.duration, PercentileMedian::kInclude);
  row["bandwidth_gbps"] = ScaledPercentiles(group.bandwidth_bytes_per_s, 1e-9);
  row["size_bytes"] = Percentiles(group.bytes, PercentileMedian::kInclude);
  row["blocking"] = group.blocking;
  row["by_memory"] = Places(group);
  return row;
}

}  // namespace

Json MemoryView(const ViewInput& input) {
  if (input.fleet.TablesTooWide()) {
    input.Notify("memory", "copies are condensed over whole captures: --steps, --time and --nvtx do not restrict them");
  }
  Json rows = Json::array();
  for (const MemoryGroup& group : ComputeMemory(input.fleet)) rows.push_back(GroupRow(group));
  return rows;
}

Json AllocationView(const ViewInput& input) {
  Json rows = Json::array();
  for (const FleetRank& member : input.fleet.members) {
    const SourceSummary& summary = member.source->summary;
    if (summary.allocation.empty() && summary.allocation_peak_bytes < 0) continue;
    Json level = Json::array();
    for (const AllocationPoint& point : summary.allocation) {
      level.push_back({{"t_ns", input.fleet.SinceStart(member, point.time_ns)}, {"bytes", point.level_bytes}});
    }
    const bool peak = summary.allocation_peak_bytes >= 0 && summary.allocation_peak_at_ns != kNoTime;
    rows.push_back(
        {{"rank", member.rank},
         {"peak_bytes", peak ? Json(summary.allocation_peak_bytes) : Json(nullptr)},
         {"peak_at_ns", peak ? Json(input.fleet.SinceStart(member, summary.allocation_peak_at_ns)) : Json(nullptr)},
         {"level", std::move(level)}});
  }
  return rows;
}

}  // namespace lockstep
