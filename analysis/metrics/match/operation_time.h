// How long the operations of one class (operation, bytes) take by themselves, so that who takes longer is known to have
// waited. For roots.h; docs/algorithms/collectives.md, "Waits beyond the roles". Pure. Units: ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/metrics/match/join/instance_join.h"

namespace lockstep {

// The members that started last, and second last. Borrowed.
struct LastTwo {
  const MatchedMember* last = nullptr;
  const MatchedMember* second = nullptr;
};
[[nodiscard]] LastTwo LastTwoOf(const MatchedInstance& instance);

// Instances in which one rank is the last: whether it takes as long however late it comes, as a root does. A leaf ends
// with the data of another member, so that its ends keep closer to the starts of that one than to its own.
class LatenessOfOne {
 public:
  // Borrows both.
  void Add(const MatchedInstance& instance, const MatchedMember& last) { instances_.emplace_back(&instance, &last); }
  [[nodiscard]] bool TakesAsLongHoweverLate() const;

 private:
  // Of the last one's ends, counted from the starts of a member.
  [[nodiscard]] double ScatterOfEnds(int32_t rank_index) const;

  std::vector<std::pair<const MatchedInstance*, const MatchedMember*>> instances_;
};

// Who starts last waits for nobody. Borrows the instances.
class OperationTime {
 public:
  void Add(const JoinedInstance& joined);
  // After all of them, and before anything is asked.
  void Settle();

  // The longest that one takes.
  [[nodiscard]] int64_t takes_ns() const { return takes_ns_; }
  // Beyond that, however much it scatters.
  [[nodiscard]] int64_t clearly_longer_ns() const { return clearly_longer_ns_; }
  // Whether these hold for this instance.
  [[nodiscard]] bool IsKnown(const MatchedInstance& instance) const;
  // What this one does not take without a wait; INT64_MAX: it is not known.
  [[nodiscard]] int64_t AtMost(const MatchedInstance& instance) const;

 private:
  int64_t takes_ns_ = 0;
  int64_t clearly_longer_ns_ = 0;
  size_t instances_ = 0;
  std::map<int32_t, LatenessOfOne> of_last_;  // of operations from a root: by who started last
  bool shown_ = false;                        // by one whose duration is that of the operation
  // It is not shown; but in most instances nobody took longer than that, with all waits. Where all end soon after the
  // last start, the operation was not slow: who takes far longer has waited for that one.
  bool by_longest_ = false;
  std::vector<int64_t> durations_;  // of last starters
  std::vector<int64_t> longest_;    // of any member, by instance
};

}  // namespace lockstep
