// Matches a run: joins its instances across ranks and aligns its clocks, at once or stretch by stretch.
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/match/rank_islands.h"
#include "analysis/model/instance_source.h"

namespace lockstep {

// Matches a run that is one chapter.
[[nodiscard]] absl::StatusOr<MatchResult> MatchRun(const RunData& run, InstanceSource& instances,
                                                   const RankResolution& ranks, Executor& executor);

// Matches a run stretch by stretch, in order of time: communicators keep their places, clocks go on from what is known
// of them, and what had to be found (members of lanes, clock domains, large biases of devices) is found in the first
// stretch. Borrows both. Not thread safe.
class RunMatcher {
 public:
  enum class Extent { kWhole, kStretches };  // the run is one stretch; or there are others

  RunMatcher(const RunData& run, const RankResolution& ranks, Extent extent);
  ~RunMatcher();
  RunMatcher(const RunMatcher& other);  // knows what the other one knows
  RunMatcher& operator=(const RunMatcher&) = delete;

  // `from`: where this stretch takes over from the one before. drops, rank_drops and lost are not filled (MatchCounts).
  // Errors: those of the instances.
  [[nodiscard]] absl::StatusOr<MatchResult> Match(InstanceSource& instances, AlignedTime from, Executor& executor);
  // The clocks of all stretches so far, in one.
  [[nodiscard]] const ClockModel& clock() const;
  // Sets of ranks that neither a communicator nor a clock connects with the others, by what is known after the first
  // stretch.
  [[nodiscard]] RankIslands Islands() const;
  // Of one of these sets: clocks and communicators as the other matcher knows them, which began as this one did.
  void TakeOver(const RunMatcher& other, const std::vector<size_t>& ranks);

 private:
  struct Known;
  const RunData& run_;
  const RankResolution& ranks_;
  const Extent extent_;
  std::unique_ptr<Known> known_;
};

}  // namespace lockstep
