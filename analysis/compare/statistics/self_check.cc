#include "analysis/compare/statistics/self_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "analysis/compare/statistics/compare_sides.h"

namespace lockstep::compare {
namespace {

struct DealtSides {
  std::vector<double> base;
  std::vector<double> fresh;
};

DealtSides Deal(std::span<const double> values, size_t block_steps, size_t function) {
  DealtSides sides;
  const size_t blocks = values.size() / block_steps;
  for (size_t block = 0; block < blocks; ++block) {
    std::vector<double>& side = std::popcount(block & function) % 2 == 0 ? sides.base : sides.fresh;
    const std::span<const double> steps = values.subspan(block * block_steps, block_steps);
    side.insert(side.end(), steps.begin(), steps.end());
  }
  return sides;
}

Comparison CompareWithin(std::span<const double> base_steps, std::span<const double> fresh_steps, Scale scale) {
  const RunEstimate base = EstimateRun(base_steps, scale);
  const RunEstimate fresh = EstimateRun(fresh_steps, scale);
  return CompareSides(std::span(&base, 1), std::span(&fresh, 1), {}, {.scale = scale, .with_floor = false});
}

bool IsAlarm(const Comparison& comparison) {
  const bool answered = comparison.verdict != Verdict::kNotEnoughSteps;
  return answered && (comparison.interval.low > 0 || comparison.interval.high < 0);
}

void CountDeal(const Comparison& comparison, SelfCheck& check) {
  ++check.deals;
  check.refused += comparison.verdict == Verdict::kNotEnoughSteps ? 1 : 0;
  check.alarms += IsAlarm(comparison) ? 1 : 0;
  check.largest = std::max(check.largest, std::abs(comparison.difference));
}

}  // namespace

SelfCheck CheckAgainstItself(std::span<const double> values, Scale scale) {
  SelfCheck check;
  const RunEstimate run = EstimateRun(values, scale);
  check.block_steps = static_cast<size_t>(std::ceil(2 * run.tau));
  check.blocks = values.size() / check.block_steps;
  if (check.blocks < 4) return check;
  const size_t half = values.size() / 2;
  check.halves_alarm = IsAlarm(CompareWithin(values.first(half), values.subspan(half), scale));
  const size_t deals = std::min(kMostDeals, std::bit_floor(check.blocks) - 1);
  for (size_t function = 1; function <= deals; ++function) {
    const DealtSides sides = Deal(values, check.block_steps, function);
    const Comparison comparison = CompareWithin(sides.base, sides.fresh, scale);
    CountDeal(comparison, check);
    if (function == 1) check.odd_even_alarm = IsAlarm(comparison);
  }
  return check;
}

}  // namespace lockstep::compare
