// Host ranges projected onto the device: from the first start to the last end of the activities launched inside a range
// on its own thread, ranges nested in it included.
//
// The host sweep opens a number for each range that launches anything, outer ranges before those inside them; the join
// extends it by activities; Finish hands the lengths to the range totals. Bounded: beyond kMaxInstances new ranges are
// not projected, what they launch counts for the ranges around them. One thread.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "agent/pipeline/record_collector.h"

namespace lockstep {

class RangeProjection {
 public:
  static constexpr size_t kMaxInstances = 262'144;

  // -1 beyond the limit.
  int32_t Open(uint32_t process, NameId domain, NameId name, int32_t parent);
  void Extend(int32_t range, int64_t start_ns, int64_t end_ns);
  void Finish(std::vector<HostTotals>& totals);

 private:
  struct Instance {
    int64_t start_ns = std::numeric_limits<int64_t>::max();
    int64_t end_ns = std::numeric_limits<int64_t>::min();
    uint32_t process = 0;
    NameId domain = kNoId;
    NameId name = kNoId;
    int32_t parent = -1;
  };
  std::vector<Instance> instances_;
};

}  // namespace lockstep
