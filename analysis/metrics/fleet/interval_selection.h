// Interval measures (|C|, |M|, ... of definitions.md) of one source over what was asked for, from its condensed rows.
//
// Whole source and steps are exact. Steps are selected by launch: for each run of consecutive selected steps the sum of
// the tiles, minus what activities launched in no step or before it add inside, plus what its own activities add beyond
// it; where steps interleave, what runs of them counts once (SourceSummary::step_overlaps), in the time from the first
// start to the last end of each stretch, and idle whose cause no tile of the selection tells is "other". A time
// selection is snapped outward to buckets. Units: ns. Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

// No selected rank has any device activity: there is nothing to measure.
[[nodiscard]] bool NothingRan(const Fleet& fleet);

// Half-open index range of the buckets that touch [start, end) of the sources' axis.
struct BucketRange {
  int64_t first = 0;
  int64_t last = 0;  // one past
};
[[nodiscard]] BucketRange BucketsTouching(int64_t bucket_ns, std::pair<int64_t, int64_t> window_ns);

// All of the source: the sum of its step tiles.
[[nodiscard]] IntervalMeasure MeasureWhole(const SourceData& source);

// What was launched in the steps of rows [first, last) of source.steps, last > first: what a selection of them holds.
[[nodiscard]] IntervalMeasure MeasureStepRun(const SourceData& source, size_t first, size_t last);

// What the fleet's options select of a rank.
[[nodiscard]] IntervalMeasure MeasureSelected(const Fleet& fleet, const FleetRank& member);

// The buckets that lie wholly inside [start, end) of the source's axis; idle time of buckets that were not recorded is
// counted as other idle.
[[nodiscard]] IntervalMeasure MeasureBuckets(const SourceData& source, int64_t start_ns, int64_t end_ns);

// First and last index (one past) of source.steps of each run of consecutive selected rows.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> SelectedStepRuns(const Fleet& fleet, const SourceData& source);

// Whether MeasureSelected of steps is exact. Rows tell it where no two stretches of consecutive ones have work at the
// same time (it would count twice), and nothing launched before a stretch runs on beyond its end. Where ranges nest or
// interleave, or work runs late by more than what was selected, the source's step_overlaps tell it, of steps whose
// numbers follow one another; else it is not.
[[nodiscard]] bool IsStepSelectionExact(const Fleet& fleet, const SourceData& source);

// Makes the parts tile span_ns again: what is missing becomes other idle, what is too much is taken from idle.
void CloseIdentity(IntervalMeasure& measure, int64_t span_ns);

}  // namespace lockstep
