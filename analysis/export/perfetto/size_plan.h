// What of a run fits into a file of a given size: an estimate by kind of event, and what is left out when it is too
// much, the least interesting first.
//
// Order: kernels of the ranks farthest from those that are named; short kernels of the rest; counters of lateness; what
// annotations say of collectives; collectives with the least waiting. Counters of idle time go where they would take
// more than a quarter. Steps stay. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/export/perfetto/notes.h"

namespace lockstep::perfetto {

// Bytes of an event in a Perfetto file, its end included, measured on a simulated run of eight ranks for 30 s.
// SizePlan.EstimatesWhatIsWritten holds them to a third.
struct EventBytes {
  int64_t kernel = 50;
  int64_t step = 110;
  int64_t collective = 165;       // with Detail::kFull
  int64_t brief_collective = 97;  // with Detail::kBrief
  int64_t wait = 125;             // a wait, the transfer behind it, and the counter of who waits
  int64_t sample = 26;
};
// ... in a file of Chrome JSON.
[[nodiscard]] constexpr EventBytes ChromeBytes() {
  return {.kernel = 150, .step = 330, .collective = 560, .brief_collective = 330, .wait = 640, .sample = 125};
}

// Counts by length, in classes an eighth of an octave wide.
class LengthCounts {
 public:
  void Add(int64_t length_ns, int64_t count = 1);
  void Merge(const LengthCounts& other);
  [[nodiscard]] int64_t total() const;
  // The least length so that not more than `most` are at least as long; 0: all of them fit.
  [[nodiscard]] int64_t LeastFor(int64_t most) const;
  // How many are at least that long, where the length is one that LeastFor returned.
  [[nodiscard]] int64_t CountFrom(int64_t length_ns) const;

 private:
  static constexpr size_t kClasses = 8 * 64;
  std::array<int64_t, kClasses> counts_{};
};

// What is there to be written.
struct TimelineSizes {
  int64_t steps = 0;
  int64_t samples = 0;      // of idle
  int64_t collectives = 0;  // of all members
  int64_t waits = 0;        // of them, with a wait
  LengthCounts by_wait;     // members by the waiting of their instance
};

// What is decided about all but kernels.
struct TimelinePlan {
  Detail detail = Detail::kFull;
  bool lateness = true;
  bool idle = true;
  int64_t least_wait_ns = 0;  // of an instance
  int64_t collectives_left_out = 0;
  int64_t bytes_left = 0;  // for kernels
};
[[nodiscard]] TimelinePlan PlanTimeline(const TimelineSizes& sizes, int64_t limit_bytes, const EventBytes& bytes = {});

}  // namespace lockstep::perfetto
