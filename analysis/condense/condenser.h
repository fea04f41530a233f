// One source's time-ordered activities to batches: the heart of the node's side.
//
// Keeps open intervals, the current steps, the sketches and nothing else; peak memory does not grow with the trace. The
// output is a pure function of the input. Feed Add in ActivityOrder (records of this source only), then Finish. One
// thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/condense/selection.h"
#include "analysis/condense/step_table.h"
#include "analysis/model/batch.h"

namespace lockstep {

struct CondenseInput {
  const SourceContext& context;          // must outlive the condenser; slice_ns and bucket_ns set
  const FileInterner& names;             // must outlive it
  const std::vector<StepRange>& steps;   // of the process, by start, on the Unix axis; must outlive it
  std::vector<HostOfStep> host_by_step;  // as long as `steps`
  std::vector<NameId> largest_names;     // kernels whose totals are kept per step, at most 32
  CondenseSelection selection = {};      // what the tables are restricted to
  // How many activities of this source each step launched: lets rows go out before the end, and shows which step is
  // typical. Empty: not known.
  std::vector<uint32_t> activities_by_step = {};
};

// Host-side rows of the process, written into the source that stands for it; names are file NameIds.
struct HostRows {
  std::vector<ApiRow> apis;
  std::vector<RangeRow> ranges;
};

class Condenser {
 public:
  Condenser(CondenseInput input, std::function<absl::Status(Batch)> emit);
  ~Condenser();
  Condenser(const Condenser&) = delete;

  absl::Status Add(const ActivityRecord& record);
  absl::Status Finish(HostRows host, const DropCounters& drops);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Power of two, so that 8 <= window / slice < 16 slices; likewise 256 to 511 buckets. At least 1.
[[nodiscard]] int64_t SliceWidth(int64_t window_ns);
[[nodiscard]] int64_t BucketWidth(int64_t window_ns);

}  // namespace lockstep
