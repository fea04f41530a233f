#include "analysis/report/cross_rank.h"

#include <functional>
#include <iterator>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/stragglers/lateness_tests.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<const CrossRank>> AnalyseCrossRank(const AnalysisContext& context) {
  auto out = std::make_unique<CrossRank>();
  LOCKSTEP_ASSIGN_OR_RETURN(
      out->graph, LoadArrivalGraph(context.run, context.instances, context.ranks, context.match, context.executor));
  // The longest first: none needs another.
  LatenessTests tests;
  const std::function<void()> parts[] = {
      [&] { out->replay = std::make_unique<const Replay>(out->graph, context.match); },
      [&] { out->blame = PropagateBlame(out->graph, context.match); },
      [&] { tests = TestLateness(context.ranks, context.match, out->graph, context.options.layout); },
  };
  context.executor.ParallelFor(std::size(parts), [&](size_t i) { parts[i](); });
  out->stragglers =
      FindStragglers({context.run, context.ranks, context.match, out->graph, *out->replay, out->blame}, tests);
  return out;
}

}  // namespace lockstep
