#include "analysis/compare/statistics/change_points.h"

#include <algorithm>
#include <cmath>

#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

double MeanOfRuns(std::span<const double> levels) {
  double sum = 0;
  for (const double level : levels) sum += level;
  return sum / static_cast<double>(levels.size());
}

double SquaresOfRuns(std::span<const double> levels) {
  const double mean = MeanOfRuns(levels);
  double sum = 0;
  for (const double level : levels) sum += (level - mean) * (level - mean);
  return sum;
}

// P of Student's two-sample t test with a pooled variance.
double POfSplit(std::span<const double> before, std::span<const double> after) {
  const auto m = static_cast<double>(before.size());
  const auto n = static_cast<double>(after.size());
  const double mean_before = MeanOfRuns(before);
  const double mean_after = MeanOfRuns(after);
  const double difference = mean_after - mean_before;
  const double rounding = 1e-12 * std::max(std::abs(mean_before), std::abs(mean_after));
  if (std::abs(difference) <= rounding) return 1;
  const double variance = (SquaresOfRuns(before) + SquaresOfRuns(after)) / (m + n - 2);
  return TwoSidedP(difference / std::sqrt(variance * (1 / m + 1 / n)), m + n - 2);
}

// Sums of |x_i - x_j| over pairs: within the first k, within the rest, across. Moves one value at a time.
struct EnergySums {
  double before = 0;
  double after = 0;
  double across = 0;
};

double EnergyOf(const EnergySums& sums, double m, double n) {
  const double between = 2 * sums.across / (m * n);
  const double within = 2 * sums.before / (m * (m - 1)) + 2 * sums.after / (n * (n - 1));
  return m * n / (m + n) * (between - within);
}

// The first run of the second part, at least kFewestRunsOfALevel runs on either side; 0: too short.
size_t BestSplit(std::span<const double> levels) {
  if (levels.size() < 2 * kFewestRunsOfALevel) return 0;
  EnergySums sums;
  for (size_t i = 0; i < levels.size(); ++i) {
    for (size_t j = 0; j < i; ++j) sums.after += std::abs(levels[i] - levels[j]);
  }
  size_t best = 0;
  double largest = -1;
  for (size_t split = 1; split + kFewestRunsOfALevel <= levels.size(); ++split) {
    const double moved = levels[split - 1];
    double to_before = 0;
    double to_after = 0;
    for (size_t i = 0; i + 1 < split; ++i) to_before += std::abs(levels[i] - moved);
    for (size_t i = split; i < levels.size(); ++i) to_after += std::abs(levels[i] - moved);
    sums.before += to_before;
    sums.after -= to_after;
    sums.across += to_after - to_before;
    if (split < kFewestRunsOfALevel) continue;
    const double energy = EnergyOf(sums, static_cast<double>(split), static_cast<double>(levels.size() - split));
    if (energy > largest) {
      largest = energy;
      best = split;
    }
  }
  return best;
}

double LimitOf(size_t runs) { return kChangeSignificance / static_cast<double>(runs - 2 * kFewestRunsOfALevel + 1); }

// Ends of stretches, ascending, of the stretch [begin, end).
void SplitRuns(std::span<const double> levels, size_t begin, size_t end, std::vector<size_t>& splits) {
  const std::span<const double> stretch = levels.subspan(begin, end - begin);
  const size_t split = BestSplit(stretch);
  if (split == 0 || POfSplit(stretch.first(split), stretch.subspan(split)) >= kWorthATry) return;
  SplitRuns(levels, begin, begin + split, splits);
  splits.push_back(begin + split);
  SplitRuns(levels, begin + split, end, splits);
}

std::vector<ChangePoint> DescribeSplits(std::span<const double> levels, const std::vector<size_t>& splits) {
  std::vector<ChangePoint> points;
  for (size_t i = 0; i < splits.size(); ++i) {
    const size_t begin = i == 0 ? 0 : splits[i - 1];
    const size_t end = i + 1 == splits.size() ? levels.size() : splits[i + 1];
    const std::span<const double> before = levels.subspan(begin, splits[i] - begin);
    const std::span<const double> after = levels.subspan(splits[i], end - splits[i]);
    points.push_back(
        {.first = splits[i], .before = MeanOfRuns(before), .after = MeanOfRuns(after), .p = POfSplit(before, after)});
  }
  return points;
}

}  // namespace

std::vector<ChangePoint> ChangePointsOf(std::span<const double> all) {
  const size_t skipped = all.size() > kMostRunsOfASeries ? all.size() - kMostRunsOfASeries : 0;
  const std::span<const double> levels = all.subspan(skipped);
  if (levels.size() < kFewestRunsOfASeries) return {};
  if (!std::all_of(levels.begin(), levels.end(), [](double level) { return std::abs(level) < 1e150; })) return {};
  std::vector<size_t> splits;
  SplitRuns(levels, 0, levels.size(), splits);
  std::vector<ChangePoint> points = DescribeSplits(levels, splits);
  while (!points.empty()) {
    const auto weakest = std::max_element(points.begin(), points.end(),
                                          [](const ChangePoint& a, const ChangePoint& b) { return a.p < b.p; });
    if (weakest->p < LimitOf(levels.size())) break;
    splits.erase(splits.begin() + (weakest - points.begin()));
    points = DescribeSplits(levels, splits);
  }
  for (ChangePoint& point : points) point.first += skipped;
  return points;
}

}  // namespace lockstep::compare
