#include "analysis/report/views/views.h"

#include <algorithm>
#include <cmath>

#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

// Counts and nanoseconds are whole numbers unless they are means.
report::Figure FigureOf(double value) {
  const double rounded = std::nearbyint(value);
  if (rounded == value && std::abs(value) < 9e15) return static_cast<int64_t>(value);
  return value;
}

report::ImbalanceWindow ImbalanceWindowOf(const ViewInput& input) {
  const CommonWindow& window = input.measures.window;
  const bool known = window.kind != WindowKind::kNone;
  report::ImbalanceWindow out;
  out.start_ns = KnownIf(known, input.SinceStart(window.start_ns));
  out.span_ns = KnownIf<report::Count>(known, window.span_ns);
  out.kind = Name(window.kind);
  if (window.kind == WindowKind::kSteps) out.steps = {window.first_step, window.last_step};
  return out;
}

report::QuantityRow QuantityRowOf(const ViewInput& input, const Quantity& quantity) {
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
                 "the ranks lie on clocks that share no collective: their windows are compared on UTC claims");
  }
  if (window.kind == WindowKind::kBuckets) {
    input.Notify("imbalance", "the ranks share no whole step: the window is made of the time buckets inside all spans");
  }
  if (window.kind == WindowKind::kDisjoint) {
    input.Notify("imbalance", "the ranks share no time: each is measured over its own span");
  }
  if (!efficiency.transfer) {
    input.Notify("imbalance", JudgedOnMore(input.fleet)
                                  ? "serialisation and transfer efficiency are of whole runs: they need its replay"
                                  : "serialisation and transfer efficiency need a replay that reproduces the run, and "
                                    "in which no rank works for longer than the run without transfers takes: there is "
                                    "none");
  }
}

}  // namespace

report::Imbalance ImbalanceView(const ViewInput& input, const Imbalance& imbalance) {
  NotifyOfImbalanceWindow(input, imbalance.efficiency);
  const bool of_families = std::any_of(imbalance.quantities.begin(), imbalance.quantities.end(),
                                       [](const Quantity& quantity) { return quantity.name.starts_with("family:"); });
  if (input.fleet.TablesTooWide() && of_families) {
    input.Notify("imbalance", "families of kernels, and work told apart from slowness, are of whole captures");
  }
  report::Imbalance out;
  out.window = ImbalanceWindowOf(input);
  for (const Quantity& quantity : imbalance.quantities) out.quantities.push_back(QuantityRowOf(input, quantity));
  out.efficiency = EfficiencyOf(imbalance.efficiency);
  return out;
}

}  // namespace lockstep
