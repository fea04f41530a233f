// How much two runs of the same code differ: the noise floor of a comparison. No statistic within one run can know it.
//
// It is a standard deviation of the level of a run, and comes from the first of these that there is: the repeats of
// this comparison (at least two more runs than sides, kFewestDegreesOfRepeats); earlier runs of the same context (at
// least kFewestEarlierRuns); a default, unless the only two runs of a side already differ by more. Pure, deterministic,
// thread safe; the order of runs makes no difference.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/compare/statistics/run_estimate.h"

namespace lockstep::compare {

enum class FloorSource : uint8_t { kRepeats, kHistory, kDefault, kNone };

// Two runs of the same code differ by at most this share in 95 of 100 cases, where nothing better is known (compare.md
// A1: nsys-ai's constant).
inline constexpr double kDefaultFloor = 0.02;
inline constexpr size_t kFewestEarlierRuns = 4;
inline constexpr double kFewestDegreesOfRepeats = 2;

struct EarlierRun {
  double level = 0;  // kLog: logarithm of ns; kLevel: ns (RunEstimate.level)
  double error = 0;  // RunEstimate.error; 0 where it is not known: the floor then holds it as well
};

struct NoiseFloor {
  FloorSource source = FloorSource::kNone;
  double spread = 0;    // standard deviation of the level of a run: logarithm or ns
  double degrees = 0;   // degrees of freedom of it; infinite for the default
  double observed = 0;  // that of the measured levels, of which `spread` is what errors within runs do not explain
  // Half of the 95 % interval of the difference of two runs of the same code: logarithm or ns.
  double of_a_pair = 0;
};

// `reference`: the level in ns that shares are of (kLevel; the step time of the base side). 0 on that scale: the
// default floor is 0.
[[nodiscard]] NoiseFloor FloorOf(std::span<const RunEstimate> base, std::span<const RunEstimate> fresh,
                                 std::span<const EarlierRun> earlier, Scale scale, double reference);

}  // namespace lockstep::compare
