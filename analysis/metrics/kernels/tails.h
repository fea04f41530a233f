// Who carries the long durations of a kernel: by rank, host, phase, step and time slice, with the longest instances.
//
// tail_score: share of the fleet's GPU time lost to durations above 2 p50. share_of_tail: share of the instances that
// lie in histogram buckets above that of the fleet's p99. The condensed data know the step of the longest instances of
// a kernel (KernelRow::longest): by step, and by phase where only the steps tell it, those are counted and the rest of
// the tail is not told. Collectives also give their wait and transfer. Units: ns. Pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/kernels/kernels.h"
#include "analysis/model/row_values.h"

namespace lockstep {

// The tail's share of one part of the fleet.
struct TailPart {
  std::string label;     // host or phase; "" for ranks and slices
  size_t member = 0;     // ranks
  int64_t start_ns = 0;  // slices; aligned
  int64_t span_ns = 0;
  Sketch durations;       // of the part; empty for slices, and for phases that only the steps tell
  int64_t above = 0;      // instances above the fleet's p99 bucket
  int64_t excess_ns = 0;  // its part of the sum behind the fleet's tail_score
};

struct TailStep {
  int64_t step = kNoStep;
  int64_t above = 0;
};

struct TailExemplar {
  size_t member = 0;
  Exemplar instance;
};

struct TailRow {
  std::string name;
  std::optional<Category> category;
  Sketch durations;
  TailScore score;
  int64_t above = 0;  // of the fleet; null shares when 0
  std::vector<TailPart> by_rank;
  std::vector<TailPart> by_host;   // by name; ranks of unknown host are left out
  std::vector<TailPart> by_phase;  // only where a phase is known; by name
  std::vector<TailPart> by_slice;
  std::vector<TailStep> by_step;        // at most 8, largest part first, then lowest step
  int64_t above_of_known_step = 0;      // of `above`: those among the longest instances, of some step or none
  std::vector<TailExemplar> exemplars;  // at most 8, longest first, then earliest, then lowest rank
  Sketch wait;                          // collectives only
  Sketch transfer;
};

// The time that tail scores are shares of: the ranks' of what was asked for, or of the slices that `table` had to take.
[[nodiscard]] int64_t TimeOfTails(const FleetMeasures& measures, const KernelSummary& table);

// Rows with a positive score, highest first, then by name. `table` must hold distributions (StepFigures).
[[nodiscard]] std::vector<TailRow> ComputeTails(const Fleet& fleet, const FleetMeasures& measures,
                                                const KernelSummary& table);

// The rank with the largest part of the sum behind tail_score, the lowest of equal ones.
[[nodiscard]] std::optional<size_t> WorstRank(const TailRow& row);  // into Fleet::members

}  // namespace lockstep
