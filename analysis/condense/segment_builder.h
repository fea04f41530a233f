// The segment of a source before each collective instance, tiled into its parts (Segment in batch.h; the backward walk
// of the exact decomposition: stream predecessor, launch call, or work of another stream that ended just before, or for
// which the host waited before it launched).
//
// Remembers the last kHistory activities of the device; what lies further back becomes `rest`. One thread, no I/O.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/interval_sets.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {

class SegmentBuilder {
 public:
  static constexpr size_t kHistory = 8'192;

  // Every device activity, in order of start. `instance` is its ordinal in the INST stream, -1 for others.
  void Add(const ActivityRecord& activity, ActivitySet set, int64_t instance);

  // The segment before the activity that was added last, from begin_ns.
  // With `most_tiles` of other communication the walk ends: what lies further back is `rest`.
  [[nodiscard]] Segment Before(int64_t begin_ns, size_t most_tiles = kHistory) const;

 private:
  struct Entry {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t launch_end_ns = kNoTime;
    HostWait host_wait;
    int64_t instance = -1;
    int64_t previous_on_stream = -1;  // absolute number of the entry
    int32_t stream = -1;
    ActivitySet set = ActivitySet::kCompute;
  };

  // Ended so shortly before that its end may have let the other one start.
  static bool JustEnded(const Entry& other, const Entry& entry);
  // Null for what is forgotten.
  [[nodiscard]] const Entry* At(int64_t number) const {
    if (number < first_number_) return nullptr;
    return &entries_[static_cast<size_t>(number) % kHistory];
  }
  // Latest ended entry that started before `from` and determines the start of the entry `number`; null if none is
  // known.
  struct Predecessor {
    const Entry* entry = nullptr;
    int64_t number = -1;
    int64_t end_ns = 0;
    int64_t second_end_ns = kNoTime;
  };
  [[nodiscard]] Predecessor PredecessorOf(int64_t number) const;

  std::vector<Entry> entries_;  // by number, going round
  int64_t first_number_ = 0;
  int64_t next_number_ = 0;
  std::unordered_map<int32_t, int64_t> last_on_stream_;
};

}  // namespace lockstep
