#include "analysis/report/views/views.h"

#include "analysis/base/status_macros.h"
#include "analysis/model/row_values.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/values.h"
#include "analysis/report/views/waits_for.h"

namespace lockstep {
namespace {

std::optional<int64_t> StepIfAny(int64_t step) { return KnownIf(step != kNoStep, step); }

// The figures that every kind of part has.
report::TailFigures FiguresOf(const TailRow& row, const TailPart& part) {
  return {QuantileOf(part.durations, 0.5), QuantileOf(part.durations, 0.99),
          KnownIf(!part.durations.empty(), part.durations.max()), ShareOf(part.above, row.above)};
}

std::vector<report::TailOfSlice> SliceParts(const ViewInput& input, const TailRow& row) {
  std::vector<report::TailOfSlice> list;
  for (const TailPart& part : row.by_slice) {
    list.push_back({input.SinceStart(part.start_ns), part.span_ns, ShareOf(part.above, row.above)});
  }
  return list;
}

std::vector<report::TailExemplar> Exemplars(const ViewInput& input, const TailRow& row) {
  std::vector<report::TailExemplar> list;
  for (const TailExemplar& exemplar : row.exemplars) {
    const Exemplar& instance = exemplar.instance;
    list.push_back({.rank = input.RankOf(exemplar.member),
                    .start_ns = input.fleet.SinceStart(input.fleet.members[exemplar.member], instance.start_ns),
                    .duration_ns = instance.duration_ns,
                    .step = StepIfAny(instance.step)});
  }
  return list;
}

report::TailRow TailRowOf(const ViewInput& input, const TailRow& row, const MostAwaited& awaited) {
  report::TailRow out;
  out.name = row.name;
  if (row.category) out.category = Name(*row.category);
  out.fleet_ns = PercentilesOf(row.durations);
  for (const TailPart& part : row.by_rank) out.by_rank.push_back({FiguresOf(row, part), input.RankOf(part.member)});
  for (const TailPart& part : row.by_host) out.by_host.push_back({FiguresOf(row, part), part.label});
  for (const TailPart& part : row.by_phase) out.by_phase.push_back({FiguresOf(row, part), part.label});
  out.by_slice = SliceParts(input, row);
  for (const TailStep& part : row.by_step) {
    out.by_step.push_back({StepIfAny(part.step), ShareOf(part.above, row.above)});
  }
  out.by_step_told_ratio = ShareOf(row.above_of_known_step, row.above);
  out.tail_score = row.score.value;
  if (!row.durations.exact()) out.tail_score_bounds = std::pair(row.score.lower, row.score.upper);
  if (row.category == Category::kCommunication) {
    out.wait_ns = PercentilesOf(row.wait);
    out.transfer_ns = PercentilesOf(row.transfer);
  }
  out.waits_for_rank = awaited.By(row);
  out.exemplars = Exemplars(input, row);
  return out;
}

}  // namespace

absl::StatusOr<std::vector<TailRow>> TailsOf(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table,
                            ComputeKernels(input.fleet, input.fleet.options.group_by, StepFigures::kDistributions));
  return ComputeTails(input.fleet, input.measures, table);
}

std::vector<report::TailRow> TailsView(const ViewInput& input, const std::vector<TailRow>& tails,
                                       const LateArrivalsSum& late) {
  if (input.fleet.TablesTooWide()) {
    input.Notify("tails", "a selection of steps or time is snapped outward to the time slices of the condensed data");
  }
  const MostAwaited awaited(input, late);
  std::vector<report::TailRow> rows;
  rows.reserve(tails.size());
  for (const TailRow& row : tails) rows.push_back(TailRowOf(input, row, awaited));
  return rows;
}

}  // namespace lockstep
