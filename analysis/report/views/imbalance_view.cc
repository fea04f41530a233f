#include "analysis/report/views/imbalance_view.h"

#include <algorithm>
#include <cmath>

#include "analysis/report/json.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {
namespace {

// Counts and nanoseconds are whole numbers unless they are means.
Json Value(double value) {
  const double rounded = std::nearbyint(value);
  if (rounded == value && std::abs(value) < 9e15) return static_cast<int64_t>(value);
  return value;
}

Json WindowJson(const ViewInput& input) {
  const CommonWindow& window = input.measures.window;
  const bool none = window.kind == WindowKind::kNone;
  Json json;
  json["start_ns"] = none ? Json(nullptr) : Json(input.SinceStart(window.start_ns));
  json["span_ns"] = none ? Json(nullptr) : Json(window.span_ns);
  json["kind"] = Name(window.kind);
  if (window.kind == WindowKind::kSteps) json["steps"] = {window.first_step, window.last_step};
  return json;
}

Json PerRank(const ViewInput& input, const Quantity& quantity) {
  Json list = Json::array();
  for (size_t i = 0; i < quantity.values.size(); ++i) {
    list.push_back({{"rank", input.RankOf(i)}, {"value", Value(quantity.values[i])}});
  }
  return list;
}

Json Groups(const std::vector<GroupValue>& groups, const char* key, bool named) {
  Json list = Json::array();
  for (const GroupValue& group : groups) {
    Json json;
    json[key] = group.id;
    if (named) json["name"] = TextOrNull(group.name);
    json["mean_value"] = Value(group.mean);
    list.push_back(std::move(json));
  }
  return list;
}

Json QuantityJson(const ViewInput& input, const Quantity& quantity) {
  Json json;
  json["quantity"] = quantity.name;
  json["unit"] = quantity.unit;
  json["over"] = quantity.over_window ? "window" : "capture";
  json["per_rank"] = PerRank(input, quantity);
  json["by_host"] = Groups(quantity.by_host, "host", false);
  json["by_group"] = Groups(quantity.by_group, "communicator_id", true);
  json["max_over_mean_ratio"] = OrNull(quantity.max_over_mean);
  json["max_minus_min_over_max_ratio"] = OrNull(quantity.max_minus_min_over_max);
  json["cv_ratio"] = OrNull(quantity.cv);
  json["worst_rank"] = quantity.worst ? Json(input.RankOf(*quantity.worst)) : Json(nullptr);
  json["kind"] = Name(quantity.kind);
  json["waits"] = quantity.waits;
  return json;
}

Json EfficiencyJson(const Efficiency& efficiency) {
  Json json;
  json["window_ns"] = efficiency.window_ns;
  json["parallel"] = OrNull(efficiency.parallel);
  json["load_balance"] = OrNull(efficiency.load_balance);
  json["communication"] = OrNull(efficiency.communication);
  json["serialisation"] = OrNull(efficiency.serialisation);
  json["transfer"] = OrNull(efficiency.transfer);
  json["busy_share"] = OrNull(efficiency.busy_share);
  json["orchestration"] = OrNull(efficiency.orchestration);
  return json;
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

Json ImbalanceView(const ViewInput& input, const Imbalance& imbalance) {
  NotifyOfImbalanceWindow(input, imbalance.efficiency);
  const bool of_families = std::any_of(imbalance.quantities.begin(), imbalance.quantities.end(),
                                       [](const Quantity& quantity) { return quantity.name.starts_with("family:"); });
  if (input.fleet.TablesTooWide() && of_families) {
    input.Notify("imbalance", "families of kernels, and work told apart from slowness, are of whole captures");
  }
  Json json;
  json["window"] = WindowJson(input);
  Json quantities = Json::array();
  for (const Quantity& quantity : imbalance.quantities) quantities.push_back(QuantityJson(input, quantity));
  json["quantities"] = std::move(quantities);
  json["efficiency"] = EfficiencyJson(imbalance.efficiency);
  return json;
}

}  // namespace lockstep
