// The window in which ranks are compared: the intersection of their spans on the aligned axis, shrunk to whole steps
// where all have them.
//
// Steps: the longest run of consecutive steps that every rank has and, inside one clock component, whose device windows
// overlap across the ranks, unless most steps that every rank has do not. Each rank is then measured over its own
// windows of those steps, so that each rank's identity stays exact; the window's length is the longest of them. Else
// buckets: each rank has a grid of its own, so each is measured over as many whole buckets inside the intersection, the
// number that fits all of them. A single rank without steps: its span. Spans: last resort when the ranks share nothing;
// the gate common_window then fails. None: no rank has device activity, or steps were asked for that the ranks do not
// share. Time: --time of files, which are cut at it: each rank over its part of exactly that time, where the captures
// leave out no more than a bucket of it; also of a time that is shorter than the buckets. Ranges: --nvtx: each rank
// over all that its own ranges of that name launched; their numbers are those of each rank alone. Of selected steps a
// rank is measured as MeasureSelected does, so that all views tell the same of them. Ranks of several clock components
// are compared on the UTC claims of their references. Units: ns. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/model/row_values.h"

namespace lockstep {

enum class WindowKind : uint8_t {
  kNone = 0,
  kSteps = 1,
  kBuckets = 2,
  kSpan = 3,
  kDisjoint = 4,
  kTime = 5,
  kRanges = 6,
};
[[nodiscard]] std::string_view Name(WindowKind kind);  // as in docs/algorithms/imbalance.md

struct CommonWindow {
  WindowKind kind = WindowKind::kNone;
  int64_t start_ns = 0;         // aligned; earliest start of any member's part
  int64_t span_ns = 0;          // T: the longest part of any member
  int64_t intersection_ns = 0;  // of the spans (or of what was asked for)
  int64_t median_span_ns = 0;
  int64_t bucket_ns = 0;
  int64_t first_step = kNoStep;  // kSteps only
  int64_t last_step = kNoStep;
  // Parallel to Fleet::members. kSteps: rows [first, last) of each member's steps. kBuckets: its window on its own
  // clock, span_ns long.
  std::vector<std::pair<size_t, size_t>> step_rows;
  std::vector<std::pair<int64_t, int64_t>> local_ns;

  // Each rank is measured over all that was asked for of it, so what is swept for the selection is that of the window.
  bool of_selection = false;

  // False when the ranks share less than half of the median span (gate common_window).
  [[nodiscard]] bool LongEnough() const {
    return kind != WindowKind::kDisjoint && 2 * intersection_ns >= median_span_ns;
  }
};

[[nodiscard]] CommonWindow FindCommonWindow(const Fleet& fleet);

// One member's measure over the window; `member` indexes Fleet::members.
[[nodiscard]] IntervalMeasure MeasureCommon(const Fleet& fleet, const CommonWindow& window, size_t member);

}  // namespace lockstep
