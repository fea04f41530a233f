// Where the level of a series of runs changed: divisive clustering of means as in E-divisive (Matteson and James,
// 2014), with Student's t test in place of permutations, so that the answer is deterministic (as in Apache Otava).
//
// A stretch of runs is split where the energy statistic of the means is largest, as long as Student's t test of the two
// parts has p < kWorthATry; then both parts are split in turn. In the end every split is tested against the stretches
// up to its neighbours, and the weakest one is dropped until all have p < kChangeSignificance / (number of places for a
// split). The first limit is loose because two changes that undo each other hide one another until both are split off.
//
// Assumes that runs do not depend on each other: a history whose neighbours correlate by 0.3 shows a false change in
// one of ten cases. O(n^2) on the number of runs. Pure, deterministic, thread safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep::compare {

inline constexpr size_t kFewestRunsOfASeries = 10;
// A change has to be confirmed by as many runs: one odd run at the end is no change yet.
inline constexpr size_t kFewestRunsOfALevel = 3;
// With it a series of 10 to 300 runs without a change has one found in less than 2 of 100 cases; ChangePoints.
// AHistoryWithoutAChangeHasNone holds it.
inline constexpr double kChangeSignificance = 0.02;
inline constexpr double kWorthATry = 0.3;            // ChangePoints.ARegressionThatWasMendedIsTwoChanges holds it
inline constexpr size_t kMostRunsOfASeries = 1'000;  // the latest count

struct ChangePoint {
  size_t first = 0;   // index of the first run of the new level
  double before = 0;  // mean of the level before and after, up to the neighbouring changes
  double after = 0;
  double p = 1;  // of the t test
};

// One value a run, in order of time. Empty: no change, or fewer than kFewestRunsOfASeries runs, or a value that is not
// finite or beyond 1e150.
[[nodiscard]] std::vector<ChangePoint> ChangePointsOf(std::span<const double> levels);

}  // namespace lockstep::compare
