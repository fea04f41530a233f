#include "analysis/report/views/stragglers_view.h"

#include <fmt/format.h>

#include "analysis/report/json.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {
namespace {

Json PartsJson(const Straggler& straggler) {
  Json list = Json::array();
  for (const StragglerPart& part : straggler.parts) {
    const std::string_view cause = Name(part.cause);
    list.push_back({{"cause", cause.empty() ? "unknown" : cause},
                    {"kernel", TextOrNull(part.kernel)},
                    {"ns", part.ns_per_step},
                    {"excess_ratio", part.excess_ratio > 0 ? Json(part.excess_ratio) : Json(nullptr)}});
  }
  return list;
}

// The host that all its ranks are on; null where they are on several, or it is not known.
Json HostOf(const ViewInput& input, const Straggler& straggler) {
  if (straggler.rank_indices.empty()) return nullptr;
  const std::vector<ResolvedRank>& ranks = input.context.ranks.ranks;
  const std::string& host = ranks[static_cast<size_t>(straggler.rank_indices.front())].host;
  for (const int32_t index : straggler.rank_indices) {
    if (ranks[static_cast<size_t>(index)].host != host) return nullptr;
  }
  return TextOrNull(host);
}

Json RankOfStraggler(const ViewInput& input, const Straggler& straggler) {
  if (straggler.scope != StragglerScope::kRank || straggler.rank_indices.size() != 1) return nullptr;
  return input.context.ranks.ranks[static_cast<size_t>(straggler.rank_indices.front())].rank;
}

Json RanksOfStraggler(const ViewInput& input, const Straggler& straggler) {
  Json list = Json::array();
  for (const int32_t index : straggler.rank_indices) {
    list.push_back(input.context.ranks.ranks[static_cast<size_t>(index)].rank);
  }
  return list;
}

void AddSaving(const std::optional<WhatIf>& what_if, Json& json) {
  json["saving_ns_per_step"] = what_if ? Json(what_if->saving_ns_per_step) : Json(nullptr);
  json["saving_ratio"] = what_if ? Json(what_if->saving_ratio) : Json(nullptr);
  json["saving_bound_ns"] =
      what_if ? Json({what_if->bound_lo_ns_per_step, what_if->bound_hi_ns_per_step}) : Json(nullptr);
}

Json StragglerJson(const ViewInput& input, const Straggler& straggler) {
  Json json;
  json["scope"] = Name(straggler.scope);
  json["id"] = straggler.id;
  json["rank"] = RankOfStraggler(input, straggler);
  json["host"] = HostOf(input, straggler);
  json["ranks"] = RanksOfStraggler(input, straggler);
  json["kind"] = Name(straggler.kind);
  json["effect_ns_per_step"] = straggler.effect_ns_per_step;
  json["confidence_interval_ns"] = {straggler.confidence_ns.first, straggler.confidence_ns.second};
  json["p_adjusted"] = straggler.p_adjusted;
  AddSaving(straggler.what_if, json);
  json["saving_reason"] = TextOrNull(straggler.why_no_saving);
  json["saving_after_others_ratio"] =
      straggler.after_others ? Json(straggler.after_others->saving_ratio) : Json(nullptr);
  json["blamed_wait_ns"] = straggler.blame.wait_ns;
  json["blamed_critical_ns"] = straggler.blame.critical_ns;
  json["frontier"] = Name(straggler.frontier);
  json["parts"] = PartsJson(straggler);
  json["persistence"] = straggler.persistence;
  json["period_steps"] = OrNull(straggler.period_steps);
  json["steps"] = straggler.steps;
  json["n_eff"] = straggler.n_eff;
  return json;
}

void NotifyOfUndecided(const ViewInput& input, const StragglerResult& result) {
  constexpr size_t kMostTold = 5;
  for (size_t i = 0; i < result.undecided.size() && i < kMostTold; ++i) {
    const Undecided& it = result.undecided[i];
    const std::optional<WhatIf>& what_if = it.looks.what_if;
    const std::string worth =
        what_if ? fmt::format(" and worth {:.1f} % of the {}", 100 * what_if->saving_ratio, result.unit) : "";
    input.Notify("stragglers",
                 fmt::format("not enough data: {} looks late{}, but {} {}s are worth only {:.1f} independent ones; "
                             "about {} would decide it",
                             ScopedName(it.scope, it.id), worth, it.steps, result.unit, it.n_eff, it.steps_needed));
  }
  if (result.undecided.size() > kMostTold) {
    input.Notify("stragglers", fmt::format("not enough data for {} more", result.undecided.size() - kMostTold));
  }
}

}  // namespace

Json StragglersView(const ViewInput& input, const StragglerResult& result) {
  NotifyOfStragglersOfAll(input, "stragglers");
  if (!result.reason.empty()) input.Notify("stragglers", result.reason);
  NotifyOfUndecided(input, result);
  Json list = Json::array();
  for (const Straggler& straggler : result.stragglers) list.push_back(StragglerJson(input, straggler));
  return list;
}

}  // namespace lockstep
