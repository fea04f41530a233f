#include "analysis/report/views/views.h"

#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

// Beyond this share of graph-level spans nobody knows what overlapped what.
bool TooOpaque(const IntervalMeasure& measure) { return measure.opaque_ns * 100 > measure.span_ns; }

report::OverlapRow OverlapRowOf(int32_t rank, const IntervalMeasure& measure, const Exposure& exposure) {
  const bool known = !TooOpaque(measure);
  report::OverlapRow row;
  row.rank = rank;
  row.span_ns = measure.span_ns;
  row.compute_ns = measure.compute_ns;
  row.comm_ns = measure.comm_ns;
  row.copy_ns = measure.copy_ns;
  row.overlap_ns = KnownIf<report::Count>(known, measure.overlap_ns);
  if (known) row.overlap_ratio = ShareOf(measure.overlap_ns, measure.comm_ns);
  row.exposed_comm_ns = measure.exposed_comm_ns();
  row.strict_exposed_comm_ns = KnownIf<report::Count>(known, measure.strict_exposed_comm_ns);
  row.exposed_wait_ns = exposure.wait_ns;
  row.exposed_transfer_ns = exposure.transfer_ns;
  row.exposed_unresolved_ns = exposure.unresolved_ns;
  row.copy_only_ns = measure.copy_only_ns;
  row.opaque_only_ns = measure.opaque_only_ns;
  row.idle_ns = measure.idle_ns();
  row.busy_ratio = ShareOf(measure.busy_ns(), measure.span_ns);
  return row;
}

}  // namespace

std::vector<report::OverlapRow> OverlapView(const ViewInput& input) {
  if (input.fleet.options.time_ns && !input.fleet.TablesSelected())
    input.Notify("overlap", "--time is snapped outward to the buckets of each rank");
  if (!input.fleet.options.nvtx.empty()) NotifyOfIdleInRanges(input, "overlap");
  std::vector<report::OverlapRow> rows;
  bool opaque = false;
  for (size_t i = 0; i < input.fleet.members.size(); ++i) {
    const RankMeasures& rank = input.measures.ranks[i];
    opaque = opaque || TooOpaque(rank.selected);
    rows.push_back(OverlapRowOf(input.RankOf(i), rank.selected, rank.selected_exposure));
  }
  if (opaque) {
    input.Notify("overlap", "CUDA graphs traced as whole spans cover over 1 % of a rank's time: its overlap is null");
  }
  return rows;
}

}  // namespace lockstep
