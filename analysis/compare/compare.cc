#include "analysis/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/compare/collective_changes.h"
#include "analysis/compare/comparability.h"
#include "analysis/compare/headline.h"
#include "analysis/compare/host_changes.h"
#include "analysis/compare/kernel_changes.h"
#include "analysis/compare/kernel_groups.h"
#include "analysis/compare/ledger.h"
#include "analysis/compare/metrics.h"

namespace lockstep::compare {
namespace {

// As the metric step_time has it.
std::optional<double> TypicalStep(const ComparedRun& run) {
  const RunEstimate estimate = EstimateRun(StepTimes(run), Scale::kLog);
  return estimate.steps == 0 ? std::nullopt : std::optional(std::exp(estimate.level));
}

report::ComparedRunHead HeadOf(const ComparedRun& run) {
  report::ComparedRunHead head;
  head.name = run.head.name;
  head.ranks = run.profile.ranks;
  if (run.head.start_unix_ns.value != 0) head.start_unix_ns = run.head.start_unix_ns;
  head.steps = run.Steps().size();
  head.warm_up_steps = run.profile.steps.size() - run.Steps().size();
  head.step_time_ns = TypicalStep(run);
  head.failed_gates = run.failed_gates;
  head.context.assign(run.context.begin(), run.context.end());
  return head;
}

bool AreOneRun(const ComparedRun& a, const ComparedRun& b) {
  const std::vector<double> steps = StepTimes(a);
  return a.head.start_unix_ns.value == b.head.start_unix_ns.value && steps == StepTimes(b) && !steps.empty();
}

// Of the copies of a run, whatever their names, the first stays: no sum or mean may weigh it more.
void LeaveOutCopies(std::vector<ComparedRun>& runs, std::vector<std::string>& notices) {
  std::vector<ComparedRun> kept;
  for (ComparedRun& run : runs) {
    const auto earlier =
        std::find_if(kept.begin(), kept.end(), [&](const ComparedRun& other) { return AreOneRun(other, run); });
    if (earlier == kept.end()) {
      kept.push_back(std::move(run));
    } else if (earlier->head.name == run.head.name) {
      notices.push_back(fmt::format("run '{}' is given twice; it counts once", run.head.name));
    } else {
      notices.push_back(
          fmt::format("run '{}' is a copy of run '{}' and does not count", run.head.name, earlier->head.name));
    }
  }
  runs = std::move(kept);
}

// As many steps as this share of those compared may be partial without a notice: a few at the edges of captures are
// usual.
constexpr double kUsualPartial = 0.1;

void NotifyOfRun(const ComparedRun& run, std::vector<std::string>& notices) {
  const std::string& name = run.head.name;
  if (!run.failed_gates.empty()) {
    notices.push_back(
        fmt::format("run '{}' fails quality gates: {} (lockstep analyze or show with --view quality says why)", name,
                    fmt::join(run.failed_gates, ", ")));
  }
  if (!run.profile.comparable_steps && !run.Steps().empty() && run.profile.ranks.value > 1) {
    notices.push_back(
        fmt::format("the ranks of run '{}' number their steps by themselves: a step of the job is taken "
                    "from equal numbers, which may be different steps",
                    name));
  }
  const int64_t partial = run.profile.partial_steps;
  if (partial > 1 && static_cast<double>(partial) > kUsualPartial * static_cast<double>(run.profile.steps.size())) {
    notices.push_back(
        fmt::format("run '{}': {} steps are left out, because some of its ranks lack them; {} are compared", name,
                    partial, run.Steps().size()));
  }
}

}  // namespace

absl::StatusOr<report::ComparisonDocument> Compare(Sides sides, const CompareRequest& request) {
  report::ComparisonDocument document;
  for (std::vector<ComparedRun>* const side : {&sides.base, &sides.fresh}) LeaveOutCopies(*side, document.notices);
  for (const ComparedRun& run : sides.base) document.base.push_back(HeadOf(run));
  for (const ComparedRun& run : sides.fresh) document.fresh.push_back(HeadOf(run));
  ForEachRun(sides, [&](const ComparedRun& run) { NotifyOfRun(run, document.notices); });
  LOCKSTEP_ASSIGN_OR_RETURN(KernelChanges kernels, KernelChangesOf(sides, request.kernel_map));
  document.comparable = ComparabilityOf(sides, kernels.matched_time_ratio);
  document.kernels = std::move(kernels.kernels);
  document.families = FamilyChangesOf(sides);
  document.roles = RoleChangesOf(sides);
  MetricsOfSides metrics = CompareMetrics(sides);
  document.noise = NoiseOf(metrics.step_time, sides.earlier.size());
  document.metrics = std::move(metrics.metrics);
  document.ledger = LedgerOf(sides);
  document.collectives = CollectiveChangesOf(sides);
  document.late = LateChangesOf(sides);
  document.ranks = PairRanks(sides, request.pair_by);
  document.hosts = HostChangesOf(document.ranks);
  LOCKSTEP_ASSIGN_OR_RETURN(document.gates, ApplyGates(request.gates, sides, document.metrics));
  document.headline = HeadlineOf(document);
  return document;
}

}  // namespace lockstep::compare
