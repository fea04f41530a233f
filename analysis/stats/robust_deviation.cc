#include "analysis/stats/robust_deviation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

std::vector<double> DistancesFrom(double level, const std::vector<double>& values) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - level));
  return distances;
}

std::vector<double> DistancesFromMedian(const std::vector<double>& values) {
  return DistancesFrom(Median(values), values);
}

}  // namespace

double RobustDeviation(const std::vector<double>& values) {
  constexpr double kDeviationOfMedian = 1.4826;
  return kDeviationOfMedian * Median(DistancesFromMedian(values));
}

double DeviationOfMost(const std::vector<double>& values) {
  constexpr size_t kLeast = 2;
  constexpr double kDeviationOfWidth = 1.57;
  constexpr double kFewer = 2.5;  // how much narrower it is by choice among n values: 1 / (1 + kFewer / sqrt(n))
  const size_t quarter = std::max(kLeast, values.size() / 4);
  if (values.size() <= quarter) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  double width = sorted.back() - sorted.front();
  for (size_t i = quarter; i < sorted.size(); ++i) width = std::min(width, sorted[i] - sorted[i - quarter]);
  return kDeviationOfWidth * (1 + kFewer / std::sqrt(static_cast<double>(values.size()))) * width;
}

LowLevel LowLevelOf(const std::vector<double>& values) {
  constexpr double kDeviationOfNearest = 2.506;
  if (values.empty()) return {};
  const double level = OrderStatistic(values, (values.size() - 1) / 4);
  return {level, kDeviationOfNearest * OrderStatistic(DistancesFrom(level, values), values.size() / 4)};
}

}  // namespace lockstep
