#include "analysis/compare/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analysis/base/status_macros.h"
#include "analysis/compare/parts.h"
#include "analysis/compare/sides.h"
#include "analysis/stats/student_t.h"

namespace lockstep::compare {
namespace {

constexpr double kNoGrowth = 0.05;       // exponents below this are no growth
constexpr double kLeastAddition = 0.01;  // of the largest step: growth that adds less is not worth a warning

// What may grow with a key of known meaning; everything else should not.
struct KeyMeaning {
  std::string_view key;
  std::vector<std::string_view> grows;
};

const std::vector<KeyMeaning>& KeyMeanings() {
  static const std::vector<KeyMeaning> all = {
      {"seqlen", {"attention", "kv_cache", "softmax", "rotary"}},
      {"context_length", {"attention", "kv_cache", "softmax", "rotary"}},
      {"ranks", {"communication", "exposed_transfer", "exposed_wait", "exposed_unresolved"}},
      {"world_size", {"communication", "exposed_transfer", "exposed_wait", "exposed_unresolved"}},
  };
  return all;
}

struct SweepPoint {
  const ComparedRun* run = nullptr;
  double value = 0;
  double step_ns = 0;
};

absl::StatusOr<SweepPoint> PointOf(const ComparedRun& run, std::string_view key) {
  const auto value = NumberOf(run.context, std::string(key));
  if (!value) {
    return absl::InvalidArgumentError(fmt::format(
        "run '{}': its context has no number '{}'; give it with --context when the traces are read, or in a "
        "lockstep-context.json in their folder",
        run.head.name, key));
  }
  if (run.Steps().empty()) return absl::InvalidArgumentError(fmt::format("run '{}' has no steps", run.head.name));
  return SweepPoint{&run, *value, MeanStepTime(run)};
}

bool MayGrow(std::string_view key, std::string_view part) {
  for (const KeyMeaning& meaning : KeyMeanings()) {
    if (meaning.key != key) continue;
    return std::find(meaning.grows.begin(), meaning.grows.end(), part) != meaning.grows.end();
  }
  return true;
}

class SweepBuilder {
 public:
  SweepBuilder(std::vector<SweepPoint> points, std::string_view key) : points_(std::move(points)), key_(key) {
    for (const SweepPoint& point : points_) values_.push_back(point.value);
  }

  void Add(std::string part, std::string_view kind, const std::function<double(const SweepPoint&)>& time) {
    report::SweepPart& row = parts_.emplace_back();
    row.part = std::move(part);
    row.kind = kind;
    for (const SweepPoint& point : points_) row.ns_per_step.push_back(time(point));
    const bool everywhere =
        std::all_of(row.ns_per_step.begin(), row.ns_per_step.end(), [](double time_ns) { return time_ns > 0; });
    if (!everywhere) return;
    const PowerFit fit = FitPower(values_, row.ns_per_step);
    row.exponent = fit.exponent;
    row.exponent_interval = std::pair(fit.low, fit.high);
    const bool matters = row.ns_per_step.back() - row.ns_per_step.front() >= kLeastAddition * points_.back().step_ns;
    row.should_not_grow = kind != "step" && fit.low > kNoGrowth && matters && !MayGrow(key_, row.part);
  }

  // The step first, then the largest growth.
  std::vector<report::SweepPart> Take() {
    const auto growth = [](const report::SweepPart& part) {
      return part.ns_per_step.back() - part.ns_per_step.front();
    };
    std::stable_sort(parts_.begin(), parts_.end(), [&](const report::SweepPart& a, const report::SweepPart& b) {
      if ((a.kind == "step") != (b.kind == "step")) return a.kind == "step";
      return growth(a) > growth(b);
    });
    return std::move(parts_);
  }

 private:
  std::vector<SweepPoint> points_;
  std::string_view key_;
  std::vector<double> values_;
  std::vector<report::SweepPart> parts_;
};

std::string SentenceOfSweep(const report::Sweep& sweep) {
  const report::SweepPart& step = sweep.parts.front();
  std::string text = step.exponent
                         ? fmt::format("The step time grows as {} to the power {:.2f} ({:.2f} to {:.2f}).", sweep.key,
                                       *step.exponent, step.exponent_interval->first, step.exponent_interval->second)
                         : "The growth of the step time is not known.";
  std::vector<std::string> unexpected;
  for (const report::SweepPart& part : sweep.parts) {
    if (part.should_not_grow) unexpected.push_back(part.part);
  }
  if (!unexpected.empty()) {
    text +=
        fmt::format(" These grow although nothing of them depends on {}: {}.", sweep.key, fmt::join(unexpected, ", "));
  }
  return text;
}

std::vector<report::SweepPart> PartsOfSweep(const std::vector<SweepPoint>& points, std::string_view key) {
  SweepBuilder builder(points, key);
  builder.Add("step_time", "step", [](const SweepPoint& point) { return point.step_ns; });
  for (const PartOfStep& part : kPartsOfStep) {
    if (part.name == "compute") continue;  // its families are there
    builder.Add(std::string(part.name), "part",
                [&part](const SweepPoint& point) { return point.run->MeanOfStep(part.total); });
  }
  std::set<std::string> families;
  for (const SweepPoint& point : points) {
    for (const report::ProfileKernel& kernel : point.run->profile.kernels) {
      families.insert(kernel.family.value_or("other"));
    }
  }
  for (const std::string& family : families) {
    const auto is_meant = [&family](const report::ProfileKernel& kernel) {
      return kernel.family.value_or("other") == family;
    };
    builder.Add(family, "family", [&](const SweepPoint& point) { return point.run->KernelTime(is_meant); });
  }
  return builder.Take();
}

}  // namespace

PowerFit FitPower(std::span<const double> values, std::span<const double> times) {
  const size_t n = std::min(values.size(), times.size());
  std::vector<double> x;
  std::vector<double> y;
  for (size_t i = 0; i < n; ++i) {
    x.push_back(std::log(values[i]));
    y.push_back(std::log(times[i]));
  }
  const double mean_x = MeanOf(x);
  const double mean_y = MeanOf(y);
  double sxx = 0;
  double sxy = 0;
  for (size_t i = 0; i < n; ++i) {
    sxx += (x[i] - mean_x) * (x[i] - mean_x);
    sxy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  PowerFit fit;
  if (sxx <= 0 || n < 3) return fit;
  fit.exponent = sxy / sxx;
  double residuals = 0;
  for (size_t i = 0; i < n; ++i) {
    const double off = y[i] - mean_y - fit.exponent * (x[i] - mean_x);
    residuals += off * off;
  }
  const double degrees = static_cast<double>(n) - 2;
  const double half = QuantileOfT(0.975, degrees) * std::sqrt(residuals / degrees / sxx);
  fit.low = fit.exponent - half;
  fit.high = fit.exponent + half;
  return fit;
}

absl::StatusOr<report::Sweep> SweepOf(std::span<const ComparedRun> runs, std::string_view key) {
  if (runs.size() < kFewestSweepRuns) {
    return absl::InvalidArgumentError(fmt::format("--by needs at least {} runs", kFewestSweepRuns));
  }
  std::vector<SweepPoint> points;
  for (const ComparedRun& run : runs) {
    LOCKSTEP_ASSIGN_OR_RETURN(const SweepPoint point, PointOf(run, key));
    points.push_back(point);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const SweepPoint& a, const SweepPoint& b) { return a.value < b.value; });
  if (points.front().value == points.back().value) {
    return absl::InvalidArgumentError(fmt::format("--by {}: it is {} in all runs", key, points.front().value));
  }
  report::Sweep sweep;
  sweep.key = key;
  for (const SweepPoint& point : points) {
    sweep.runs.push_back({point.run->head.name, point.value, point.run->Steps().size(), point.step_ns});
    if (point.run->failed_gates.empty()) continue;
    sweep.notices.push_back(
        fmt::format("run '{}' fails quality gates: {} (lockstep analyze or show with --view quality says why)",
                    point.run->head.name, fmt::join(point.run->failed_gates, ", ")));
  }
  sweep.parts = PartsOfSweep(points, key);
  sweep.sentence = SentenceOfSweep(sweep);
  return sweep;
}

}  // namespace lockstep::compare
