#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/model/row_values.h"
#include "analysis/report/views/percentiles.h"
#include "analysis/report/views/skew_instance.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

int32_t RankAtIndex(const AnalysisContext& context, int32_t rank_index) {
  return context.ranks.ranks[static_cast<size_t>(rank_index)].rank;
}

report::SkewOfRank SkewOfRankRow(int32_t rank, const RankSkew& skew) {
  return {.rank = rank,
          .lateness_ns = PercentilesOf(skew.lateness_ns),
          .wait_ns = PercentilesOf(skew.wait_ns),
          .wait_total_ns = skew.wait_total_ns,
          .wait_uncertainty_ns = skew.wait_uncertainty_ns,
          .caused_wait_total_ns = skew.caused_wait_total_ns,
          .caused_wait_uncertainty_ns = skew.caused_uncertainty_ns,
          .last_arrivals = skew.last_arrivals,
          .last_arrival_ratio = ShareOf(skew.last_arrivals, skew.certain_instances),
          .instances = skew.instances};
}

report::SkewOfStep SkewOfStepRow(const AnalysisContext& context, const StepSkew& step) {
  report::SkewOfStep out;
  out.step = step.step;
  out.instances = step.instances;
  out.wait_total_ns = step.wait_total_ns;
  out.wait_uncertainty_ns = step.wait_uncertainty_ns;
  if (step.worst_rank_index >= 0) {
    out.worst_rank = RankAtIndex(context, step.worst_rank_index);
    out.worst_caused_wait_ns = step.worst_caused_wait_ns;
  }
  out.spread_ns = PercentilesOf(step.spread_ns);
  return out;
}

std::vector<report::SkewInstance> SkewInstancesOf(const AnalysisContext& context, ListedInstances& listed) {
  std::vector<report::SkewInstance> out;
  for (const MatchedInstance& instance : listed.Finish()) {
    report::SkewInstance& row = out.emplace_back(SkewInstanceOf(context, instance));
    row.members.reserve(instance.members.size());
    for (const MatchedMember& m : instance.members) row.members.push_back(SkewMemberOf(context, instance, m));
  }
  if (listed.leaves_out()) {
    context.notices.push_back(
        {"skew", fmt::format("{} of {} matched instances are listed: those with the most waiting; --instances=all "
                             "lists every one",
                             *context.options.instances, listed.count())});
  }
  return out;
}

}  // namespace

report::Skew SkewView(const AnalysisContext& context, const SkewTotals& totals, ListedInstances* listed) {
  report::Skew out;
  out.unassigned_wait_ns = totals.unassigned_wait_ns;
  for (size_t i = 0; i < totals.ranks.size(); ++i) {
    if (context.selected_ranks[i]) out.ranks.push_back(SkewOfRankRow(context.ranks.ranks[i].rank, totals.ranks[i]));
  }
  for (const StepSkew& step : totals.steps) out.steps.push_back(SkewOfStepRow(context, step));
  if (listed != nullptr) out.instances = SkewInstancesOf(context, *listed);
  return out;
}

}  // namespace lockstep
