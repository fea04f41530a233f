#include "analysis/report/report_document.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "analysis/report/list_options.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/shared_parts.h"
#include "analysis/report/views/empty_views.h"
#include "analysis/report/views/run_object.h"
#include "analysis/report/views/selection_notices.h"
#include "analysis/report/views/views.h"

namespace lockstep {
namespace {

bool Asked(const AnalysisOptions& options, std::string_view view) {
  return std::any_of(options.views.begin(), options.views.end(),
                     [&](const std::string& asked) { return asked == view || (asked == "all" && IsInAll(view)); });
}

// What a view is built from, and where it goes. What it has to tell goes to the notices of the input.
struct ViewSite {
  const ViewInput& input;
  const SharedParts& parts;
  report::Document& document;
};

template <typename Rows>
absl::Status Put(absl::StatusOr<Rows> rows, std::optional<Rows>& place) {
  LOCKSTEP_RETURN_IF_ERROR(rows.status());
  place = *std::move(rows);
  return absl::OkStatus();
}

absl::Status BuildSummary(const ViewSite& at) {
  at.document.summary = SummaryView(at.input, {at.parts.ImbalanceOf(), at.parts.QualityOf(), at.parts.Tails(),
                                               at.parts.Collectives(), at.parts.Late(), at.parts.NamingOf()});
  return absl::OkStatus();
}

absl::Status BuildFindings(const ViewSite& at) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary kernels,
                            ComputeKernels(at.input.fleet, GroupBy::kShape, StepFigures::kDistributions));
  const Naming& naming = at.parts.NamingOf();
  at.document.findings =
      FindingsView(at.input, ComputeFindings({at.input.fleet, at.input.measures, kernels, at.parts.QualityOf(),
                                              naming.shown, naming.confidence}));
  return absl::OkStatus();
}

absl::Status BuildImbalance(const ViewSite& at) {
  const Replay& replay = *at.parts.Causes().sample->replay;
  Imbalance imbalance = at.parts.ImbalanceOf();
  const int64_t measured_ns = replay.base().measured_ns;
  const auto ideal_ns = ZeroTransferNs(replay);
  if (ideal_ns && measured_ns > 0 && !JudgedOnMore(at.input.fleet)) {
    SetIdealTime(static_cast<double>(*ideal_ns) / static_cast<double>(measured_ns), imbalance.efficiency);
  }
  at.document.imbalance = ImbalanceView(at.input, imbalance, at.parts.Late());
  return absl::OkStatus();
}

absl::Status BuildMemory(const ViewSite& at) {
  at.document.memory = MemoryView(at.input);
  at.document.allocation = AllocationView(at.input);
  return absl::OkStatus();
}

absl::Status BuildProfile(const ViewSite& at) {
  return Put(ProfileView(at.input, at.parts.Skew(), at.parts.Collectives()), at.document.profile);
}

absl::Status BuildPictures(const ViewSite& at) {
  at.document.pictures = PicturesView(at.input, at.parts.Pictures());
  return absl::OkStatus();
}

struct ViewBuilder {
  std::string_view view;
  absl::Status (*build)(const ViewSite& at);
};

// A view that cannot fail.
template <auto kBuild>
absl::Status Always(const ViewSite& at) {
  kBuild(at);
  return absl::OkStatus();
}

constexpr auto kBuilders = std::to_array<ViewBuilder>({
    {"summary", BuildSummary},
    {"ranks", Always<[](const ViewSite& at) { at.document.ranks = RanksView(at.input.context); }>},
    {"quality", Always<[](const ViewSite& at) { at.document.quality = QualityView(at.input, at.parts.QualityOf()); }>},
    {"kernels", [](const ViewSite& at) { return Put(KernelsView(at.input), at.document.kernels); }},
    {"families", [](const ViewSite& at) { return Put(FamiliesView(at.input), at.document.families); }},
    {"collectives", Always<[](const ViewSite& at) {
       at.document.collectives = CollectivesView(at.input.context, at.parts.Collectives());
     }>},
    {"skew", Always<[](const ViewSite& at) {
       at.document.skew = SkewView(at.input.context, at.parts.Skew(), at.parts.Listed());
     }>},
    {"overlap", Always<[](const ViewSite& at) { at.document.overlap = OverlapView(at.input); }>},
    {"imbalance", BuildImbalance},
    {"tails",
     Always<[](const ViewSite& at) { at.document.tails = TailsView(at.input, at.parts.Tails(), at.parts.Late()); }>},
    {"idle", Always<[](const ViewSite& at) { at.document.idle = IdleView(at.input); }>},
    {"host", Always<[](const ViewSite& at) { at.document.host = HostView(at.input); }>},
    {"launches", [](const ViewSite& at) { return Put(LaunchesView(at.input), at.document.launches); }},
    {"nvtx", Always<[](const ViewSite& at) { at.document.nvtx = NvtxView(at.input); }>},
    {"memory", BuildMemory},
    {"steps", Always<[](const ViewSite& at) { at.document.steps = StepsView(at.input); }>},
    {"pace", [](const ViewSite& at) { return Put(PaceView(at.input), at.document.pace); }},
    {"clock", Always<[](const ViewSite& at) { at.document.clock = ClockView(at.input); }>},
    {"stragglers",
     Always<[](const ViewSite& at) { at.document.stragglers = StragglersView(at.input, at.parts.NamingOf()); }>},
    {"findings", BuildFindings},
    {kProfileView, BuildProfile},
    {kPicturesView, BuildPictures},
});

absl::Status BuildView(const ViewSite& at, std::string_view view) {
  const auto* builder = std::find_if(kBuilders.begin(), kBuilders.end(),
                                     [&](const ViewBuilder& candidate) { return candidate.view == view; });
  LOCKSTEP_CHECK(builder != kBuilders.end());  // CheckOptions let nothing else through
  LOCKSTEP_RETURN_IF_ERROR(builder->build(at));
  NotifyOfEmptyView(at.input, view, at.document);
  return absl::OkStatus();
}

// Where the notices of a view stand among those of others: as the views in the document, behind what is no view.
std::ptrdiff_t PlaceOf(const std::string& notice_of) {
  const std::string view = notice_of == "allocation" ? "memory" : notice_of;
  const auto found = std::find(KnownViews().begin(), KnownViews().end(), view);
  return found == KnownViews().end() ? -1 : found - KnownViews().begin();
}

// Of what was told so far that of the views shown, and of what is no view. The order is that of the views, however they
// were built: a report of several views has the notices of the reports of each, one after the other.
std::vector<report::NoticeRow> NoticesOf(const std::vector<Notice>& notices, const std::vector<std::string>& shown) {
  const auto is_shown = [&](std::ptrdiff_t place) {
    return place < 0 || std::find(shown.begin(), shown.end(), KnownViews()[static_cast<size_t>(place)]) != shown.end();
  };
  std::vector<report::NoticeRow> list;
  std::set<Notice> seen;
  for (const Notice& notice : notices) {
    if (is_shown(PlaceOf(notice.view)) && seen.insert(notice).second) list.push_back({notice.view, notice.reason});
  }
  std::stable_sort(list.begin(), list.end(), [](const report::NoticeRow& a, const report::NoticeRow& b) {
    return PlaceOf(a.view) < PlaceOf(b.view);
  });
  return list;
}

// The document of these views, with what the run and the notices tell.
absl::StatusOr<Json> Finish(const ViewInput& input, const std::vector<std::string>& shown,
                            const AnalysisOptions& options, report::Document document) {
  document.notices = NoticesOf(input.context.notices, shown);
  document.run = RunObject(input);
  Json json = report::ToJson(document);
  LOCKSTEP_RETURN_IF_ERROR(ApplyListOptions(options, json));
  return json;
}

// The input of a view that is built beside others, with notices of its own: first those that were told before.
class OwnInput {
 public:
  explicit OwnInput(const ViewInput& input)
      : notices_(input.context.notices),
        context_(With(notices_, input.context)),
        input_{context_, input.fleet, input.measures} {}
  OwnInput(const OwnInput&) = delete;
  OwnInput& operator=(const OwnInput&) = delete;

  [[nodiscard]] const ViewInput& Get() const { return input_; }
  [[nodiscard]] const std::vector<Notice>& notices() const { return notices_; }

 private:
  static AnalysisContext With(std::vector<Notice>& notices, const AnalysisContext& c) {
    return {c.run,          c.instances,      c.options, c.ranks,      c.match,     c.executor,
            c.run_start_ns, c.selected_ranks, notices,   c.named_rows, c.range_rows};
  }

  std::vector<Notice> notices_;
  const AnalysisContext context_;
  const ViewInput input_;
};

// A few at a time, because each takes memory. The longest views are among the last: they are begun first.
void SideBySide(const ViewInput& input, size_t views, const std::function<void(size_t)>& build) {
  constexpr size_t kLanes = 6;
  input.context.executor.ParallelFor(std::min(views, kLanes), [&](size_t lane) {
    for (size_t i = lane; i < views; i += kLanes) build(views - 1 - i);
  });
}

// A view as a report of its own.
absl::StatusOr<std::string> ViewTextOf(const ViewInput& input, const SharedParts& parts, const AnalysisOptions& options,
                                       const std::string& view) {
  const OwnInput own(input);
  report::Document document;
  LOCKSTEP_RETURN_IF_ERROR(BuildView({own.Get(), parts, document}, view));
  LOCKSTEP_ASSIGN_OR_RETURN(const Json json, Finish(own.Get(), {view}, options, std::move(document)));
  return RenderJson(json);
}

}  // namespace

std::vector<std::string> ShownViews(const AnalysisOptions& options) {
  std::vector<std::string> shown;
  std::copy_if(KnownViews().begin(), KnownViews().end(), std::back_inserter(shown),
               [&](const std::string& view) { return Asked(options, view); });
  return shown;
}

absl::StatusOr<Json> BuildWhole(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options) {
  const std::vector<std::string> shown = ShownViews(options);
  SharedParts parts(input, sums);
  LOCKSTEP_RETURN_IF_ERROR(parts.Prepare(shown));
  report::Document document;  // each view writes its own members
  std::vector<absl::Status> built(shown.size());
  std::vector<std::vector<Notice>> notices(shown.size());
  SideBySide(input, shown.size(), [&](size_t i) {
    const OwnInput own(input);
    built[i] = BuildView({own.Get(), parts, document}, shown[i]);
    notices[i] = own.notices();
  });
  const auto told = static_cast<std::ptrdiff_t>(input.context.notices.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    LOCKSTEP_RETURN_IF_ERROR(built[i]);
    input.context.notices.insert(input.context.notices.end(), notices[i].begin() + told, notices[i].end());
  }
  return Finish(input, shown, options, std::move(document));
}

absl::Status BuildEach(const ViewInput& input, InstanceSums& sums, const AnalysisOptions& options,
                       const ViewSink& sink) {
  const std::vector<std::string> shown = ShownViews(options);
  SharedParts parts(input, sums);
  LOCKSTEP_RETURN_IF_ERROR(parts.Prepare(shown));
  std::vector<absl::StatusOr<std::string>> texts(shown.size());
  SideBySide(input, shown.size(), [&](size_t i) { texts[i] = ViewTextOf(input, parts, options, shown[i]); });
  for (size_t i = 0; i < shown.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::string text, std::move(texts[i]));
    sink(shown[i], std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
