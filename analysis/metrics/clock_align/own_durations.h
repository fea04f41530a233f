// How long a collective takes for the domain that is the last to arrive: what one's own duration exceeds the others' by
// is where its devices end in the operation, its position. Internal to aligning clocks.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

// Own durations that lie farther apart than this share are those of unlike instances.
inline constexpr double kMixedShare = 0.1;

// Of one instance, of the domain that came last.
struct OwnSample {
  size_t cls = 0;
  size_t domain = 0;
  double duration_ns = 0;
  bool known = true;  // the bias of the device that started last: else it is no position of its domain
};

struct OwnDurations {
  std::vector<double> by_class;  // median; 0 = not measured
  std::vector<double> sum;       // by domain: weighted, against the class's median
  std::vector<double> weight;    // by domain: 1 / variance
  double typical_ns = 0;
  bool mixed = false;  // a class of unknown sizes: who is last in which size sets own durations apart
};

// `least_scale_ns`: ends scatter by no less. O(n log n) for n samples of which each domain has few.
[[nodiscard]] OwnDurations MeasureOwnDurations(const std::vector<OwnSample>& samples, size_t classes, size_t domains,
                                               double least_scale_ns);

}  // namespace lockstep
