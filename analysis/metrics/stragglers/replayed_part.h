// What a saving found by replaying a part of a run says of the whole run: causes that come now and then are more or
// fewer in a few steps than on average. How late a candidate is, is known of all of the run; what it costs goes with
// that. Pure. Units: ns.
#pragma once

#include <optional>
#include <vector>

#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/own_time.h"

namespace lockstep {

class ReplayedPart {
 public:
  // All of the run is replayed.
  ReplayedPart() = default;
  struct Measured {
    const std::vector<RankOwnTime>& own;  // by rank index
    const std::vector<Candidate>& candidates;
  };
  // `part`: measured in the replayed part alone.
  ReplayedPart(const Measured& run, const Measured& part);

  // Whether the part has enough of what makes a candidate late. Candidates as numbered in the run.
  [[nodiscard]] bool Shows(size_t candidate) const { return ratios_.empty() || ratios_[candidate] > 0; }
  // The saving in a step of the run of what saves so much in one of the part; null where the part does not show it.
  [[nodiscard]] std::optional<WhatIf> OfTheRun(size_t candidate, std::optional<WhatIf> what_if) const;

 private:
  std::vector<double> ratios_;  // lateness in the run per lateness in the part; 0 = not shown. Empty: all is replayed
};

}  // namespace lockstep
