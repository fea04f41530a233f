// The views of the report: each makes its rows from the results of the metrics, and tells what restricts them in the
// notices. Pure; thread safe on inputs of their own.
#pragma once

#include <absl/status/statusor.h>

#include <vector>

#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/findings/findings.h"
#include "analysis/metrics/fleet/imbalance.h"
#include "analysis/metrics/kernels/tails.h"
#include "analysis/metrics/skew/collectives.h"
#include "analysis/metrics/skew/lateness_map.h"
#include "analysis/metrics/skew/listed_instances.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/summary/quality.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/naming.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// summary{}: the first thing that is read.
struct SummaryParts {
  const Imbalance& imbalance;
  const Quality& quality;
  const std::vector<TailRow>& tails;
  const std::vector<CollectiveRowResult>& collectives;
  const LateArrivalsSum& late;
  const Naming& naming;
};

[[nodiscard]] report::Summary SummaryView(const ViewInput& input, const SummaryParts& parts);

// ranks[]: which source each rank is, on which device, how that was found out. Ranks that pass --ranks, ascending.
[[nodiscard]] std::vector<report::RankRow> RanksView(const AnalysisContext& context);

// quality{}: gates, drop counters by rank, files.
[[nodiscard]] report::Quality QualityView(const ViewInput& input, const Quality& quality);

// kernels[] and families[]: durations by kernel name (or as --group-by says) and by family.
// kInvalidArgument: --kernels is no regular expression.
[[nodiscard]] absl::StatusOr<std::vector<report::KernelRow>> KernelsView(const ViewInput& input);
[[nodiscard]] absl::StatusOr<std::vector<report::FamilyRow>> FamiliesView(const ViewInput& input);

// collectives[]: one row per (communicator, operation, type, bytes, library), most waiting first. Bandwidths are
// decimal gigabytes per second (1e9 bytes).
[[nodiscard]] std::vector<report::CollectiveRow> CollectivesView(const AnalysisContext& context,
                                                                 const std::vector<CollectiveRowResult>& results);

// skew{}: who waits, who makes the others wait, step by step, and with --instances the matched instances themselves:
// the N with the most waiting (1,000 unless said otherwise), in order of (communicator, index). Times are relative to
// the run's start. `listed`: null where none are to be listed; used up.
[[nodiscard]] report::Skew SkewView(const AnalysisContext& context, const SkewTotals& totals, ListedInstances* listed);

// overlap[]: per rank how its time divides into compute, communication, copies and idle. Identities:
// docs/algorithms/time.md.
[[nodiscard]] std::vector<report::OverlapRow> OverlapView(const ViewInput& input);

// imbalance{}: how unevenly work and time lie on the ranks over the common window, and the efficiency of the fleet.
[[nodiscard]] report::Imbalance ImbalanceView(const ViewInput& input, const Imbalance& imbalance,
                                              const LateArrivalsSum& late);

// The common window.
[[nodiscard]] report::ImbalanceWindow WindowRowOf(const ViewInput& input);

// tails[]: kernels that lose time in rare long instances, and where those lie.
// The rows behind the view; the summary shows the worst of them. kInvalidArgument: --kernels is no regular expression.
[[nodiscard]] absl::StatusOr<std::vector<TailRow>> TailsOf(const ViewInput& input);
[[nodiscard]] std::vector<report::TailRow> TailsView(const ViewInput& input, const std::vector<TailRow>& tails,
                                                     const LateArrivalsSum& late);

// idle[]: why each rank's device had nothing to do.
[[nodiscard]] std::vector<report::IdleRow> IdleView(const ViewInput& input);

// host[], launches[], nvtx[]: what the host did, by API call, by launch and by range.
[[nodiscard]] std::vector<report::HostRow> HostView(const ViewInput& input);
// kInvalidArgument: --kernels is no regular expression.
[[nodiscard]] absl::StatusOr<std::vector<report::LaunchRow>> LaunchesView(const ViewInput& input);
[[nodiscard]] std::vector<report::RangeRow> NvtxView(const ViewInput& input);

// memory[] and allocation[]: copies and memsets by kind, and the level of device memory over time.
[[nodiscard]] std::vector<report::MemoryRow> MemoryView(const ViewInput& input);
// Part of the memory view, under a key of its own.
[[nodiscard]] std::vector<report::AllocationRow> AllocationView(const ViewInput& input);

// steps[] and pace{}: each step of each rank, and the course of the ranks over the run.
[[nodiscard]] std::vector<report::StepRow> StepsView(const ViewInput& input);
// kInvalidArgument: --kernels is no pattern.
[[nodiscard]] absl::StatusOr<report::Pace> PaceView(const ViewInput& input);

// clock{}: which ranks share a clock, how the clocks of the hosts were aligned, and below what nothing can be told.
//
// One row of hosts[] a clock domain. offset_ns, certified_ns and sigma_ns are those of the knot nearest to the middle
// of the run (at_ns); uncertainty_ns is the half-width of the 95 % interval of the offset against the reference,
// inside_ns the worst one between two devices of the host. not_resolvable_below_ns of a component is the worst of all
// its pairs: arrivals that lie closer may have come in either order. Times are relative to the run's start on the
// aligned axis.
[[nodiscard]] report::Clock ClockView(const ViewInput& input);

// stragglers[]: who is late again and again, what it costs, and why.
// One row a straggler, by saving. What is not decided yet, and why nothing could be tested, is told in the notices.
[[nodiscard]] std::vector<report::StragglerRow> StragglersView(const ViewInput& input, const Naming& naming);

// findings[]: what is wrong, with evidence, cause and next action. See analysis/metrics/findings/findings.h.
[[nodiscard]] std::vector<report::FindingRow> FindingsView(const ViewInput& input,
                                                           const std::vector<Finding>& findings);

// profile{}: what a comparison needs of a run, with its ranks summed. kInvalidArgument: --kernels is no regular
// expression.
[[nodiscard]] absl::StatusOr<report::Profile> ProfileView(const ViewInput& input, const SkewTotals& skew,
                                                          const std::vector<CollectiveRowResult>& collectives);

// pictures{}: what pages draw. The maps are brought to columns of the same width, and `worst` is used up.
struct PicturesParts {
  const BlameResult& blame;
  CausedWaitGrid& caused;
  LatenessMap& lateness;
  ListedInstances& worst;
  const std::vector<TailRow>& tails;
};
[[nodiscard]] report::Pictures PicturesView(const ViewInput& input, const PicturesParts& parts);

}  // namespace lockstep
