// Durations of the kernel rows of one source over what was asked for.
//
// Whole source: exact. Time: snapped outward to the slices of the sketches. Steps: exact counts and totals for the
// names that the source kept per step (then without a distribution), the slices that touch the steps for the others.
// Units: ns. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

struct KernelDurations {
  int64_t instances = 0;
  int64_t total_ns = 0;
  bool distributed = false;  // the slices have the distribution of these instances
  Sketch sketch;             // of it, if it was asked for
  bool by_slice = false;     // snapped outward to slices
};

// Whether the sketches of the slices are merged: most of what rows cost.
enum class SketchUse : uint8_t { kMerged = 0, kNone = 1 };

class KernelSelector {
 public:
  // `use_step_totals`: false where a distribution is wanted, or where rows of one name are told apart (totals are by
  // name).
  KernelSelector(const Fleet& fleet, const FleetRank& member, bool use_step_totals,
                 SketchUse sketches = SketchUse::kMerged);

  // Durations of one row. Rows of one name share its step totals: they are given to the first of them.
  [[nodiscard]] KernelDurations Of(const KernelRow& row);
  // Time of the capture that lies in the slices that touch what was asked for: what `by_slice` figures are of.
  [[nodiscard]] int64_t TimeOfSlices() const;
  // Whether a time slice touches what was asked for.
  [[nodiscard]] bool Touches(int64_t slice) const;

 private:
  const SourceData& source_;
  const SketchUse sketches_;
  bool steps_ = false;
  bool restricted_ = false;
  std::vector<std::pair<int64_t, int64_t>> windows_;       // ascending, half open, on the source's axis
  std::map<uint32_t, std::pair<int64_t, int64_t>> exact_;  // name -> (instances, total)
};

}  // namespace lockstep
