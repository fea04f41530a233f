#include "analysis/report/views/collectives_view.h"

#include <string>

#include "analysis/metrics/skew/collectives.h"
#include "analysis/report/views/percentiles.h"

namespace lockstep {
namespace {

constexpr double kGigabytesPerByte = 1e-9;

Json TextOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(std::string(text)); }

Json RealOrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json ClockFreeJson(const std::optional<ClockFreeWaits>& waits) {
  if (!waits) return nullptr;
  return {{"instances", waits->instances},
          {"wait_total_ns", waits->wait_total_ns},
          {"uncertainty_ns", waits->uncertainty_ns},
          {"aligned_wait_total_ns", waits->aligned_wait_total_ns},
          {"aligned_uncertainty_ns", waits->aligned_uncertainty_ns},
          {"end_sigma_ns", waits->end_sigma_ns},
          {"finer", waits->Finer()},
          {"agrees", waits->Agrees()}};
}

Json RowOf(const MatchResult& match, const CollectiveRowResult& row) {
  const Communicator& communicator = match.communicators[row.communicator];
  Json out;
  out["communicator"] = {{"communicator_id", communicator.id},
                         {"name", TextOrNull(communicator.name)},
                         {"desc", TextOrNull(communicator.desc)}};
  out["members"] = communicator.members;
  out["op"] = TextOrNull(Name(row.op));
  out["dtype"] = TextOrNull(Name(row.dtype));
  out["bytes"] = row.bytes == kUnknownBytes ? Json(nullptr) : Json(row.bytes);
  out["library"] = TextOrNull(Name(row.library));
  out["instances"] = row.instances;
  out["matched"] = row.matched;
  out["complete"] = row.complete;
  out["match"] = std::string(Name(row.kind));
  out["confidence"] = RealOrNull(row.confidence);
  out["spread_ns"] = Percentiles(row.spread_ns);
  out["wait_ns"] = Percentiles(row.wait_ns);
  out["wait_total_ns"] = row.usable > 0 ? Json(row.wait_total_ns) : Json(nullptr);
  out["wait_uncertainty_ns"] = row.usable > 0 ? Json(row.wait_uncertainty_ns) : Json(nullptr);
  out["clock_free"] = ClockFreeJson(row.clock_free);
  out["transfer_ns"] = Percentiles(row.transfer_ns);
  out["transfer_baseline_ns"] = row.transfer_baseline_ns ? Json(*row.transfer_baseline_ns) : Json(nullptr);
  out["transfer_excess_ratio"] = RealOrNull(row.transfer_excess);
  out["end_spread_ns"] = Percentiles(row.end_spread_ns);
  out["bus_bandwidth_gbps"] = ScaledPercentiles(row.bus_bandwidth, kGigabytesPerByte);
  out["apparent_bus_bandwidth_gbps"] = ScaledPercentiles(row.apparent_bus_bandwidth, kGigabytesPerByte);
  out["skew_share_ratio"] = RealOrNull(row.skew_share);
  out["skew_share_interval"] = row.skew_share_interval
                                   ? Json::array({row.skew_share_interval->low, row.skew_share_interval->high})
                                   : Json(nullptr);
  out["verdict"] = std::string(Name(row.verdict));
  return out;
}

void Notify(const AnalysisContext& context, const std::vector<CollectiveRowResult>& rows) {
  bool ambiguous = false;
  bool apart = false;
  bool disagrees = false;
  for (const CollectiveRowResult& row : rows) {
    ambiguous = ambiguous || row.kind == MatchKind::kAmbiguous;
    disagrees = disagrees || (row.clock_free && !row.clock_free->Agrees());
    apart = apart || (row.matched > 0 && row.usable == 0 && row.kind != MatchKind::kAmbiguous);
  }
  if (ambiguous) {
    context.notices.push_back({"collectives",
                               "some collectives cannot be joined across ranks with confidence: their "
                               "rows are 'ambiguous' and enter no statistics"});
  }
  if (apart) {
    context.notices.push_back({"collectives",
                               "some communicators span several clocks that could not be aligned: "
                               "between them arrivals are not resolvable"});
  }
  if (disagrees) {
    context.notices.push_back({"collectives",
                               "some rows' waits differ between the aligned clocks and the durations alone by more "
                               "than both uncertainties: see clock_free"});
  }
}

}  // namespace

Json CollectivesView(const AnalysisContext& context) {
  const std::vector<CollectiveRowResult> rows =
      ComputeCollectives(context.match, [&](const MatchedInstance& instance) { return Selects(context, instance); });
  Json out = Json::array();
  for (const CollectiveRowResult& row : rows) out.push_back(RowOf(context.match, row));
  Notify(context, rows);
  return out;
}

}  // namespace lockstep
