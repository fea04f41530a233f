// The idle gaps of a device, cut to what was selected: with a time, the parts inside it; with steps, the gaps between
// the activities of steps that follow one another. One thread, no I/O.
#pragma once

#include <algorithm>
#include <utility>

#include "analysis/condense/activity.h"
#include "analysis/condense/selection.h"
#include "analysis/stats/sketch.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {

class SelectedGaps {
 public:
  // A gap in which nothing ran.
  void AddGap(int64_t begin_ns, int64_t end_ns, const CondenseSelection& selection) {
    if (selection.time_ns) {
      begin_ns = std::max(begin_ns, selection.time_ns->first);
      end_ns = std::min(end_ns, selection.time_ns->second);
    }
    if (begin_ns < end_ns) feed_.Add(end_ns - begin_ns, gaps_);
  }

  // A selected activity, in order of start.
  void AddActivity(const ActivityRecord& activity, int32_t step, const CondenseSelection& selection) {
    if (last_step_ >= 0 && activity.start_ns > busy_to_ns_ && Follows(step, selection)) {
      feed_.Add(activity.start_ns - busy_to_ns_, gaps_);
    }
    busy_to_ns_ = last_step_ < 0 ? activity.end_ns() : std::max(busy_to_ns_, activity.end_ns());
    last_step_ = std::max(last_step_, step);
  }

  [[nodiscard]] Sketch Take() {
    feed_.Flush(gaps_);
    return std::exchange(gaps_, Sketch());
  }

 private:
  // No step between the last one and this one was left out.
  [[nodiscard]] bool Follows(int32_t step, const CondenseSelection& selection) const {
    const auto begin = selection.steps->begin();
    return step <= last_step_ || std::find(begin + last_step_, begin + step, false) == begin + step;
  }

  Sketch gaps_;
  SketchFeed feed_;
  int64_t busy_to_ns_ = 0;
  int32_t last_step_ = -1;
};

}  // namespace lockstep
