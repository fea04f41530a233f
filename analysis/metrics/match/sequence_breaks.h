// Where the sequence of a rank's instances broke, read off the joined instances of one communicator.
#pragma once

#include <memory>
#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

inline constexpr size_t kMaxBreaksPerRank = 64;

// `instances`: of one communicator, in order of their index. `ranks`: rank indices that carry instances of it,
// ascending. Runs of instances that a rank lacks, and of rows that nobody else has; by rank, then time; the first
// kMaxBreaksPerRank of each rank.
[[nodiscard]] std::vector<SequenceBreak> FindBreaks(uint32_t communicator, const std::vector<int32_t>& ranks,
                                                    const std::vector<const MatchedInstance*>& instances);

// The same while the chapters of a run pass by: fed with all instances of each communicator in their order. What a rank
// lacks before its first instance is not told.
class BreakFinder {
 public:
  BreakFinder();
  ~BreakFinder();
  BreakFinder(const BreakFinder& other);
  BreakFinder& operator=(const BreakFinder&) = delete;

  void Add(const MatchedInstance& instance);
  // By communicator, rank, time. The finder is used up.
  [[nodiscard]] std::vector<SequenceBreak> Finish();

 private:
  struct OfCommunicator;
  std::vector<std::unique_ptr<OfCommunicator>> communicators_;
};

}  // namespace lockstep
