#include "analysis/compare/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/compare/parts.h"
#include "analysis/report/text/text_words.h"

namespace lockstep::compare {
namespace {

// A part before it is rounded.
struct Part {
  std::string name;
  std::string_view kind;
  std::string label;
  std::optional<int32_t> rank;
  double base_ns = 0;
  double fresh_ns = 0;
  report::OptionalRange interval;
};

void SetInterval(const SeriesComparison& compared, Part& part) {
  if (!compared.known || compared.change.verdict == Verdict::kNotEnoughSteps) return;
  const Interval& interval = compared.change.change_ns_interval;
  part.interval = std::pair(interval.low, interval.high);
}

Part PartOfSeries(const Sides& sides, std::string_view name, std::string_view kind, std::string label,
                  const SeriesOfRun& series, double step_ns) {
  const SeriesComparison compared =
      CompareParts(sides, series, kind == "work" ? NoiseShare::kOfItself : NoiseShare::kOfStep, step_ns);
  Part part{std::string(name), kind, std::move(label), {}, compared.base_mean, compared.fresh_mean, {}};
  SetInterval(compared, part);
  return part;
}

SeriesOfRun SeriesOfPart(const PartOfStep& part) {
  return SeriesOf(
      [&part](const ComparedRun& run, const report::ProfileStep& step) { return MeanRank(run, step.*part.total); });
}

bool IsWork(const report::ProfileKernel& kernel) { return kernel.category != "communication"; }

std::string FamilyOfKernel(const report::ProfileKernel& kernel) { return kernel.family.value_or("other"); }

std::set<std::string> FamiliesOf(const Sides& sides) {
  std::set<std::string> families;
  ForEachRun(sides, [&](const ComparedRun& run) {
    for (const report::ProfileKernel& kernel : run.profile.kernels) {
      if (IsWork(kernel)) families.insert(FamilyOfKernel(kernel));
    }
  });
  return families;
}

// Computing, by families, and what runs at once.
void AddComputing(const Sides& sides, const Part& computing, double step_ns, std::vector<Part>& parts) {
  Part at_once{"compute:at_once",  "work", "kernels that run at the same time", {}, computing.base_ns,
               computing.fresh_ns, {}};
  for (const std::string& family : FamiliesOf(sides)) {
    const auto is_meant = [&](const report::ProfileKernel& kernel) {
      return IsWork(kernel) && FamilyOfKernel(kernel) == family;
    };
    const auto time = [&](const ComparedRun& run) { return run.KernelTime(is_meant); };
    Part part{
        fmt::format("compute:{}", family), "work", fmt::format("{} kernels", family), {}, MeanOver(sides.base, time),
        MeanOver(sides.fresh, time),       {}};
    const SeriesOfRun series = [&](const ComparedRun& run) { return run.KernelTimes(is_meant); };
    SetInterval(CompareParts(sides, series, NoiseShare::kOfItself, step_ns), part);
    at_once.base_ns -= part.base_ns;
    at_once.fresh_ns -= part.fresh_ns;
    parts.push_back(std::move(part));
  }
  parts.push_back(std::move(at_once));
}

double WaitOf(const ComparedRun& run) { return run.MeanOfStep(&report::ProfileStep::exposed_wait_ns); }

// Adds the waiting of the runs of one side to the parts, by whom it is for.
void AddWaiting(const std::vector<ComparedRun>& runs, double Part::*side, std::map<std::string, Part>& parts) {
  for (const ComparedRun& run : runs) {
    const double wait_ns = WaitOf(run) / static_cast<double>(runs.size());
    double rest = 1;
    for (const report::Culprit& culprit : run.summary.culprits) {
      const double share = std::clamp(culprit.share_of_wait_ratio, 0.0, rest);
      const std::string name = NameInScope(culprit.scope, culprit.id);
      Part& part = parts.try_emplace(name, Part{"exposed_wait:" + name, "wait", "waiting for " + name, culprit.rank})
                       .first->second;
      part.*side += wait_ns * share;
      rest -= share;
    }
    Part& others =
        parts.try_emplace("", Part{"exposed_wait:others", "wait", "waiting for nobody in particular"}).first->second;
    others.*side += wait_ns * rest;
  }
}

std::vector<Part> PartsOf(const Sides& sides, double step_ns) {
  std::vector<Part> parts;
  for (const PartOfStep& part : kPartsOfStep) {
    if (part.name == "exposed_wait") {
      std::map<std::string, Part> waits;
      AddWaiting(sides.base, &Part::base_ns, waits);
      AddWaiting(sides.fresh, &Part::fresh_ns, waits);
      for (auto& [name, wait] : waits) parts.push_back(std::move(wait));
      continue;
    }
    Part whole = PartOfSeries(sides, part.name, part.kind, std::string(part.label), SeriesOfPart(part), step_ns);
    if (part.name == "compute") {
      AddComputing(sides, whole, step_ns, parts);
    } else {
      parts.push_back(std::move(whole));
    }
  }
  const SeriesOfRun spread = SeriesOf([](const ComparedRun& run, const report::ProfileStep& step) {
    return static_cast<double>(step.longest_ns.value) - MeanRank(run, step.span_total_ns);
  });
  parts.push_back(
      PartOfSeries(sides, "slowest_rank", "spread", "the slowest rank beyond the mean rank", spread, step_ns));
  return parts;
}

std::vector<int64_t> RoundedSide(const std::vector<Part>& parts, double Part::*side) {
  std::vector<double> values;
  for (const Part& part : parts) values.push_back(part.*side);
  return RoundedTogether(values);
}

}  // namespace

std::vector<int64_t> RoundedTogether(const std::vector<double>& values) {
  constexpr double kLargest = 9e15;  // exact as a real, and no sum of a report's parts overflows
  std::vector<int64_t> rounded;
  double sum = 0;
  int64_t rounded_sum = 0;
  std::vector<std::pair<double, size_t>> cut;  // what rounding down cut off
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = std::isfinite(values[i]) ? std::clamp(values[i], -kLargest, kLargest) : 0;
    const double whole = std::floor(value);
    rounded.push_back(static_cast<int64_t>(whole));
    cut.emplace_back(value - whole, i);
    sum += value;
    rounded_sum += rounded.back();
  }
  int64_t missing = static_cast<int64_t>(std::llround(std::clamp(sum, -kLargest, kLargest))) - rounded_sum;
  std::sort(cut.begin(), cut.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (size_t i = 0; i < cut.size() && missing > 0; ++i, --missing) ++rounded[cut[i].second];
  return rounded;
}

std::vector<report::LedgerEntry> LedgerOf(const Sides& sides) {
  const auto has_steps = [](const ComparedRun& run) { return !run.Steps().empty(); };
  if (!std::all_of(sides.base.begin(), sides.base.end(), has_steps) ||
      !std::all_of(sides.fresh.begin(), sides.fresh.end(), has_steps)) {
    return {};
  }
  const double step_ns = std::max(MeanOver(sides.base, MeanStepTime), MeanOver(sides.fresh, MeanStepTime));
  std::vector<Part> parts = PartsOf(sides, step_ns);
  const std::vector<int64_t> base = RoundedSide(parts, &Part::base_ns);
  const std::vector<int64_t> fresh = RoundedSide(parts, &Part::fresh_ns);
  std::vector<report::LedgerEntry> entries;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (base[i] == 0 && fresh[i] == 0) continue;
    Part& part = parts[i];
    entries.push_back({std::move(part.name), std::string(part.kind), std::move(part.label), part.rank, base[i],
                       fresh[i], fresh[i] - base[i], part.interval});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::abs(a.change_ns_per_step) > std::abs(b.change_ns_per_step);
  });
  return entries;
}

}  // namespace lockstep::compare
