#include "analysis/report/views/views.h"

#include <algorithm>
#include <cmath>

#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"
#include "analysis/report/views/waits_for.h"

namespace lockstep {
namespace {

// Counts and nanoseconds are whole numbers unless they are means.
report::Figure FigureOf(double value) {
  const double rounded = std::nearbyint(value);
  if (rounded == value && std::abs(value) < 9e15) return static_cast<int64_t>(value);
  return value;
}

report::QuantityRow QuantityRowOf(const ViewInput& input, const Quantity& quantity, const MostAwaited& awaited) {
  report::QuantityRow row;
  row.quantity = quantity.name;
  row.unit = quantity.unit;
  row.over = quantity.over_window ? "window" : "capture";
  for (size_t i = 0; i < quantity.values.size(); ++i) {
    row.per_rank.push_back({input.RankOf(i), FigureOf(quantity.values[i])});
  }
  for (const GroupValue& host : quantity.by_host) row.by_host.push_back({host.id, FigureOf(host.mean)});
  for (const GroupValue& group : quantity.by_group) {
    row.by_group.push_back({group.id, TextIfAny(group.name), FigureOf(group.mean)});
  }
  row.max_over_mean_ratio = quantity.max_over_mean;
  row.max_minus_min_over_max_ratio = quantity.max_minus_min_over_max;
  row.cv_ratio = quantity.cv;
  if (quantity.worst) row.worst_rank = input.RankOf(*quantity.worst);
  row.kind = Name(quantity.kind);
  row.waits = quantity.waits;
  if (quantity.waits && quantity.worst) row.waits_for_rank = awaited.By(*quantity.worst);
  row.idle_cause = TextIfAny(Name(quantity.idle_cause));
  return row;
}

report::Efficiency EfficiencyOf(const Efficiency& efficiency) {
  return {.window_ns = efficiency.window_ns,
          .parallel = efficiency.parallel,
          .load_balance = efficiency.load_balance,
          .communication = efficiency.communication,
          .serialisation = efficiency.serialisation,
          .transfer = efficiency.transfer,
          .busy_share = efficiency.busy_share,
          .orchestration = efficiency.orchestration};
}

void NotifyOfImbalanceWindow(const ViewInput& input, const Efficiency& efficiency) {
  const CommonWindow& window = input.measures.window;
  if (input.fleet.Components() > 1) {
    input.Notify("imbalance",
                 "the clocks of the ranks cannot all be aligned: windows are compared by the UTC times of the traces");
  }
  if (window.kind == WindowKind::kBuckets) {
    input.Notify("imbalance",
                 "the ranks have no step in common: the window consists of the time buckets inside all spans");
  }
  if (window.kind == WindowKind::kDisjoint) {
    input.Notify("imbalance", "the ranks share no time: each is measured over its own span");
  }
  if (!efficiency.transfer) {
    input.Notify("imbalance", JudgedOnMore(input.fleet)
                                  ? "serialisation and transfer efficiency are unknown for a selection: they need a "
                                    "replay of the whole run"
                                  : "serialisation and transfer efficiency are unknown: they need a replay that "
                                    "reproduces the run and is no shorter than the longest compute time of a rank");
  }
}

}  // namespace

report::ImbalanceWindow WindowRowOf(const ViewInput& input) {
  const CommonWindow& window = input.measures.window;
  const bool known = window.kind != WindowKind::kNone;
  report::ImbalanceWindow out;
  out.start_ns = KnownIf(known, input.SinceStart(window.start_ns));
  out.span_ns = KnownIf<report::Count>(known, window.span_ns);
  out.kind = Name(window.kind);
  if (window.kind == WindowKind::kSteps) out.steps = {window.first_step, window.last_step};
  return out;
}

report::Imbalance ImbalanceView(const ViewInput& input, const Imbalance& imbalance, const LateArrivalsSum& late) {
  NotifyOfImbalanceWindow(input, imbalance.efficiency);
  const bool of_families = std::any_of(imbalance.quantities.begin(), imbalance.quantities.end(),
                                       [](const Quantity& quantity) { return quantity.name.starts_with("family:"); });
  if (input.fleet.TablesTooWide() && of_families) {
    input.Notify("imbalance", "families of kernels, and the reasons more_work and slower, are those of whole captures");
  }
  report::Imbalance out;
  out.window = WindowRowOf(input);
  const MostAwaited awaited(input, late);
  for (const Quantity& quantity : imbalance.quantities) {
    out.quantities.push_back(QuantityRowOf(input, quantity, awaited));
  }
  out.efficiency = EfficiencyOf(imbalance.efficiency);
  return out;
}

}  // namespace lockstep
