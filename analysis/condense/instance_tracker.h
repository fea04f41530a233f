// Collective instances on their way: opened at their start, covered by the compute that runs meanwhile, given out in
// order of start once they have ended. One thread, no I/O.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "analysis/condense/interval_sets.h"
#include "analysis/model/instance_row.h"

namespace lockstep {

class InstanceTracker {
 public:
  explicit InstanceTracker(std::function<absl::Status(InstanceRow)> emit) : emit_(std::move(emit)) {}

  // Ordinal of the next instance in the source's stream.
  [[nodiscard]] int64_t next_ordinal() const { return first_ordinal_ + static_cast<int64_t>(open_.size()); }
  void Open(InstanceRow row);
  // Compute ran during [from, to), or not.
  void Segment(int64_t from_ns, int64_t to_ns, bool compute);
  // Gives out what has ended by now, in order.
  absl::Status Advance(int64_t now_ns);
  absl::Status Finish();

 private:
  struct OpenInstance {
    InstanceRow row;
    int64_t covered_to_ns = 0;  // end of the last cover interval
  };

  std::function<absl::Status(InstanceRow)> emit_;
  std::deque<OpenInstance> open_;
  std::vector<int64_t> running_;  // ordinals whose end is not reached yet
  int64_t first_ordinal_ = 0;
};

}  // namespace lockstep
