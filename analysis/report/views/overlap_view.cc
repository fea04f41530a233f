#include "analysis/report/views/overlap_view.h"

#include "analysis/report/json.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {
namespace {

// Beyond this share of graph-level spans nobody knows what overlapped what.
bool TooOpaque(const IntervalMeasure& measure) { return measure.opaque_ns * 100 > measure.span_ns; }

Json OverlapRowOf(int32_t rank, const IntervalMeasure& measure, const Exposure& exposure) {
  const bool opaque = TooOpaque(measure);
  Json row;
  row["rank"] = rank;
  row["span_ns"] = measure.span_ns;
  row["compute_ns"] = measure.compute_ns;
  row["comm_ns"] = measure.comm_ns;
  row["copy_ns"] = measure.copy_ns;
  row["overlap_ns"] = opaque ? Json(nullptr) : Json(measure.overlap_ns);
  row["overlap_ratio"] = opaque ? Json(nullptr) : Ratio(measure.overlap_ns, measure.comm_ns);
  row["exposed_comm_ns"] = measure.exposed_comm_ns();
  row["strict_exposed_comm_ns"] = opaque ? Json(nullptr) : Json(measure.strict_exposed_comm_ns);
  row["exposed_wait_ns"] = exposure.wait_ns;
  row["exposed_transfer_ns"] = exposure.transfer_ns;
  row["exposed_unresolved_ns"] = exposure.unresolved_ns;
  row["copy_only_ns"] = measure.copy_only_ns;
  row["opaque_only_ns"] = measure.opaque_only_ns;
  row["idle_ns"] = measure.idle_ns();
  row["busy_ratio"] = Ratio(measure.busy_ns(), measure.span_ns);
  return row;
}

}  // namespace

Json OverlapView(const ViewInput& input) {
  if (input.fleet.options.time_ns && !input.fleet.TablesSelected())
    input.Notify("overlap", "--time is snapped outward to the buckets of each rank");
  if (!input.fleet.options.nvtx.empty()) NotifyOfIdleInRanges(input, "overlap");
  Json rows = Json::array();
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
