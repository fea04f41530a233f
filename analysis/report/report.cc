#include "analysis/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/report/cross_rank.h"
#include "analysis/report/list_options.h"
#include "analysis/report/views/clock_view.h"
#include "analysis/report/views/collectives_view.h"
#include "analysis/report/views/empty_views.h"
#include "analysis/report/views/findings_view.h"
#include "analysis/report/views/host_views.h"
#include "analysis/report/views/imbalance_view.h"
#include "analysis/report/views/kernels_view.h"
#include "analysis/report/views/memory_view.h"
#include "analysis/report/views/overlap_view.h"
#include "analysis/report/views/quality_view.h"
#include "analysis/report/views/rank_views.h"
#include "analysis/report/views/ranks_view.h"
#include "analysis/report/views/run_object.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/skew_view.h"
#include "analysis/report/views/step_views.h"
#include "analysis/report/views/stragglers_view.h"
#include "analysis/report/views/summary_view.h"
#include "analysis/report/views/tails_view.h"

namespace lockstep {
namespace {

constexpr std::string_view kSchema = "lockstep.report/1";

bool Asked(const AnalysisOptions& options, std::string_view view) {
  return std::any_of(options.views.begin(), options.views.end(),
                     [&](const std::string& asked) { return asked == view || asked == "all"; });
}

absl::Status CheckOptions(const AnalysisOptions& options) {
  const std::vector<std::string>& known = AllViews();
  for (const std::string& view : options.views) {
    if (view != "all" && std::find(known.begin(), known.end(), view) == known.end()) {
      return absl::InvalidArgumentError(
          fmt::format("--view '{}': there is no such view; there are {}, all", view, fmt::join(known, ", ")));
    }
  }
  if (!options.layout.empty()) LOCKSTEP_RETURN_IF_ERROR(ParseLayout(options.layout).status());
  if (options.limit && *options.limit < 0) {
    return absl::InvalidArgumentError(fmt::format("--limit {}: must not be negative", *options.limit));
  }
  return absl::OkStatus();
}

// The files that can be one run, and the command that analyses them alone.
std::string DescribeGroups(const RunData& run, const RankResolution& ranks) {
  std::string text = fmt::format("these files are {} different runs: {}", ranks.groups.size(), ranks.groups_reason);
  for (size_t i = 0; i < ranks.groups.size(); ++i) {
    std::set<std::string> paths;
    for (const size_t source : ranks.groups[i]) paths.insert(run.sources[source].context.path);
    text += fmt::format("\n  run {} ({} files): lockstep analyze", i + 1, paths.size());
    for (const std::string& path : paths) text += fmt::format(" '{}'", path);
  }
  return text;
}

absl::Status CheckRanks(const RunData& run, const RankResolution& ranks, const AnalysisOptions& options) {
  if (ranks.groups.size() > 1) return absl::FailedPreconditionError(DescribeGroups(run, ranks));
  if (ranks.ranks.empty()) {
    std::string text = "no usable input: no rank trace is left to analyse";
    for (const RefusedSource& refused : ranks.refused) {
      text += fmt::format("\n  {}: {}", run.sources[refused.source].context.path, refused.detail);
    }
    return absl::FailedPreconditionError(text);
  }
  const std::vector<bool> selected = SelectedRanks(ranks, options);
  if (std::find(selected.begin(), selected.end(), true) != selected.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("--ranks {}: none of them is in this run", fmt::join(options.ranks, ",")));
}

// Builds the views that were asked for; what several of them share is computed once, when first needed.
class ReportBuilder {
 public:
  explicit ReportBuilder(const ViewInput& input) : input_(input) {}

  absl::StatusOr<Json> Build(std::string_view view) {
    if (view == "summary") return Summary();
    if (view == "ranks") return RanksView(input_.context);
    if (view == "quality") return QualityView(input_, QualityOf());
    if (view == "kernels") return KernelsView(input_);
    if (view == "families") return FamiliesView(input_);
    if (view == "collectives") return CollectivesView(input_.context);
    if (view == "skew") return SkewView(input_.context);
    if (view == "overlap") return OverlapView(input_);
    if (view == "imbalance") return BuildImbalance();
    if (view == "tails") return Tails();
    if (view == "stragglers") return Stragglers();
    if (view == "findings") return Findings();
    return BuildPlain(view);
  }

 private:
  absl::StatusOr<Json> BuildPlain(std::string_view view) {
    if (view == "idle") return IdleView(input_);
    if (view == "host") return HostView(input_);
    if (view == "launches") return LaunchesView(input_);
    if (view == "nvtx") return NvtxView(input_);
    if (view == "memory") return MemoryView(input_);
    if (view == "steps") return StepsView(input_);
    if (view == "pace") return PaceView(input_);
    LOCKSTEP_CHECK(view == "clock");  // CheckOptions let nothing else through
    return ClockView(input_);
  }

  absl::StatusOr<Json> Summary() {
    LOCKSTEP_RETURN_IF_ERROR(FindTails());
    LOCKSTEP_RETURN_IF_ERROR(FindCauses());
    return SummaryView(input_, {ImbalanceOf(), QualityOf(), *tails_, &cross_rank_->stragglers, &cross_rank_->blame});
  }

  absl::StatusOr<Json> Tails() {
    LOCKSTEP_RETURN_IF_ERROR(FindTails());
    return TailsView(input_, *tails_);
  }

  absl::StatusOr<Json> Stragglers() {
    LOCKSTEP_RETURN_IF_ERROR(FindCauses());
    return StragglersView(input_, cross_rank_->stragglers);
  }

  absl::StatusOr<Json> Findings() {
    LOCKSTEP_RETURN_IF_ERROR(FindCauses());
    LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary kernels,
                              ComputeKernels(input_.fleet, GroupBy::kShape, StepFigures::kDistributions));
    return FindingsView(
        input_, ComputeFindings({input_.fleet, input_.measures, kernels, QualityOf(), cross_rank_->stragglers}));
  }

  absl::StatusOr<Json> BuildImbalance() {
    LOCKSTEP_RETURN_IF_ERROR(FindCauses());
    Imbalance imbalance = ImbalanceOf();
    const int64_t measured_ns = cross_rank_->replay->base().measured_ns;
    const auto ideal_ns = ZeroTransferNs(*cross_rank_->replay);
    if (ideal_ns && measured_ns > 0 && !JudgedOnMore(input_.fleet)) {
      SetIdealTime(static_cast<double>(*ideal_ns) / static_cast<double>(measured_ns), imbalance.efficiency);
    }
    return ImbalanceView(input_, imbalance);
  }

  absl::Status FindCauses() {
    if (cross_rank_ != nullptr) return absl::OkStatus();
    LOCKSTEP_ASSIGN_OR_RETURN(cross_rank_, AnalyseCrossRank(input_.context));
    return absl::OkStatus();
  }

  absl::Status FindTails() {
    if (tails_) return absl::OkStatus();
    LOCKSTEP_ASSIGN_OR_RETURN(tails_, TailsOf(input_));
    return absl::OkStatus();
  }

  const Quality& QualityOf() {
    if (!quality_) quality_ = ComputeQuality(input_.fleet, input_.measures);
    return *quality_;
  }

  const Imbalance& ImbalanceOf() {
    if (!imbalance_) imbalance_ = ComputeImbalance(input_.fleet, input_.measures);
    return *imbalance_;
  }

  const ViewInput& input_;
  std::optional<Quality> quality_;
  std::optional<Imbalance> imbalance_;
  std::optional<std::vector<TailRow>> tails_;
  std::unique_ptr<const CrossRank> cross_rank_;
};

std::vector<std::string> ShownViews(const AnalysisOptions& options) {
  std::vector<std::string> shown;
  std::copy_if(AllViews().begin(), AllViews().end(), std::back_inserter(shown),
               [&](const std::string& view) { return Asked(options, view); });
  return shown;
}

Json NoticesJson(const std::vector<Notice>& notices) {
  Json list = Json::array();
  std::set<Notice> seen;
  for (const Notice& notice : notices) {
    if (seen.insert(notice).second) list.push_back({{"view", notice.view}, {"reason", notice.reason}});
  }
  return list;
}

absl::StatusOr<Json> BuildViews(const ViewInput& input, const AnalysisOptions& options) {
  Json views = Json::object();
  ReportBuilder builder(input);
  for (const std::string& view : AllViews()) {
    if (!Asked(options, view)) continue;
    LOCKSTEP_ASSIGN_OR_RETURN(views[view], builder.Build(view));
    if (view == "memory") views["allocation"] = AllocationView(input);
  }
  NotifyOfEmptyViews(input, views);
  LOCKSTEP_RETURN_IF_ERROR(ApplyListOptions(options, views));
  return views;
}

}  // namespace

const std::vector<std::string>& AllViews() {
  static const std::vector<std::string> views = {"summary",     "ranks", "quality",  "kernels",    "families",
                                                 "collectives", "skew",  "overlap",  "imbalance",  "tails",
                                                 "idle",        "host",  "launches", "nvtx",       "memory",
                                                 "steps",       "pace",  "clock",    "stragglers", "findings"};
  return views;
}

Json ReportOfViews(const Json& report, const std::vector<std::string>& views) {
  // Also true for what belongs to no view.
  const auto is_shown = [&](std::string_view part) {
    const std::string_view view = part == "allocation" ? "memory" : part;
    const auto is_view = [&](const std::string& known) { return known == view; };
    const auto is_asked = [&](const std::string& asked) { return asked == view || asked == "all"; };
    return std::none_of(AllViews().begin(), AllViews().end(), is_view) ||
           std::any_of(views.begin(), views.end(), is_asked);
  };
  Json shown;
  for (const auto& [part, value] : report.items()) {
    if (is_shown(part)) shown[part] = value;
  }
  Json& notices = shown["notices"];
  const auto of_others = [&](const Json& notice) { return !is_shown(notice.at("view").get<std::string>()); };
  notices.erase(std::remove_if(notices.begin(), notices.end(), of_others), notices.end());
  return shown;
}

absl::StatusOr<Json> BuildReport(const RunData& run, InstanceSource& instances, const AnalysisOptions& options,
                                 Executor& executor) {
  LOCKSTEP_RETURN_IF_ERROR(CheckOptions(options));
  const RankResolution ranks = ResolveRanks(run, options);
  LOCKSTEP_RETURN_IF_ERROR(CheckRanks(run, ranks, options));
  LOCKSTEP_ASSIGN_OR_RETURN(const MatchResult match, MatchRun(run, instances, ranks, executor));
  const Fleet fleet = MakeFleet(run, ranks, match, options);
  LOCKSTEP_ASSIGN_OR_RETURN(const FleetMeasures measures, MeasureFleet(fleet, instances, executor));
  std::vector<Notice> notices;
  LOCKSTEP_ASSIGN_OR_RETURN(auto named_rows, NamedRows(run, instances, ranks, options.kernels));
  LOCKSTEP_ASSIGN_OR_RETURN(auto range_rows, RangeRows(fleet, instances));
  const AnalysisContext context{run,
                                instances,
                                options,
                                ranks,
                                match,
                                executor,
                                fleet.run_start_ns,
                                SelectedRanks(ranks, options),
                                notices,
                                std::move(named_rows),
                                std::move(range_rows)};
  const ViewInput input{context, fleet, measures};
  NotifyOfSelection(input, ShownViews(options));
  LOCKSTEP_ASSIGN_OR_RETURN(Json views, BuildViews(input, options));
  Json report;
  report["schema"] = kSchema;
  report["notices"] = NoticesJson(notices);
  report["run"] = RunObject(input);
  for (auto& [view, content] : views.items()) report[view] = std::move(content);
  return report;
}

}  // namespace lockstep
