// Who is named as the one that makes the others wait, and what is not known: computed once, so that the summary, the
// stragglers and the findings of one report say the same. Pure. Units: ns.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

struct Naming {
  WaitBlame blame;  // with all that are named
  std::optional<UnresolvedTime> unresolved;
  // Without those for whom nobody waits, where the whole run is judged: what is shown of the stragglers.
  StragglerResult shown;
  std::vector<double> confidence;  // parallel to `shown.stragglers`
};

struct NamingParts {
  const Imbalance& imbalance;
  const Quality& quality;
  const LateArrivalsSum& late;
  const StragglerResult& stragglers;  // borrowed by the result
  const BlameResult& blame;
};

[[nodiscard]] Naming NameWhoIsWaitedFor(const ViewInput& input, const NamingParts& parts);

// Everything of the run was asked for, as the stragglers are always judged.
[[nodiscard]] bool IsWholeRun(const Fleet& fleet);

}  // namespace lockstep
