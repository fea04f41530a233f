#include "analysis/report/growing_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/base/check.h"
#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/match/chapter_reader.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/analysis_steps.h"
#include "analysis/report/empty_selection.h"
#include "analysis/report/instance_sums.h"
#include "analysis/report/json.h"
#include "analysis/report/report_document.h"
#include "analysis/report/run_chapters.h"
#include "analysis/report/views/selection_notices.h"

namespace lockstep {
namespace {

// Of everything that any view shows.
AnalysisOptions Everything(const RunInfo& info) {
  AnalysisOptions options;
  options.views = KnownViews();
  options.expected_ranks = info.expected_ranks;
  return options;
}

bool SameRanks(const RankResolution& a, const RankResolution& b) {
  const auto same = [](const ResolvedRank& x, const ResolvedRank& y) {
    return x.source == y.source && x.rank == y.rank && x.host == y.host && x.host_source == y.host_source &&
           x.domain == y.domain && x.capture == y.capture;
  };
  return a.world_size == b.world_size && a.missing_ranks == b.missing_ranks && a.silent_ranks == b.silent_ranks &&
         std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), same);
}

bool SameWindow(const SourceContext& a, const SourceContext& b) {
  return a.first_start_ns == b.first_start_ns && a.last_end_ns == b.last_end_ns && a.base_unix_ns == b.base_unix_ns &&
         a.bucket_ns == b.bucket_ns && a.session == b.session;
}

// Whether the later snapshot of a source has what the earlier one had, as far as that can be told without its rows.
bool GoesOn(const SourceData& before, const SourceData& after) {
  return before.context.source_id == after.context.source_id && SameWindow(before.context, after.context) &&
         before.instance_count <= after.instance_count && before.steps.size() <= after.steps.size() &&
         before.communicators.size() <= after.communicators.size();
}

bool GoesOn(const RunData& before, const RunData& after) {
  const auto same = [](const SourceData& a, const SourceData& b) { return GoesOn(a, b); };
  return before.names.size() <= after.names.size() &&
         std::equal(before.sources.begin(), before.sources.end(), after.sources.begin(), after.sources.end(), same);
}

}  // namespace

// Borrows the run.
struct GrowingRun::Kept {
  Kept(const RunData& run, RankResolution resolved, const ChapterLimits& chapter_limits)
      : options(Everything(run.info)),
        limits(chapter_limits),
        ranks(std::move(resolved)),
        chapters(run, ranks, limits) {}

  const AnalysisOptions options;
  const ChapterLimits limits;
  RankResolution ranks;  // what was refused may change
  RunChapters chapters;
  std::unique_ptr<Fleet> fleet;
  std::unique_ptr<FleetMeter> meter;
  std::unique_ptr<InstanceSums> sums;
  std::vector<bool> selected;
};

GrowingRun::GrowingRun(const GrowingLimits& limits) : limits_(limits) {}
GrowingRun::~GrowingRun() = default;

ChapterLimits GrowingRun::ChaptersOf(const GrowingLimits& limits, const RunData& run) {
  int64_t rows = 0;
  int64_t steps = 0;  // of all ranks
  for (const SourceData& source : run.sources) {
    rows += BelievedCount(source);
    steps += static_cast<int64_t>(source.steps.size());
  }
  ChapterLimits chapters = limits.chapters;
  if (rows <= 0 || steps == 0) return chapters;
  const int64_t most = chapters.least_of_rank;
  const int64_t least = std::min(limits.enough_of_rank, most);
  chapters.least_of_rank = std::clamp(limits.steps_of_chapter * (rows / steps), least, most);
  chapters.chapter_rows = chapters.chapter_rows / most * chapters.least_of_rank;
  return chapters;
}

int64_t GrowingRun::LeastRows(const ChapterLimits& chapters, size_t ranks) {
  return 2 * std::max(chapters.chapter_rows, chapters.least_of_rank * static_cast<int64_t>(ranks));
}

bool GrowingRun::Serves(const AnalysisOptions& options) {
  AnalysisOptions plain;
  plain.views = options.views;
  plain.group_by = options.group_by;
  plain.layout = options.layout;
  plain.sort = options.sort;
  plain.limit = options.limit;
  plain.expected_ranks = options.expected_ranks;
  plain.families = options.families;
  return plain == options;
}

int64_t GrowingRun::taken_rows() const { return kept_ == nullptr ? 0 : kept_->chapters.Taken(); }

absl::Status GrowingRun::Advance(RunData snapshot, InstanceSource& instances, Executor& executor,
                                 const std::function<bool()>& go_on) {
  absl::Status done = TryAdvance(snapshot, instances, executor, go_on);
  if (!done.ok()) kept_ = nullptr;
  return done;
}

absl::Status GrowingRun::TryAdvance(RunData& snapshot, InstanceSource& instances, Executor& executor,
                                    const std::function<bool()>& go_on) {
  RankResolution ranks = ResolveRanks(snapshot, Everything(snapshot.info));
  LOCKSTEP_RETURN_IF_ERROR(CheckRanks(snapshot, ranks, {}));
  if (kept_ != nullptr && (!SameRanks(kept_->ranks, ranks) || !GoesOn(run_, snapshot))) kept_ = nullptr;
  if (kept_ == nullptr) {
    run_ = std::move(snapshot);
    kept_ = std::make_unique<Kept>(run_, std::move(ranks), ChaptersOf(limits_, run_));
  } else {
    // Each source stays where it is: what is kept points there.
    std::move(snapshot.sources.begin(), snapshot.sources.end(), run_.sources.begin());
    run_.info = std::move(snapshot.info);
    run_.names = std::move(snapshot.names);
    run_.files = std::move(snapshot.files);
    kept_->ranks = std::move(ranks);
  }
  absl::Status opened = kept_->chapters.Continue(instances, executor);
  if (absl::IsFailedPrecondition(opened)) {  // a source that was dropped and sent anew
    kept_ = std::make_unique<Kept>(run_, std::move(kept_->ranks), ChaptersOf(limits_, run_));
    opened = kept_->chapters.Continue(instances, executor);
  }
  LOCKSTEP_RETURN_IF_ERROR(opened);
  return Take(executor, go_on);
}

absl::Status GrowingRun::Begin() {
  Kept& kept = *kept_;
  if (kept.chapters.Untaken() < LeastRows(kept.limits, kept.ranks.ranks.size()))
    return absl::UnavailableError("the run has few rows yet");
  LOCKSTEP_RETURN_IF_ERROR(kept.chapters.Open());
  ++begun_;
  kept.fleet = std::make_unique<Fleet>(MakeFleet(run_, kept.ranks, kept.chapters.match(), kept.options));
  kept.meter = std::make_unique<FleetMeter>(*kept.fleet, true);
  kept.sums = std::make_unique<InstanceSums>(*kept.fleet, kept.options.views, kept.chapters.extent());
  kept.selected = SelectedRanks(kept.ranks, kept.options);
  return absl::OkStatus();
}

absl::Status GrowingRun::Take(Executor& executor, const std::function<bool()>& go_on) {
  Kept& kept = *kept_;
  if (kept.fleet == nullptr) {
    LOCKSTEP_RETURN_IF_ERROR(Begin());
  } else {
    kept.meter->Grow();
  }
  bool all = true;
  const auto counted = [&] {
    all = go_on == nullptr || go_on();
    return all;
  };
  std::vector<Notice> notices;  // of selections, which are not made here
  LOCKSTEP_RETURN_IF_ERROR(
      SumChapters(kept.chapters, *kept.fleet, kept.selected, notices, executor, *kept.meter, *kept.sums, counted));
  if (all) {
    if (kept.chapters.Untaken() > limits_.most_open_rows) {
      return absl::UnavailableError("a rank is far behind the others");
    }
    if (kept.chapters.Taken() == 0) return absl::UnavailableError("nothing of the run is settled yet");
    LOCKSTEP_RETURN_IF_ERROR(kept.chapters.ReadAll());
  }
  kept.chapters.Pause();
  return absl::OkStatus();
}

absl::StatusOr<Json> GrowingRun::Report(const AnalysisOptions& options, Executor& executor) const {
  LOCKSTEP_CHECK(kept_ != nullptr);
  LOCKSTEP_RETURN_IF_ERROR(CheckOptions(options));
  const Kept& kept = *kept_;
  const RankResolution& ranks = kept.ranks;
  LOCKSTEP_RETURN_IF_ERROR(CheckLayout(ranks, options));
  RunChapters open(kept.chapters, executor);
  Fleet fleet = MakeFleet(run_, ranks, open.match(), options);
  FleetMeter meter(*kept.meter, fleet);
  InstanceSums sums(*kept.sums);
  std::vector<Notice> notices;
  LOCKSTEP_RETURN_IF_ERROR(SumChapters(open, fleet, kept.selected, notices, executor, meter, sums));
  const FleetMeasures measures = meter.Finish();
  fleet.run_start_ns = SpanOf(run_, ranks, open.match().clock).start_ns;
  const AnalysisContext context{run_,     open.rows(),        options,       ranks,  open.match(),
                                executor, fleet.run_start_ns, kept.selected, notices};
  const ViewInput input{context, fleet, measures};
  NotifyOfSelection(input, ShownViews(options));
  NotifyOfSample(input, open);
  return BuildWhole(input, sums, options);
}

}  // namespace lockstep
