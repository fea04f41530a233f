// Whether the ends of two lanes are those of the same collectives, or of two jobs that merely run in lockstep.
//
// Members of one collective end together anew each time: how far apart two of them end says nothing of how far apart
// the next two will. What happens to one of two jobs delays all that this job does afterwards: the distance of their
// ends is carried over from one pair to the next. Clocks do that too, but slowly: within some dozen pairs they make a
// line, which is taken off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace lockstep {

// How two paired rows lie against each other.
struct EndDistance {
  int64_t t_ns = 0;
  int64_t distance_ns = 0;  // of their ends, on the clocks of their own domains
  int64_t shortest_ns = 0;  // duration of the shorter one
  uint32_t kind = 0;        // as LaneEvent::kind
};

struct EndWander {
  double ratio = 0;   // mean square of the change from one pair to the next / of the distance: 2 = nothing carried over
  int64_t pairs = 0;  // that show it; 0 = too few
};

// In order of time. Cut where the clocks jump; kinds, and durations of one kind, may each lie at a distance of their
// own; uneven exchanges say nothing.
[[nodiscard]] EndWander MeasureEndWander(const std::vector<EndDistance>& distances);

enum class Wandering : uint8_t { kUntold = 0, kNone = 1, kApart = 2 };

// What pairs of lanes show together that are all of one communicator, or all of two.
class WanderPool {
 public:
  void Add(size_t lane_a, size_t lane_b, const EndWander& wander);
  // kNone only if so many pairs would have shown a clear one. `pools`: of how many this is one, none of which may be
  // called wandering by chance.
  [[nodiscard]] Wandering Verdict(size_t pools = 1) const;

 private:
  std::set<size_t> lanes_a_;
  std::set<size_t> lanes_b_;
  double weighted_ = 0;
  int64_t pairs_ = 0;
  int64_t comparisons_ = 0;
};

}  // namespace lockstep
