// What a rank did itself right before each of its collective instances: the stretch from the end of the row that
// determined the start to the start, with its parts. The smallest pieces that a replay moves about.
//
// A segment (arrival_graph.h) walks back through other instances of the rank; its last piece begins at the end of the
// last of them. Pieces of earlier rows are taken away from the segment's parts, so that every stretch is counted once.
// Pure. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"

namespace lockstep {

inline constexpr int64_t kLeastWorkNs = 15'000;  // an unexplained stretch longer than this is taken for work

struct OwnGap {
  int64_t predecessor = -1;  // row of the same rank, below the own one; -1: none, the start stands as measured
  int64_t compute_ns = 0;
  int64_t copy_ns = 0;
  int64_t host_ns = 0;
  int64_t other_ns = 0;  // launch, dependency, rest; negative where the row overlaps its predecessor
  bool told = true;      // false: the trace has no segment, predecessor and parts are a guess

  [[nodiscard]] int64_t device_ns() const { return compute_ns + copy_ns + other_ns; }
  [[nodiscard]] int64_t length_ns() const { return device_ns() + host_ns; }
};

// Rows of communicators whose instances run beside other work: others start while they run.
[[nodiscard]] std::vector<bool> AsyncRows(const std::vector<ArrivalNode>& rows, const MatchResult& match);

// Of the rows of one rank, in order of start. length_ns() of each with a predecessor = start - end of that one.
[[nodiscard]] std::vector<OwnGap> OwnGaps(const std::vector<ArrivalNode>& rows, const std::vector<bool>& async);

}  // namespace lockstep
