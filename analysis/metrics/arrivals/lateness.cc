#include "analysis/metrics/arrivals/lateness.h"

#include "analysis/metrics/arrivals/member_chains.h"

namespace lockstep {

std::string_view Name(LatenessPart part) {
  switch (part) {
    case LatenessPart::kCarryIn:
      return "carry_in";
    case LatenessPart::kCompute:
      return "compute";
    case LatenessPart::kCopy:
      return "copy";
    case LatenessPart::kWait:
      return "wait";
    case LatenessPart::kTransfer:
      return "transfer";
    case LatenessPart::kHost:
      return "host";
    case LatenessPart::kLaunch:
      return "launch";
    case LatenessPart::kDependency:
      return "dependency";
    case LatenessPart::kRest:
      return "rest";
  }
  return "rest";
}

InstanceLateness DecomposeLateness(const ArrivalGraph& graph, const MatchResult& match, uint32_t instance) {
  MemberChains chains;
  FillMemberChains(graph, match, instance, chains);
  if (!CanDecompose(chains)) return {};
  const Decomposition decomposition(match.instances[instance], chains);
  InstanceLateness out;
  out.decomposed = true;
  for (size_t i = 0; i < chains.members.size(); ++i) out.members.push_back(decomposition.Of(i));
  return out;
}

}  // namespace lockstep
