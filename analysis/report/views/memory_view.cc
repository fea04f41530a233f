#include "analysis/report/views/views.h"

#include "analysis/metrics/kernels/memory.h"
#include "analysis/model/row_values.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

report::MemoryRow GroupRow(const MemoryGroup& group) {
  report::MemoryRow row;
  row.kind = group.kind;
  row.operations = group.operations;
  row.bytes = KnownIf(!group.bytes.empty(), report::Count(group.bytes.sum()));
  row.total_ns = group.total_ns;
  row.duration_ns = PercentilesOf(group.duration, PercentileMedian::kInclude);
  row.bandwidth_gbps = ScaledPercentiles(group.bandwidth_bytes_per_s, 1e-9);
  row.size_bytes = PercentilesOf(group.bytes, PercentileMedian::kInclude);
  row.blocking = group.blocking;
  for (const MemoryPlaces& places : group.places) {
    row.by_memory.push_back({.source = std::string(Name(places.source)),
                             .target = std::string(Name(places.target)),
                             .operations = places.operations,
                             .bytes = places.bytes,
                             .total_ns = places.total_ns});
  }
  return row;
}

}  // namespace

std::vector<report::MemoryRow> MemoryView(const ViewInput& input) {
  if (input.fleet.TablesTooWide()) {
    input.Notify("memory", "copies are condensed over whole captures: --steps, --time and --nvtx do not restrict them");
  }
  std::vector<report::MemoryRow> rows;
  for (const MemoryGroup& group : ComputeMemory(input.fleet)) rows.push_back(GroupRow(group));
  return rows;
}

std::vector<report::AllocationRow> AllocationView(const ViewInput& input) {
  std::vector<report::AllocationRow> rows;
  for (const FleetRank& member : input.fleet.members) {
    const SourceSummary& summary = member.source->summary;
    if (summary.allocation.empty() && summary.allocation_peak_bytes < 0) continue;
    report::AllocationRow& row = rows.emplace_back();
    row.rank = member.rank;
    if (summary.allocation_peak_bytes >= 0 && summary.allocation_peak_at_ns != kNoTime) {
      row.peak_bytes = summary.allocation_peak_bytes;
      row.peak_at_ns = input.fleet.SinceStart(member, summary.allocation_peak_at_ns);
    }
    for (const AllocationPoint& point : summary.allocation) {
      row.level.push_back({input.fleet.SinceStart(member, point.time_ns), point.level_bytes});
    }
  }
  return rows;
}

}  // namespace lockstep
