// Whom each member of a joined instance waits for, as far as its operation and the records tell.
//
// Of an all-pairs operation everybody waits for the last one; of a broadcast or scatter the others for the root; of a
// reduce or gather the root for the others; a receiver for its sender, and a sender whose send blocks for its receiver.
// Where the root is not known, or an exchange is not known to bind all of its members, a member may have waited for
// anyone who started before it ended, and surely for nobody; but one that took longer than the operation does has
// waited for those who came that late, also where the root is known. Where a member that the communicator has is
// without a record, nothing bounds what the others waited for it. Source: the relations of NCCL's device code,
// docs/algorithms/collectives.md. Pure. Times are aligned, ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

struct Awaited {
  const MatchedMember* member = nullptr;  // it cannot end before this one has started; null: nobody is known to be
  int64_t latest_ns = INT64_MIN;          // nor did it wait any longer than until then; kNeverArrived: not known
  bool of_several = false;                // `member` is the last of several that it waits for
};

class AwaitedMembers {
 public:
  // Borrows the instance, which has two members or more, and whose `lacking` and `uncertainty_ns` are filled.
  AwaitedMembers(const JoinedInstance& joined, bool all_pairs);

  [[nodiscard]] Awaited Of(const MatchedMember& member) const;

 private:
  [[nodiscard]] Awaited ForAll() const;
  [[nodiscard]] Awaited ForOne(int32_t rank_index) const;
  [[nodiscard]] Awaited ForReceiver(const MatchedMember& sender) const;
  [[nodiscard]] Awaited ForSomebody(const MatchedMember& member) const;
  [[nodiscard]] int64_t Uncertainty() const;
  [[nodiscard]] const MatchedMember* FirstThatExplains(const MatchedMember& member) const;
  [[nodiscard]] const MatchedMember* Find(int32_t rank_index) const;
  [[nodiscard]] const MatchedMember* LastBefore(int64_t end_ns) const;

  const JoinedInstance& joined_;
  bool all_pairs_;
  const MatchedMember* last_ = nullptr;         // latest start, then lowest rank
  std::vector<const MatchedMember*> by_start_;  // filled where it is not simply the last one that is waited for
};

}  // namespace lockstep
