#include "analysis/stats/robust_deviation.h"

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
  constexpr double kDeviationOfQuartile = 3.138;
  return values.empty() ? 0 : kDeviationOfQuartile * OrderStatistic(DistancesFromMedian(values), values.size() / 4);
}

LowLevel LowLevelOf(const std::vector<double>& values) {
  constexpr double kDeviationOfNearest = 2.506;
  if (values.empty()) return {};
  const double level = OrderStatistic(values, (values.size() - 1) / 4);
  return {level, kDeviationOfNearest * OrderStatistic(DistancesFrom(level, values), values.size() / 4)};
}

}  // namespace lockstep
