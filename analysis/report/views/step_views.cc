#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/rank_list.h"
#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/metrics/fleet/pace.h"
#include "analysis/metrics/fleet/steps.h"
#include "analysis/metrics/kernels/kernel_pace.h"
#include "analysis/model/row_values.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

// A row takes some kilobytes of memory.
constexpr size_t kMaxStepRows = 20'000;

void AddTimes(const ViewInput& input, const FleetRank& member, const StepRow& row, report::StepRow& out) {
  const auto event = [&](int64_t time) {
    return time == kNoTime ? std::nullopt : std::optional(input.fleet.SinceStart(member, time));
  };
  out.start_ns = input.fleet.SinceStart(member, row.window_start_ns);
  out.span_ns = row.tile.span_ns;
  out.first_start_ns = event(row.first_start_ns);
  out.last_end_ns = event(row.last_end_ns);
}

void AddParts(const StepOfRank& step, report::StepRow& out) {
  const IntervalMeasure& tile = step.row->tile;
  out.compute_ns = tile.compute_ns;
  out.comm_ns = tile.comm_ns;
  out.exposed_comm_ns = tile.exposed_comm_ns();
  out.exposed_wait_ns = step.exposure.wait_ns;
  out.exposed_transfer_ns = step.exposure.transfer_ns;
  out.exposed_unresolved_ns = step.exposure.unresolved_ns;
  out.copy_only_ns = tile.copy_only_ns;
  out.opaque_only_ns = tile.opaque_only_ns;
  out.idle_ns = tile.idle_ns();
  out.idle = {tile.idle_host_ns, tile.idle_launch_ns, tile.idle_dependency_ns, tile.idle_other_ns};
}

// Where the time went, in the three parts of the verdict.
report::BudgetOfStep BudgetOfTile(const IntervalMeasure& tile) {
  return {.busy_ratio = ShareOf(tile.compute_ns + tile.copy_only_ns + tile.opaque_only_ns, tile.span_ns),
          .host_gap_ratio = ShareOf(tile.idle_host_ns + tile.idle_launch_ns, tile.span_ns),
          .communication_ratio = ShareOf(tile.exposed_comm_ns(), tile.span_ns)};
}

// Of the kernel time, what was launched inside annotations of these phases; nothing where nothing is annotated so.
std::optional<report::PhasesOfStep> PhasesOfStepRow(const StepRow& row) {
  if (row.forward_ns + row.backward_ns + row.optimizer_ns <= 0 || row.kernel_time_ns <= 0) return std::nullopt;
  const auto share = [&](int64_t ns) { return static_cast<double>(ns) / static_cast<double>(row.kernel_time_ns); };
  return report::PhasesOfStep{share(row.forward_ns), share(row.backward_ns), share(row.optimizer_ns)};
}

// What the host did in the step, besides `launches`: calls by their start, copies between host and device by launch.
report::HostOfStep HostOfStepRow(const StepRow& row) {
  return {.launch_ns = row.launch_ns,
          .graph_launches = row.graph_launches,
          .sync_calls = row.sync_calls,
          .sync_ns = row.sync_ns,
          .alloc_calls = row.alloc_calls,
          .alloc_ns = row.alloc_ns,
          .alloc_max_ns = row.alloc_max_ns,
          .host_copies = row.host_copies,
          .host_copy_ns = row.host_copy_ns};
}

report::StepRow StepRowOf(const ViewInput& input, const StepOfRank& step) {
  const StepRow& row = *step.row;
  report::StepRow out;
  out.rank = input.RankOf(step.member);
  out.step = row.step;
  out.name = TextIfAny(NameOf(input.fleet.run, row.name));
  AddTimes(input, input.fleet.members[step.member], row, out);
  AddParts(step, out);
  out.launches = row.launches;
  out.host = HostOfStepRow(row);
  out.phase = TextIfAny(row.phase);
  out.phases = PhasesOfStepRow(row);
  out.verdict = TextIfAny(Name(step.verdict));
  out.budget = BudgetOfTile(row.tile);
  out.why = TextIfAny(step.why);
  return out;
}

// Ranks whose steps were found by their rhythm alone.
void NotifyOfDetectedSteps(const ViewInput& input) {
  std::vector<int32_t> detected;
  for (const FleetRank& member : input.fleet.members) {
    if (member.source->context.step_source == StepSource::kDetected) detected.push_back(member.rank);
  }
  if (detected.empty()) return;
  input.Notify("steps",
               fmt::format("the traces mark no steps on {}: the sequence that the launches repeat is taken as a "
                           "step, numbered from the first complete one; --step-range NAME uses marked ranges",
                           FoldedRanks(std::move(detected))));
}

std::string WhyNoSteps(const Fleet& fleet) {
  if (NothingRan(fleet)) {
    return "nothing ran on a device, and a step is measured by what it launched (--view nvtx lists the ranges that the "
           "host marks)";
  }
  if (fleet.Restricted()) return "the selection contains no step";
  return "the traces mark no steps, and the launches repeat no sequence: call profiler.step(), or give --step-range "
         "NAME";
}

report::KernelPace KernelProgress(const ViewInput& input, const KernelPace& kernel) {
  report::KernelPace out{kernel.name, {}};
  for (const KernelPaceOfRank& rank : kernel.ranks) {
    report::KernelPaceOfRank& row = out.ranks.emplace_back();
    row.rank = input.RankOf(rank.member);
    for (const KernelPaceSlice& slice : rank.slices) {
      row.slices.push_back({.start_ns = input.SinceStart(slice.start_ns),
                            .span_ns = slice.span_ns,
                            .instances = slice.instances,
                            .mean_ns = slice.mean_ns});
    }
  }
  return out;
}

report::PaceOfRank PaceOfRankRow(const ViewInput& input, const PaceOfRank& rank) {
  return {.rank = input.RankOf(rank.member),
          .compute_ratio = {rank.compute.begin(), rank.compute.end()},
          .comm_ratio = {rank.comm.begin(), rank.comm.end()},
          .busy_ratio = {rank.busy.begin(), rank.busy.end()},
          .steps_done = rank.steps_done};
}

}  // namespace

std::vector<report::StepRow> StepsView(const ViewInput& input) {
  NotifyOfDetectedSteps(input);
  const std::vector<StepOfRank> steps = ComputeSteps(input.fleet, input.measures);
  const size_t most = std::max(kMaxStepRows, static_cast<size_t>(input.context.options.limit.value_or(0)));
  std::vector<report::StepRow> rows;
  rows.reserve(std::min(most, steps.size()));
  for (size_t i = 0; i < std::min(most, steps.size()); ++i) rows.push_back(StepRowOf(input, steps[i]));
  if (steps.size() > most) {
    input.Notify("steps",
                 fmt::format("of {} rows the first {} are shown; --steps, --ranks or a larger --limit show others",
                             steps.size(), most));
  }
  if (rows.empty()) {
    input.Notify("steps", WhyNoSteps(input.fleet));
  }
  return rows;
}

absl::StatusOr<report::Pace> PaceView(const ViewInput& input) {
  const Pace pace = ComputePace(input.fleet);
  report::Pace out;
  if (pace.bucket_ns > 0) {
    out.bucket_ns = pace.bucket_ns;
    out.start_ns = input.SinceStart(pace.start_ns);
  }
  for (const PaceOfRank& rank : pace.ranks) out.ranks.push_back(PaceOfRankRow(input, rank));
  if (out.ranks.empty() && !NothingRan(input.fleet))
    input.Notify("pace", "the captures of the ranks have no time in common");
  if (input.fleet.SelectsSteps())
    input.Notify("pace", "this view covers all steps: --steps and --nvtx do not restrict it");
  if (input.fleet.options.time_ns && input.fleet.TablesTooWide()) {
    input.Notify("pace", "this view covers the whole run: --time does not restrict its buckets and slices");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<KernelPace> kernels, ComputeKernelPace(input.fleet));
  for (const KernelPace& kernel : kernels) out.kernels.push_back(KernelProgress(input, kernel));
  return out;
}

}  // namespace lockstep
