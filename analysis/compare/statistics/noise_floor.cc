#include "analysis/compare/statistics/noise_floor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

// Sums in ascending order: the same whatever the order of the runs.
double SumInOrder(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double SquaredDeviations(const std::vector<double>& levels) {
  if (levels.empty()) return 0;
  const double mean = SumInOrder(levels) / static_cast<double>(levels.size());
  std::vector<double> squares;
  for (const double level : levels) squares.push_back((level - mean) * (level - mean));
  return SumInOrder(std::move(squares));
}

std::vector<double> LevelsOf(std::span<const RunEstimate> runs) {
  std::vector<double> levels;
  for (const RunEstimate& run : runs) levels.push_back(run.level);
  return levels;
}

NoiseFloor FloorOfEarlierRuns(std::span<const EarlierRun> earlier) {
  std::vector<double> levels;
  std::vector<double> variances;
  for (const EarlierRun& run : earlier) {
    if (!std::isfinite(run.level) || !std::isfinite(run.error)) continue;
    levels.push_back(run.level);
    variances.push_back(run.error * run.error);
  }
  NoiseFloor floor;
  if (levels.size() < kFewestEarlierRuns) return floor;
  const auto count = static_cast<double>(levels.size());
  floor.source = FloorSource::kHistory;
  floor.degrees = count - 1;
  const double variance = SquaredDeviations(levels) / floor.degrees;
  floor.observed = std::sqrt(variance);
  floor.spread = std::sqrt(std::max(0.0, variance - SumInOrder(std::move(variances)) / count));
  return floor;
}

NoiseFloor FloorOfRepeats(std::span<const RunEstimate> base, std::span<const RunEstimate> fresh) {
  const double degrees = static_cast<double>(base.size()) + static_cast<double>(fresh.size()) - 2;
  if (base.empty() || fresh.empty() || degrees < 1) return {};
  const double squares = SumInOrder({SquaredDeviations(LevelsOf(base)), SquaredDeviations(LevelsOf(fresh))});
  const double spread = std::sqrt(squares / degrees);
  return {.source = FloorSource::kRepeats, .spread = spread, .degrees = degrees, .observed = spread};
}

NoiseFloor FloorWithoutPair(std::span<const RunEstimate> base, std::span<const RunEstimate> fresh,
                            std::span<const EarlierRun> earlier, Scale scale, double reference) {
  const NoiseFloor repeats = FloorOfRepeats(base, fresh);
  if (repeats.degrees >= kFewestDegreesOfRepeats) return repeats;
  const NoiseFloor history = FloorOfEarlierRuns(earlier);
  if (history.source == FloorSource::kHistory) return history;
  const double pair = scale == Scale::kLog ? std::log1p(kDefaultFloor) : kDefaultFloor * std::abs(reference);
  const double spread = pair / (std::sqrt(2.0) * QuantileOfT(0.975, kMostDegrees));
  if (repeats.spread > spread) return repeats;
  return {.source = FloorSource::kDefault,
          .spread = spread,
          .degrees = std::numeric_limits<double>::infinity(),
          .observed = spread};
}

}  // namespace

NoiseFloor FloorOf(std::span<const RunEstimate> base, std::span<const RunEstimate> fresh,
                   std::span<const EarlierRun> earlier, Scale scale, double reference) {
  NoiseFloor floor = FloorWithoutPair(base, fresh, earlier, scale, std::isfinite(reference) ? reference : 0);
  floor.of_a_pair = std::sqrt(2.0) * floor.spread * QuantileOfT(0.975, floor.degrees);
  return floor;
}

}  // namespace lockstep::compare
