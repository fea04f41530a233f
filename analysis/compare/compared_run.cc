#include "analysis/compare/compared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "analysis/compare/statistics/run_estimate.h"

namespace lockstep::compare {
namespace {

double RealOf(report::Count count) { return static_cast<double>(count.value); }

size_t WarmUpOf(const std::vector<report::ProfileStep>& steps) {
  std::vector<double> times;
  times.reserve(steps.size());
  for (const report::ProfileStep& step : steps) times.push_back(RealOf(step.longest_ns));
  return std::min(WarmUpSteps(times), steps.size());
}

std::string LayoutText(const report::LayoutOfRun& layout) {
  std::string text;
  const auto add = [&](std::string_view axis, const std::optional<report::Count>& size) {
    if (size) text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis, size->value);
  };
  add("tp", layout.tp);
  add("pp", layout.pp);
  add("dp", layout.dp);
  add("ep", layout.ep);
  add("cp", layout.cp);
  return text;
}

RunContext ContextOfRun(const report::Document& document, const RunContext& added) {
  RunContext context(document.profile->context.begin(), document.profile->context.end());
  if (document.run.layout) context["layout"] = LayoutText(*document.run.layout);
  for (const auto& [key, value] : added) context[key] = value;
  return context;
}

// The kernels whose time is known step by step, without the warm-up.
void AddStepTimes(const ComparedRun& run, const report::ProfileKernel& known, ComparedKernel& kernel) {
  const auto& series = known.step_ns;
  const double ranks = RealOf(run.profile.ranks);
  if (!series || series->size() != run.profile.steps.size() || ranks <= 0) return;
  for (size_t i = run.warm_up; i < series->size(); ++i) kernel.by_step.push_back(RealOf((*series)[i]) / ranks);
  const auto steps = static_cast<double>(kernel.by_step.size());
  if (steps <= 0) return;
  kernel.ns_per_step = std::accumulate(kernel.by_step.begin(), kernel.by_step.end(), 0.0) / steps;
  const double instances = RealOf(known.step_instances.value_or(0));
  kernel.instances_per_step = instances / ranks / static_cast<double>(series->size());
}

// The others share the kernel time that the steps have beyond those, by their totals.
void ShareRest(ComparedRun& run) {
  double rest_ns = run.MeanOfStep(&report::ProfileStep::kernel_time_ns);
  double totals_ns = 0;
  for (size_t i = 0; i < run.kernels.size(); ++i) {
    rest_ns -= run.kernels[i].ns_per_step;
    if (run.kernels[i].by_step.empty()) totals_ns += RealOf(run.profile.kernels[i].total_ns);
  }
  if (rest_ns <= 0 || totals_ns <= 0) return;
  for (size_t i = 0; i < run.kernels.size(); ++i) {
    ComparedKernel& kernel = run.kernels[i];
    const double total_ns = RealOf(run.profile.kernels[i].total_ns);
    if (!kernel.by_step.empty() || total_ns <= 0) continue;
    kernel.ns_per_step = rest_ns * total_ns / totals_ns;
    kernel.instances_per_step = kernel.ns_per_step / total_ns * RealOf(run.profile.kernels[i].instances);
  }
}

void AddKernels(ComparedRun& run) {
  run.kernels.resize(run.profile.kernels.size());
  for (size_t i = 0; i < run.kernels.size(); ++i) {
    AddStepTimes(run, run.profile.kernels[i], run.kernels[i]);
  }
  ShareRest(run);
}

}  // namespace

std::optional<double> NumberOf(const RunContext& context, const std::string& key) {
  const auto found = context.find(key);
  if (found == context.end()) return std::nullopt;
  double value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value > 1e18) return std::nullopt;
  return value;
}

std::vector<std::string> ViewsToCompare() { return {"summary", "quality", "profile"}; }

std::span<const report::ProfileStep> ComparedRun::Steps() const {
  return std::span(profile.steps).subspan(std::min(warm_up, profile.steps.size()));
}

double ComparedRun::MeanOfStep(report::Count report::ProfileStep::*total) const {
  const auto steps = Steps();
  if (steps.empty() || profile.ranks.value <= 0) return 0;
  double sum = 0;
  for (const report::ProfileStep& step : steps) sum += RealOf(step.*total);
  return sum / static_cast<double>(steps.size()) / RealOf(profile.ranks);
}

double ComparedRun::KernelTime(const KernelFilter& which) const {
  double time_ns = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (which(profile.kernels[i])) time_ns += kernels[i].ns_per_step;
  }
  return time_ns;
}

std::vector<double> ComparedRun::KernelTimes(const KernelFilter& which) const {
  std::vector<double> values(Steps().size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].ns_per_step <= 0 || !which(profile.kernels[i])) continue;
    const std::vector<double>& by_step = kernels[i].by_step;
    if (by_step.size() != values.size()) return {};
    for (size_t step = 0; step < values.size(); ++step) values[step] += by_step[step];
  }
  return values;
}

absl::StatusOr<ComparedRun> ComparedRunOf(report::Document document, const RunContext& context) {
  if (!document.profile) {
    return absl::InvalidArgumentError(
        fmt::format("the report of run '{}' has no profile: an older version of lockstep made it", document.run.name));
  }
  ComparedRun run;
  run.context = ContextOfRun(document, context);
  run.head = std::move(document.run);
  run.profile = *std::move(document.profile);
  if (document.summary) run.summary = *std::move(document.summary);
  if (document.quality) {
    for (const report::GateRow& gate : document.quality->gates) {
      if (gate.ok == false) run.failed_gates.push_back(gate.name);
    }
  }
  run.warm_up = WarmUpOf(run.profile.steps);
  AddKernels(run);
  return run;
}

}  // namespace lockstep::compare
