#include "analysis/report/views/skew_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/model/row_values.h"
#include "analysis/report/json.h"
#include "analysis/report/views/json_values.h"
#include "analysis/report/views/percentiles.h"

namespace lockstep {
namespace {

Json RankSkewRow(int32_t rank, const RankSkew& skew) {
  Json out;
  out["rank"] = rank;
  out["lateness_ns"] = Percentiles(skew.lateness_ns);
  out["wait_ns"] = Percentiles(skew.wait_ns);
  out["wait_total_ns"] = skew.wait_total_ns;
  out["wait_uncertainty_ns"] = skew.wait_uncertainty_ns;
  out["caused_wait_total_ns"] = skew.caused_wait_total_ns;
  out["caused_wait_uncertainty_ns"] = skew.caused_uncertainty_ns;
  out["last_arrivals"] = skew.last_arrivals;
  out["last_arrival_ratio"] =
      skew.certain_instances == 0
          ? Json(nullptr)
          : Json(static_cast<double>(skew.last_arrivals) / static_cast<double>(skew.certain_instances));
  out["instances"] = skew.instances;
  return out;
}

Json StepOf(const AnalysisContext& context, const StepSkew& step) {
  Json out;
  out["step"] = step.step;
  out["instances"] = step.instances;
  out["wait_total_ns"] = step.wait_total_ns;
  out["wait_uncertainty_ns"] = step.wait_uncertainty_ns;
  const bool known = step.worst_rank_index >= 0;
  out["worst_rank"] =
      known ? Json(context.ranks.ranks[static_cast<size_t>(step.worst_rank_index)].rank) : Json(nullptr);
  out["worst_caused_wait_ns"] = known ? Json(step.worst_caused_wait_ns) : Json(nullptr);
  out["spread_ns"] = Percentiles(step.spread_ns);
  return out;
}

class InstanceJson {
 public:
  explicit InstanceJson(const AnalysisContext& context) : context_(context) {}

  [[nodiscard]] Json RowOf(const MatchedInstance& i) const {
    Json out;
    out["communicator_id"] = context_.match.communicators[i.communicator].id;
    out["index"] = i.index;
    out["seq"] = i.seq == kNoSeq ? Json(nullptr) : Json(std::to_string(i.seq));
    out["op"] = TextOrNull(Name(i.op));
    out["bytes"] = i.bytes == kUnknownBytes ? Json(nullptr) : Json(i.bytes);
    out["step"] = i.step == kNoStep ? Json(nullptr) : Json(i.step);
    AddWords(i, out);
    out["complete"] = i.complete;
    out["confidence"] = i.confidence;
    Json members = Json::array();
    for (const MatchedMember& m : i.members) members.push_back(MemberOf(i, m));
    out["members"] = std::move(members);
    return out;
  }

 private:
  [[nodiscard]] Json RankOf(int32_t rank_index) const {
    return context_.ranks.ranks[static_cast<size_t>(rank_index)].rank;
  }

  // Across clocks nothing can be said about arrivals.
  void AddWords(const MatchedInstance& i, Json& out) const {
    const auto known = [&](int64_t value) { return i.comparable ? Json(value) : Json(nullptr); };
    out["spread_ns"] = known(i.spread_ns);
    out["uncertainty_ns"] = known(i.uncertainty_ns);
    out["resolvable"] = i.resolvable;
    out["transfer_ns"] = i.transfer_ns < 0 ? Json(nullptr) : Json(i.transfer_ns);
    out["shortest_duration_ns"] = i.shortest_duration_ns;
    out["end_spread_ns"] = known(i.end_spread_ns);
    out["solo_damage_ns"] = known(i.solo_damage_ns);
    out["first_rank"] = i.comparable ? RankOf(i.first_rank_index) : Json(nullptr);
    out["last_rank"] = i.comparable ? RankOf(i.last_rank_index) : Json(nullptr);
    out["last_certain"] = i.last_certain;
  }

  [[nodiscard]] Json MemberOf(const MatchedInstance& i, const MatchedMember& m) const {
    Json out;
    out["rank"] = RankOf(m.rank_index);
    out["start_ns"] = m.start_ns - context_.run_start_ns;
    out["end_ns"] = m.end_ns - context_.run_start_ns;
    out["wait_ns"] = i.comparable ? Json(m.wait_ns) : Json(nullptr);
    out["wait_uncertainty_ns"] = i.comparable ? Json(m.wait_uncertainty_ns) : Json(nullptr);
    out["lateness_ns"] = i.comparable ? Json(LatenessNs(i, m)) : Json(nullptr);
    return out;
  }

  const AnalysisContext& context_;
};

Json ListJson(const AnalysisContext& context, ListedInstances& listed) {
  const InstanceJson rows(context);
  Json out = Json::array();
  for (const MatchedInstance& instance : listed.Finish()) out.push_back(rows.RowOf(instance));
  if (listed.leaves_out()) {
    context.notices.push_back(
        {"skew", fmt::format("{} of {} matched instances are listed: those with the most waiting; --instances=all "
                             "lists every one",
                             *context.options.instances, listed.count())});
  }
  return out;
}

}  // namespace

Json SkewView(const AnalysisContext& context, const SkewTotals& totals, ListedInstances* listed) {
  Json ranks = Json::array();
  for (size_t i = 0; i < totals.ranks.size(); ++i) {
    if (context.selected_ranks[i]) ranks.push_back(RankSkewRow(context.ranks.ranks[i].rank, totals.ranks[i]));
  }
  Json steps = Json::array();
  for (const StepSkew& step : totals.steps) steps.push_back(StepOf(context, step));
  Json out;
  out["unassigned_wait_ns"] = totals.unassigned_wait_ns;
  out["ranks"] = std::move(ranks);
  out["steps"] = std::move(steps);
  out["instances"] = listed != nullptr ? ListJson(context, *listed) : Json::array();
  return out;
}

}  // namespace lockstep
