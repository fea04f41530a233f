#include "analysis/report/cross_rank.h"

#include <functional>
#include <iterator>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/stragglers/tested_lateness.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<const CrossRank>> AnalyseCrossRank(const AnalysisContext& context) {
  auto out = std::make_unique<CrossRank>();
  LOCKSTEP_ASSIGN_OR_RETURN(
      out->graph, LoadArrivalGraph(context.run, context.instances, context.ranks, context.match, context.executor));
  // The longest first: none needs another.
  TestedLateness tested;
  const std::function<void()> parts[] = {
      [&] { out->replay = std::make_unique<const Replay>(out->graph, context.match); },
      [&] { out->blame = PropagateBlame(out->graph, context.match); },
      [&] { tested = TestLateness(context.ranks, context.match, out->graph, context.options.layout); },
  };
  context.executor.ParallelFor(std::size(parts), [&](size_t i) { parts[i](); });
  out->stragglers =
      FindStragglers({context.run, context.ranks, context.match, out->graph, *out->replay, out->blame}, tested);
  return out;
}

}  // namespace lockstep
