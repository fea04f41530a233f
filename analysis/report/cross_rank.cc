#include "analysis/report/cross_rank.h"

#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<const CrossRank>> AnalyseCrossRank(const AnalysisContext& context) {
  auto out = std::make_unique<CrossRank>();
  LOCKSTEP_ASSIGN_OR_RETURN(
      out->graph, LoadArrivalGraph(context.run, context.instances, context.ranks, context.match, context.executor));
  out->blame = PropagateBlame(out->graph, context.match);
  out->replay = std::make_unique<const Replay>(out->graph, context.match);
  out->stragglers = FindStragglers(
      {context.run, context.ranks, context.match, out->graph, *out->replay, out->blame, context.options.layout},
      context.executor);
  return out;
}

}  // namespace lockstep
