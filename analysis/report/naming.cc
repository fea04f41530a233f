#include "analysis/report/naming.h"

#include "analysis/report/views/selection_notices.h"

namespace lockstep {

bool IsWholeRun(const Fleet& fleet) { return !JudgedOnMore(fleet) && fleet.options.kernels.empty(); }

Naming NameWhoIsWaitedFor(const ViewInput& input, const NamingParts& parts) {
  const Fleet& fleet = input.fleet;
  const FleetMeasures& measures = input.measures;
  Naming naming;
  naming.blame = ComputeWaitBlame(fleet, measures, parts.imbalance, parts.late);
  // The blame of the whole run would be more than the waiting of a part of it.
  const bool whole = IsWholeRun(fleet);
  NameCulprits(fleet, measures, parts.stragglers, whole ? &parts.blame : nullptr, naming.blame);
  naming.unresolved = ComputeUnresolved(fleet, measures, ComputeTimeShare(measures), naming.blame.culprits,
                                        parts.quality.waiting_kernel);
  DoubtBeside(naming.unresolved, naming.blame.culprits);
  naming.shown = parts.stragglers;
  naming.shown.stragglers.clear();
  for (const Straggler& straggler : parts.stragglers.stragglers) {
    const Culprit* named = NamedAs(naming.blame.culprits, straggler);
    if (whole && named == nullptr) continue;
    naming.shown.stragglers.push_back(straggler);
    naming.confidence.push_back(named != nullptr ? named->confidence : ConfidenceOf(straggler.p_adjusted));
  }
  return naming;
}

}  // namespace lockstep
