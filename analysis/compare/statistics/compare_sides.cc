#include "analysis/compare/statistics/compare_sides.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

using Runs = std::vector<RunEstimate>;

auto OrderOf(const RunEstimate& run) {
  return std::tie(run.level, run.error, run.steps, run.unusable, run.tau, run.effective, run.drifts, run.drift,
                  run.drift_error);
}

// Those with a usable step, each once, in an order that does not depend on the given one.
Runs UsableInOrder(std::span<const RunEstimate> runs) {
  Runs result;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(result), [](const RunEstimate& run) {
    return run.steps > 0 && std::isfinite(run.level) && std::isfinite(run.error) && std::isfinite(run.drift);
  });
  std::sort(result.begin(), result.end(),
            [](const RunEstimate& a, const RunEstimate& b) { return OrderOf(a) < OrderOf(b); });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// One side as a whole.
struct SideSummary {
  double count = 0;
  double level = 0;
  double variance = 0;  // of the level, from the errors within the runs
  double fourth = 0;    // sum of squared variances by their degrees of freedom (Satterthwaite)
  double drift = 0;
  double drift_variance = 0;
  double degrees = 0;
};

SideSummary SummaryOf(const Runs& runs) {
  SideSummary side;
  side.count = static_cast<double>(runs.size());
  for (const RunEstimate& run : runs) {
    const double variance = run.error * run.error / (side.count * side.count);
    side.level += run.level;
    side.variance += variance;
    side.fourth += variance * variance / DegreesOf(run);
    side.degrees += DegreesOf(run);
    side.drift += run.drift / side.count;
    side.drift_variance += run.drift_error * run.drift_error / (side.count * side.count);
  }
  side.level /= side.count;
  return side;
}

void SetErrorOfRepeats(const SideSummary& base, const SideSummary& fresh, Comparison& result) {
  result.error = result.floor.spread * std::sqrt(1 / base.count + 1 / fresh.count);
  result.degrees = result.floor.degrees;
}

void SetErrorOfSteps(const SideSummary& base, const SideSummary& fresh, Comparison& result) {
  const double runs = 1 / base.count + 1 / fresh.count;
  const double between = result.floor.spread * result.floor.spread * runs;
  const double observed = result.floor.observed * result.floor.observed * runs;
  const double variance = base.variance + fresh.variance + between;
  double fourth = base.fourth + fresh.fourth;
  if (result.floor.source == FloorSource::kHistory) fourth += observed * observed / result.floor.degrees;
  result.error = std::sqrt(variance);
  result.degrees = fourth > 0 ? std::clamp(variance * variance / fourth, kFewestDegrees, kMostDegrees) : kMostDegrees;
  const double drift = fresh.drift - base.drift;
  const double drift_error = std::sqrt(base.drift_variance + fresh.drift_variance);
  const double drift_degrees = base.degrees + fresh.degrees;
  if (result.floor.source == FloorSource::kHistory) return;
  if (drift != 0 && TwoSidedP(drift / drift_error, drift_degrees) < kDriftsDiffer) result.drift = drift / 2;
}

// The interval, and all that follows from it in the same unit.
void SetInterval(double drift_variance, Comparison& result) {
  const double widening = std::abs(result.drift);
  const double end_error = std::hypot(result.error, std::sqrt(drift_variance) / 2);
  const double used = widening > 0 ? end_error : result.error;
  const double half = widening + QuantileOfT(0.975, result.degrees) * used;
  result.interval = {result.difference - half, result.difference + half};
  result.excluded = std::max(-result.interval.low, result.interval.high);
  result.resolution = half + QuantileOfT(kPower, result.degrees) * used;
  const double beyond = std::max(0.0, std::abs(result.difference) - widening);
  if (beyond > 0) result.p = used > 0 ? TwoSidedP(beyond / used, result.degrees) : 0;
}

Verdict VerdictOf(const Comparison& comparison, const CompareOptions& options) {
  const auto size_of = [&](double share) {
    return options.scale == Scale::kLog ? std::log1p(share) : share * std::abs(options.reference);
  };
  if (comparison.excluded <= size_of(kNegligible)) return Verdict::kSame;
  if (comparison.interval.low > 0) return Verdict::kSlower;
  if (comparison.interval.high < 0) return Verdict::kFaster;
  const double most = std::min(comparison.resolution, size_of(kMostCalledSame));
  return comparison.excluded <= most ? Verdict::kSame : Verdict::kUnclear;
}

double ClampedExp(double value) { return std::exp(std::clamp(value, -700.0, 700.0)); }

void SetNanoseconds(const SideSummary& base, const SideSummary& fresh, Scale scale, Comparison& result) {
  const Interval& interval = result.interval;
  if (scale == Scale::kLog) {
    result.base_level = ClampedExp(base.level);
    result.fresh_level = ClampedExp(fresh.level);
    result.ratio = ClampedExp(result.difference);
    result.ratio_interval = {ClampedExp(interval.low), ClampedExp(interval.high)};
    result.change_ns = result.base_level * std::expm1(result.difference);
    result.change_ns_interval = {result.base_level * (result.ratio_interval.low - 1),
                                 result.base_level * (result.ratio_interval.high - 1)};
    return;
  }
  result.base_level = base.level;
  result.fresh_level = fresh.level;
  result.change_ns = result.difference;
  result.change_ns_interval = interval;
  const auto ratio_of = [&](double change) { return base.level > 0 ? 1 + change / base.level : 0; };
  result.ratio = ratio_of(result.difference);
  result.ratio_interval = {ratio_of(interval.low), ratio_of(interval.high)};
}

// False: the error within the runs is needed and not known.
bool HasEnoughSteps(const Runs& base, const Runs& fresh, Comparison& result) {
  double largest_tau = 1;
  result.base_runs = base.size();
  result.fresh_runs = fresh.size();
  if (base.empty() || fresh.empty()) return false;
  result.steps = base.front().steps;
  result.effective_steps = base.front().effective;
  for (const Runs* runs : {&base, &fresh}) {
    for (const RunEstimate& run : *runs) {
      result.steps = std::min(result.steps, run.steps);
      result.effective_steps = std::min(result.effective_steps, run.effective);
      largest_tau = std::max(largest_tau, run.tau);
    }
  }
  result.steps_needed = std::ceil(kFewestEffectiveSteps * largest_tau);
  return result.floor.source == FloorSource::kRepeats || result.effective_steps >= kFewestEffectiveSteps;
}

}  // namespace

Comparison CompareSides(std::span<const RunEstimate> base_runs, std::span<const RunEstimate> fresh_runs,
                        std::span<const EarlierRun> earlier, const CompareOptions& options) {
  Comparison result;
  const Runs base = UsableInOrder(base_runs);
  const Runs fresh = UsableInOrder(fresh_runs);
  if (options.with_floor) result.floor = FloorOf(base, fresh, earlier, options.scale, options.reference);
  const bool enough = HasEnoughSteps(base, fresh, result);
  if (base.empty() || fresh.empty()) return result;
  const SideSummary of_base = SummaryOf(base);
  const SideSummary of_fresh = SummaryOf(fresh);
  if (base == fresh) {
    SetNanoseconds(of_base, of_fresh, options.scale, result);
    result.verdict = Verdict::kSame;
    return result;
  }
  const double rounding = 1e-12 * std::max(std::abs(of_base.level), std::abs(of_fresh.level));
  result.difference = of_fresh.level - of_base.level;
  if (std::abs(result.difference) <= rounding) result.difference = 0;
  result.error_within = std::sqrt(of_base.variance + of_fresh.variance);
  if (result.floor.source == FloorSource::kRepeats) {
    SetErrorOfRepeats(of_base, of_fresh, result);
  } else {
    SetErrorOfSteps(of_base, of_fresh, result);
  }
  SetInterval(of_base.drift_variance + of_fresh.drift_variance, result);
  SetNanoseconds(of_base, of_fresh, options.scale, result);
  if (enough) result.verdict = VerdictOf(result, options);
  return result;
}

}  // namespace lockstep::compare
