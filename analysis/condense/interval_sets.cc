#include "analysis/condense/interval_sets.h"

namespace lockstep {

void AddSegment(IntervalMeasure& measure, const ActiveCounts& active, int64_t length_ns) {
  const bool compute = active.Has(ActivitySet::kCompute);
  const bool comm = active.Has(ActivitySet::kComm);
  const bool copy = active.Has(ActivitySet::kCopy);
  const bool opaque = active.Has(ActivitySet::kOpaque);
  measure.span_ns += length_ns;
  if (compute) measure.compute_ns += length_ns;
  if (comm) measure.comm_ns += length_ns;
  if (copy) measure.copy_ns += length_ns;
  if (opaque) measure.opaque_ns += length_ns;
  if (comm && compute) measure.overlap_ns += length_ns;
  if (comm && !compute && !copy) measure.strict_exposed_comm_ns += length_ns;
  if (copy && !compute && !comm) measure.copy_only_ns += length_ns;
  if (opaque && !compute && !comm && !copy) measure.opaque_only_ns += length_ns;
  if (!compute && !comm && !copy && !opaque) measure.idle_other_ns += length_ns;
}

}  // namespace lockstep
