#include "analysis/report/views/skew_instance.h"

#include "analysis/metrics/skew/skew.h"
#include "analysis/model/row_values.h"
#include "analysis/report/views/group_names.h"
#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

int32_t RankOfIndex(const AnalysisContext& context, int32_t rank_index) {
  return context.ranks.ranks[static_cast<size_t>(rank_index)].rank;
}

}  // namespace

// Across clocks nothing can be said about arrivals.
report::SkewMember SkewMemberOf(const AnalysisContext& context, const MatchedInstance& i, const MatchedMember& m) {
  report::SkewMember out;
  out.rank = RankOfIndex(context, m.rank_index);
  out.start_ns = m.start_ns - context.run_start_ns;
  out.end_ns = m.end_ns - context.run_start_ns;
  if (!i.comparable) return out;
  out.wait_ns = m.wait_ns;
  out.wait_uncertainty_ns = m.wait_uncertainty_ns;
  out.lateness_ns = LatenessNs(i, m);
  return out;
}

report::SkewInstance SkewInstanceOf(const AnalysisContext& context, const MatchedInstance& i) {
  report::SkewInstance out;
  const Communicator& communicator = context.match.communicators[i.communicator];
  out.communicator_id = communicator.id;
  out.communicator_name = NameOfGroup(communicator);
  out.index = i.index;
  out.seq = KnownIf<report::Digits>(i.seq != kNoSeq, i.seq);
  out.op = TextIfAny(Name(i.op));
  out.bytes = KnownIf<report::Count>(i.bytes != kUnknownBytes, i.bytes);
  out.step = KnownIf(i.step != kNoStep, i.step);
  out.spread_ns = KnownIf<report::Count>(i.comparable, i.spread_ns);
  out.uncertainty_ns = KnownIf<report::Count>(i.comparable, i.uncertainty_ns);
  out.resolvable = i.resolvable;
  out.transfer_ns = KnownIf<report::Count>(i.transfer_ns >= 0, i.transfer_ns);
  out.shortest_duration_ns = i.shortest_duration_ns;
  out.end_spread_ns = KnownIf<report::Count>(i.comparable, i.end_spread_ns);
  out.solo_damage_ns = KnownIf<report::Count>(i.comparable, i.solo_damage_ns);
  if (i.comparable) out.first_rank = RankOfIndex(context, i.first_rank_index);
  if (i.comparable) out.last_rank = RankOfIndex(context, i.last_rank_index);
  out.last_certain = i.last_certain;
  out.complete = i.complete;
  out.confidence = i.confidence;
  return out;
}

}  // namespace lockstep
