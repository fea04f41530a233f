// Joining rows by time: which rows of several ranks are one instance, when their clocks can be compared.
//
// The rows of one communicator never overlap on a rank, so each rank is a sequence. The sequences are merged in order
// of end: the earliest row that is in no instance yet gathers, of every other rank, the next row if both share an
// instant, their ends are close, their signatures agree, and neither fits a neighbouring instance better. No index is
// carried over a hole: a lost, an extra or a cut row costs one instance and shifts none. A first pass with wide limits
// measures how the ends of every rank really lie; the second pass uses that. O(n log m) for n rows of m ranks.
//
// Internal to the joining of instances.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

struct TimedRow {
  int64_t start_ns = 0;  // on the common axis
  int64_t end_ns = 0;
  RowRef ref;
};

// The rows of one rank, in order of start.
struct TimedSlot {
  std::vector<TimedRow> rows;
  int64_t tick_ns = 32;
  int64_t uncertainty_ns = 0;  // how far the axis may be off for this rank
};

struct TimedCluster {
  std::vector<RowRef> members;  // by slot, at most one each
  double confidence = 1;        // that no neighbour belongs here instead
  bool by_order = false;        // joined by order (sparse_join.h)
};

struct TimedJoin {
  std::vector<TimedCluster> clusters;  // every row is in exactly one
  int64_t joined = 0;                  // clusters of at least two rows
  double coverage = 0;                 // of the slot that fares worst: joined share of its rows while others run
  double exponent = 0;                 // as of an order join: joined * ln(distance by chance / measured distance)
};

// How far the ends of one collective may lie apart: those of small ones that far, those of large ones by this part of
// the shortest duration.
inline constexpr int64_t kEndScaleNs = 3'000;
inline constexpr int64_t kEndScalePart = 20;
[[nodiscard]] inline int64_t EndScaleOf(int64_t shortest_ns) {
  return std::max(kEndScaleNs, shortest_ns / kEndScalePart);
}

[[nodiscard]] TimedJoin JoinByTime(const JoinInput& input, const std::vector<TimedSlot>& slots);

// Median distance of successive ends of the busiest slot; 0 if no slot has two rows.
[[nodiscard]] int64_t SpacingOf(const std::vector<TimedSlot>& slots);

}  // namespace lockstep
