#include "analysis/metrics/match/caused_wait.h"

#include "analysis/base/saturating.h"

namespace lockstep {

int64_t TotalWaitNs(const MatchedInstance& instance) {
  int64_t total = 0;
  for (const MatchedMember& m : instance.members) total = AddStopping(total, m.wait_ns);
  return total;
}

int64_t TotalWaitUncertaintyNs(const MatchedInstance& instance) {
  int64_t total = 0;
  for (const MatchedMember& m : instance.members) total = AddStopping(total, m.wait_uncertainty_ns);
  return total;
}

}  // namespace lockstep
