#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include "analysis/base/unit_text.h"
#include "analysis/report/views/group_names.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

std::vector<report::StragglerPart> PartsOfStraggler(const Straggler& straggler) {
  std::vector<report::StragglerPart> list;
  for (const StragglerPart& part : straggler.parts) {
    list.push_back({.cause = TextIfAny(Name(part.cause)).value_or("unknown"),
                    .kernel = TextIfAny(part.kernel),
                    .ns = part.ns_per_step,
                    .excess_ratio = KnownIf(part.excess_ratio > 0, part.excess_ratio)});
  }
  return list;
}

// The host that all its ranks are on; nothing where they are on several, or it is not known.
std::optional<std::string> HostOfStraggler(const ViewInput& input, const Straggler& straggler) {
  if (straggler.rank_indices.empty()) return std::nullopt;
  const std::vector<ResolvedRank>& ranks = input.context.ranks.ranks;
  const std::string& host = ranks[static_cast<size_t>(straggler.rank_indices.front())].host;
  for (const int32_t index : straggler.rank_indices) {
    if (ranks[static_cast<size_t>(index)].host != host) return std::nullopt;
  }
  return TextIfAny(host);
}

void AddSaving(const Straggler& straggler, report::StragglerRow& row) {
  if (const std::optional<WhatIf>& what_if = straggler.what_if) {
    row.saving_ns_per_step = what_if->saving_ns_per_step;
    row.saving_ratio = what_if->saving_ratio;
    row.saving_bound_ns = std::pair(what_if->bound_lo_ns_per_step, what_if->bound_hi_ns_per_step);
  }
  row.saving_reason = TextIfAny(straggler.why_no_saving);
  if (straggler.after_others) row.saving_after_others_ratio = straggler.after_others->saving_ratio;
}

report::StragglerRow StragglerRowOf(const ViewInput& input, const StragglerResult& result, const Straggler& straggler) {
  report::StragglerRow row;
  row.scope = Name(straggler.scope);
  row.id = straggler.id;
  if (straggler.scope == StragglerScope::kCommunicator) row.name = NameOfGroup(input.context.match, straggler.id);
  for (const int32_t index : straggler.rank_indices) {
    row.ranks.push_back(input.context.ranks.ranks[static_cast<size_t>(index)].rank);
  }
  if (straggler.scope == StragglerScope::kRank && row.ranks.size() == 1) row.rank = row.ranks.front();
  row.host = HostOfStraggler(input, straggler);
  row.kind = Name(straggler.kind);
  row.effect_ns_per_step = straggler.effect_ns_per_step;
  row.confidence_interval_ns = straggler.confidence_ns;
  row.p_adjusted = straggler.p_adjusted;
  AddSaving(straggler, row);
  row.blamed_wait_ns = straggler.blame.wait_ns;
  row.blamed_critical_ns = straggler.blame.critical_ns;
  row.frontier = Name(straggler.frontier);
  row.parts = PartsOfStraggler(straggler);
  row.persistence = straggler.persistence;
  row.period_steps = straggler.period_steps;
  row.steps = straggler.steps;
  row.block_ns = KnownIf(!result.are_steps(), report::Count(result.unit_ns));
  row.n_eff = straggler.n_eff;
  return row;
}

void NotifyOfUndecided(const ViewInput& input, const StragglerResult& result) {
  constexpr size_t kMostShown = 5;
  for (size_t i = 0; i < result.undecided.size() && i < kMostShown; ++i) {
    const Undecided& it = result.undecided[i];
    const std::optional<WhatIf>& what_if = it.looks.what_if;
    const std::string saving = what_if ? fmt::format(", with a possible saving of {:.1f} % of the {}",
                                                     100 * what_if->saving_ratio, result.unit)
                                       : "";
    const std::string help = it.steps_needed > it.steps ? fmt::format("; about {} would", CountText(it.steps_needed))
                                                        : ", as others are late as often";
    input.Notify("stragglers", fmt::format("not enough data: {} looks late{}, but {}{} do not decide it{}",
                                           ScopedName(it.scope, it.id), saving, UnitsText(result, it.steps),
                                           WorthText(it.steps, it.n_eff), help));
  }
  if (result.undecided.size() > kMostShown) {
    input.Notify("stragglers", fmt::format("not enough data: {} more look late, and are not decided either",
                                           result.undecided.size() - kMostShown));
  }
}

}  // namespace

std::vector<report::StragglerRow> StragglersView(const ViewInput& input, const Naming& naming) {
  const StragglerResult& result = naming.shown;
  if (!result.reason.empty()) input.Notify("stragglers", result.reason);
  NotifyOfUndecided(input, result);
  if (naming.unresolved && naming.unresolved->leads) input.Notify("stragglers", std::string(report::kOnlyOfCompared));
  if (!result.are_steps() && !result.stragglers.empty()) {
    input.Notify("stragglers",
                 fmt::format("the collectives have no steps, so a step of this view is a block of time of {}",
                             TimeText(result.unit_ns)));
  }
  NotifyOfStragglersOfAll(input, "stragglers");
  std::vector<report::StragglerRow> rows;
  rows.reserve(result.stragglers.size());
  // Where the blame is not used, nobody is told by it.
  const bool traced = naming.blame.traced || !IsWholeRun(input.fleet);
  for (size_t i = 0; i < result.stragglers.size(); ++i) {
    report::StragglerRow& row = rows.emplace_back(StragglerRowOf(input, result, result.stragglers[i]));
    row.confidence = naming.confidence[i];
    if (!traced) row.blamed_wait_ns = row.blamed_critical_ns = std::nullopt;
  }
  return rows;
}

}  // namespace lockstep
