#include "analysis/report/views/tails_view.h"

#include "analysis/base/status_macros.h"
#include "analysis/model/row_values.h"
#include "analysis/report/json.h"
#include "analysis/report/views/percentiles.h"

namespace lockstep {
namespace {

// The figures that every kind of part has.
void AddPart(const TailRow& row, const TailPart& part, Json& json) {
  const auto quantile = [&](double q) {
    const auto estimate = part.durations.Quantile(q);
    return estimate ? Json(estimate->value) : Json(nullptr);
  };
  json["p50_ns"] = quantile(0.5);
  json["p99_ns"] = quantile(0.99);
  json["max_ns"] = part.durations.empty() ? Json(nullptr) : Json(part.durations.max());
  json["share_of_tail_ratio"] = Ratio(part.above, row.above);
}

Json LabelledParts(const TailRow& row, const std::vector<TailPart>& parts, const char* key) {
  Json list = Json::array();
  for (const TailPart& part : parts) {
    Json json;
    json[key] = part.label;
    AddPart(row, part, json);
    list.push_back(std::move(json));
  }
  return list;
}

Json RankParts(const ViewInput& input, const TailRow& row) {
  Json list = Json::array();
  for (const TailPart& part : row.by_rank) {
    Json json;
    json["rank"] = input.RankOf(part.member);
    AddPart(row, part, json);
    list.push_back(std::move(json));
  }
  return list;
}

Json SliceParts(const ViewInput& input, const TailRow& row) {
  Json list = Json::array();
  for (const TailPart& part : row.by_slice) {
    list.push_back({{"start_ns", input.SinceStart(part.start_ns)},
                    {"span_ns", part.span_ns},
                    {"share_of_tail_ratio", Ratio(part.above, row.above)}});
  }
  return list;
}

Json StepParts(const TailRow& row) {
  Json list = Json::array();
  for (const TailStep& part : row.by_step) {
    list.push_back({{"step", part.step == kNoStep ? Json(nullptr) : Json(part.step)},
                    {"share_of_tail_ratio", Ratio(part.above, row.above)}});
  }
  return list;
}

Json Exemplars(const ViewInput& input, const TailRow& row) {
  Json list = Json::array();
  for (const TailExemplar& exemplar : row.exemplars) {
    const Exemplar& instance = exemplar.instance;
    list.push_back({{"rank", input.RankOf(exemplar.member)},
                    {"start_ns", input.fleet.SinceStart(input.fleet.members[exemplar.member], instance.start_ns)},
                    {"duration_ns", instance.duration_ns},
                    {"step", instance.step == kNoStep ? Json(nullptr) : Json(instance.step)}});
  }
  return list;
}

Json TailRowOf(const ViewInput& input, const TailRow& row) {
  Json json;
  json["name"] = row.name;
  json["category"] = row.category ? Json(Name(*row.category)) : Json(nullptr);
  json["fleet_ns"] = Percentiles(row.durations);
  json["by_rank"] = RankParts(input, row);
  json["by_host"] = LabelledParts(row, row.by_host, "host");
  json["by_phase"] = LabelledParts(row, row.by_phase, "phase");
  json["by_slice"] = SliceParts(input, row);
  json["by_step"] = StepParts(row);
  json["by_step_told_ratio"] = Ratio(row.above_of_known_step, row.above);
  json["tail_score"] = row.score.value;
  if (!row.durations.exact()) json["tail_score_bounds"] = {row.score.lower, row.score.upper};
  const bool collective = row.category == Category::kCommunication;
  json["wait_ns"] = collective ? Percentiles(row.wait) : Json(nullptr);
  json["transfer_ns"] = collective ? Percentiles(row.transfer) : Json(nullptr);
  json["exemplars"] = Exemplars(input, row);
  return json;
}

}  // namespace

absl::StatusOr<std::vector<TailRow>> TailsOf(const ViewInput& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary table,
                            ComputeKernels(input.fleet, input.fleet.options.group_by, StepFigures::kDistributions));
  return ComputeTails(input.fleet, input.measures, table);
}

Json TailsView(const ViewInput& input, const std::vector<TailRow>& tails) {
  if (input.fleet.TablesTooWide()) {
    input.Notify("tails", "a selection of steps or time is snapped outward to the time slices of the condensed data");
  }
  Json rows = Json::array();
  for (const TailRow& row : tails) rows.push_back(TailRowOf(input, row));
  return rows;
}

}  // namespace lockstep
