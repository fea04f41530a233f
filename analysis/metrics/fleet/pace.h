// The course of each rank over the run: shares of time per bucket of the intersection of the spans on the aligned axis.
// A rank's own buckets are spread over those they fall into. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

struct PaceOfRank {
  size_t member = 0;  // into Fleet::members
  std::vector<double> compute;
  std::vector<double> comm;
  std::vector<double> busy;
  // Steps done by the end of each bucket, a step in progress by the part of its device window that has passed; counts
  // from the rank's first step. Empty without steps.
  std::vector<double> steps_done;
};

struct Pace {
  int64_t bucket_ns = 0;  // a power of two: the smallest that gives at most 256 buckets on every rank's grid
  int64_t start_ns = 0;   // aligned
  std::vector<PaceOfRank> ranks;
};

[[nodiscard]] Pace ComputePace(const Fleet& fleet);

}  // namespace lockstep
