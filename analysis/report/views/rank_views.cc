#include "analysis/report/views/rank_views.h"

#include "analysis/metrics/fleet/bursts.h"
#include "analysis/metrics/fleet/idle.h"
#include "analysis/report/json.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {
namespace {

Json Streams(const IdleOfRank& idle) {
  Json list = Json::array();
  for (const StreamIdleRow& stream : idle.streams) {
    list.push_back({{"stream", stream.stream},
                    {"host_wait_ns", stream.host_wait_ns},
                    {"kernel_wait_ns", stream.kernel_wait_ns},
                    {"other_ns", stream.other_ns}});
  }
  return list;
}

Json BurstsOf(const ViewInput& input, const FleetRank& member) {
  if (input.fleet.options.time_ns) return nullptr;  // what is cut out of a capture begins and ends with a busy bucket
  const auto bursts = FindBursts(*member.source);
  if (!bursts) return nullptr;
  return {{"count", bursts->count}, {"busy_ns", bursts->busy_ns}, {"idle_after_ns", bursts->idle_ns}};
}

Json IdleRowOf(const ViewInput& input, const IdleOfRank& idle) {
  const FleetRank& member = input.fleet.members[idle.member];
  Json row;
  row["rank"] = member.rank;
  row["device"] = member.source->context.device >= 0 ? Json(member.source->context.device) : Json(nullptr);
  row["gaps"] = idle.gaps ? Json(idle.gaps->count()) : Json(nullptr);
  row["idle_ns"] = idle.measure.idle_ns();
  row["host_ns"] = idle.measure.idle_host_ns;
  row["launch_ns"] = idle.measure.idle_launch_ns;
  row["dependency_ns"] = idle.measure.idle_dependency_ns;
  row["other_ns"] = idle.measure.idle_other_ns;
  row["gap_ns"] = idle.gaps ? Percentiles(*idle.gaps) : Json(nullptr);
  row["dominant_gap_ns"] = OrNull(idle.dominant_gap_ns);
  row["streams"] = Streams(idle);
  row["bursts"] = BurstsOf(input, member);
  return row;
}

}  // namespace

Json IdleView(const ViewInput& input) {
  if (input.fleet.options.time_ns && !input.fleet.TablesSelected()) {
    input.Notify("idle", "--time is snapped outward to the buckets of each rank");
  }
  if (input.fleet.TablesTooWide()) {
    input.Notify("idle",
                 "the distribution of gaps and the streams are kept for whole captures only: null and empty here");
  }
  if (input.fleet.options.time_ns && input.fleet.SelectsSteps() && !input.fleet.TablesTooWide()) {
    input.Notify("idle", "steps and a time asked for together: the gaps and the streams are null and empty");
  }
  if (!input.fleet.options.nvtx.empty()) NotifyOfIdleInRanges(input, "idle");
  Json rows = Json::array();
  for (const IdleOfRank& idle : ComputeIdle(input.fleet)) rows.push_back(IdleRowOf(input, idle));
  return rows;
}

}  // namespace lockstep
