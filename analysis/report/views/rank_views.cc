#include "analysis/report/views/views.h"

#include "analysis/metrics/fleet/bursts.h"
#include "analysis/metrics/fleet/idle.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

std::optional<report::IdleBursts> BurstsOf(const ViewInput& input, const FleetRank& member) {
  // What is cut out of a capture begins and ends with a busy bucket.
  if (input.fleet.options.time_ns) return std::nullopt;
  const auto bursts = FindBursts(*member.source);
  if (!bursts) return std::nullopt;
  return report::IdleBursts{bursts->count, bursts->busy_ns, bursts->idle_ns};
}

report::IdleRow IdleRowOf(const ViewInput& input, const IdleOfRank& idle) {
  const FleetRank& member = input.fleet.members[idle.member];
  const int32_t device = member.source->context.device;
  report::IdleRow row;
  row.rank = member.rank;
  row.device = KnownIf(device >= 0, device);
  if (idle.gaps) row.gaps = idle.gaps->count();
  row.idle_ns = idle.measure.idle_ns();
  row.host_ns = idle.measure.idle_host_ns;
  row.launch_ns = idle.measure.idle_launch_ns;
  row.dependency_ns = idle.measure.idle_dependency_ns;
  row.other_ns = idle.measure.idle_other_ns;
  if (idle.gaps) row.gap_ns = PercentilesOf(*idle.gaps);
  row.dominant_gap_ns = idle.dominant_gap_ns;
  for (const StreamIdleRow& stream : idle.streams) {
    row.streams.push_back({stream.stream, stream.host_wait_ns, stream.kernel_wait_ns, stream.other_ns});
  }
  row.bursts = BurstsOf(input, member);
  return row;
}

}  // namespace

std::vector<report::IdleRow> IdleView(const ViewInput& input) {
  if (input.fleet.options.time_ns && !input.fleet.TablesSelected()) {
    input.Notify("idle", "--time is snapped outward to the buckets of each rank");
  }
  if (input.fleet.TablesTooWide()) {
    input.Notify(
        "idle",
        "the distribution of gaps and the streams are kept for whole captures only, and unknown for this selection");
  }
  if (input.fleet.options.time_ns && input.fleet.SelectsSteps() && !input.fleet.TablesTooWide()) {
    input.Notify("idle", "the gaps and the streams are unknown where both --steps and --time are given");
  }
  if (!input.fleet.options.nvtx.empty()) NotifyOfIdleInRanges(input, "idle");
  std::vector<report::IdleRow> rows;
  for (const IdleOfRank& idle : ComputeIdle(input.fleet)) rows.push_back(IdleRowOf(input, idle));
  return rows;
}

}  // namespace lockstep
