#include "analysis/compare/sides.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep::compare {
namespace {

struct SideSeries {
  std::vector<RunEstimate> estimates;
  double mean = 0;
  bool known = false;
};

SideSeries SeriesOfSide(const std::vector<ComparedRun>& runs, const SeriesOfRun& series, Scale scale) {
  SideSeries side;
  size_t with_values = 0;
  for (const ComparedRun& run : runs) {
    const std::vector<double> values = series(run);
    side.estimates.push_back(EstimateRun(values, scale));
    if (values.empty()) continue;
    ++with_values;
    side.mean += MeanOf(values);
  }
  if (with_values > 0) side.mean /= static_cast<double>(with_values);
  side.known = with_values == runs.size() && with_values > 0;
  return side;
}

// The series of both sides; the other runs of the context are called as the base side.
struct SeriesOfSides {
  const SeriesOfRun& base;
  const SeriesOfRun& fresh;
};

SeriesComparison CompareSeries(const Sides& sides, const SeriesOfSides& series, Scale scale, NoiseShare noise,
                               double step_ns) {
  const SideSeries base = SeriesOfSide(sides.base, series.base, scale);
  const SideSeries fresh = SeriesOfSide(sides.fresh, series.fresh, scale);
  SeriesComparison compared;
  compared.known = base.known && fresh.known;
  compared.base_mean = base.mean;
  compared.fresh_mean = fresh.mean;
  if (!compared.known) return compared;
  std::vector<EarlierRun> earlier;
  for (const ComparedRun& run : sides.earlier) {
    const RunEstimate estimate = EstimateRun(series.base(run), scale);
    if (estimate.steps > 0) earlier.push_back({estimate.level, estimate.error});
  }
  const double reference = noise == NoiseShare::kOfItself ? std::max(base.mean, fresh.mean) : step_ns;
  compared.change = CompareSides(base.estimates, fresh.estimates, earlier, {.scale = scale, .reference = reference});
  return compared;
}

}  // namespace

void ForEachRun(const Sides& sides, const std::function<void(const ComparedRun&)>& what) {
  for (const ComparedRun& run : sides.base) what(run);
  for (const ComparedRun& run : sides.fresh) what(run);
}

double MeanOf(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

SeriesOfRun SeriesOf(ValueOfStep value) {
  return [value = std::move(value)](const ComparedRun& run) {
    std::vector<double> values;
    for (const report::ProfileStep& step : run.Steps()) values.push_back(value(run, step));
    return values;
  };
}

double MeanRank(const ComparedRun& run, report::Count total) {
  return run.profile.ranks.value > 0 ? static_cast<double>(total.value) / static_cast<double>(run.profile.ranks.value)
                                     : 0;
}

std::vector<double> StepTimes(const ComparedRun& run) {
  static const SeriesOfRun series = SeriesOf([](const ComparedRun& /*run*/, const report::ProfileStep& step) {
    return static_cast<double>(step.longest_ns.value);
  });
  return series(run);
}

double MeanStepTime(const ComparedRun& run) { return MeanOf(StepTimes(run)); }

SeriesComparison CompareTimes(const Sides& sides, const SeriesOfRun& series) {
  return CompareSeries(sides, {series, series}, Scale::kLog, NoiseShare::kOfItself, 0);
}

SeriesComparison CompareParts(const Sides& sides, const SeriesOfRun& series, NoiseShare noise, double step_ns) {
  return CompareParts(sides, series, series, noise, step_ns);
}

SeriesComparison CompareParts(const Sides& sides, const SeriesOfRun& of_base, const SeriesOfRun& of_fresh,
                              NoiseShare noise, double step_ns) {
  return CompareSeries(sides, {of_base, of_fresh}, Scale::kLevel, noise, step_ns);
}

std::string_view WordOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSlower:
      return report::kSlowerWord;
    case Verdict::kFaster:
      return report::kFasterWord;
    case Verdict::kSame:
      return report::kSameWord;
    case Verdict::kUnclear:
      return report::kUnclearWord;
    case Verdict::kNotEnoughSteps:
      break;
  }
  return report::kNotEnoughWord;
}

double MeanOver(const std::vector<ComparedRun>& runs, const std::function<double(const ComparedRun&)>& value) {
  double sum = 0;
  for (const ComparedRun& run : runs) sum += value(run);
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

}  // namespace lockstep::compare
