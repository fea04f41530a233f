// For whom the members of an instance waited. Pure. Units: ns; sums stop at the limits of int64.
#pragma once

#include <cstdint>

#include "analysis/metrics/match/match.h"

namespace lockstep {

// Sum of the waits of all members.
[[nodiscard]] int64_t TotalWaitNs(const MatchedInstance& instance);
// Half-width of its 95 % interval: the sum of those of the waits.
[[nodiscard]] int64_t TotalWaitUncertaintyNs(const MatchedInstance& instance);

// What members of an instance waited for one of them.
struct CausedWait {
  int32_t rank_index = -1;  // who was awaited
  int64_t wait_ns = 0;
  int64_t uncertainty_ns = 0;    // half-width of its 95 % interval
  int64_t awaited_start_ns = 0;  // aligned
  bool certain = false;          // it can have been for nobody else
  bool in_pair = false;          // between a sender and its receiver
  bool open = false;             // a member without a record may have come later still
};

// Whether it is between a sender and its receiver. An exchange of two counts as well: names alone do not tell it from a
// send and its receive.
[[nodiscard]] inline bool IsInPair(const MatchedInstance& instance) {
  return !instance.in_sequence || (instance.op == CollectiveOp::kSendRecv && instance.members.size() == 2);
}

// use(CausedWait) for an instance that is usable(): once, for the last one, where everybody waits for everybody; else
// for each member that waited. The waits sum to TotalWaitNs.
template <typename Use>
void ForEachCausedWait(const MatchedInstance& instance, const Use& use) {
  if (instance.all_pairs) {
    use(CausedWait{instance.last_rank_index, TotalWaitNs(instance), TotalWaitUncertaintyNs(instance),
                   instance.last_start_ns, instance.last_certain, IsInPair(instance), instance.lacking});
    return;
  }
  for (const MatchedMember& m : instance.members) {
    if (m.wait_ns == 0) continue;
    use(CausedWait{m.awaits, m.wait_ns, m.wait_uncertainty_ns, m.arrival_ns, m.awaits_certainly, IsInPair(instance),
                   m.latest_arrival_ns == kNeverArrived});
  }
}

}  // namespace lockstep
