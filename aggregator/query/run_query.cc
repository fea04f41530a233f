#include "aggregator/query/run_query.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/query/answer_key.h"
#include "aggregator/query/joined_answer.h"
#include "analysis/base/check.h"
#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/utf8.h"
#include "analysis/metrics/match/chapter_reader.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/json.h"
#include "analysis/report/report.h"
#include "analysis/report/report_document.h"
#include "platform/heap.h"
#include "platform/log.h"
#include "platform/mutex.h"

namespace lockstep {

namespace {

// Its analysis takes hundreds of MiB in any case, and most of its time may go where memory comes from.
bool IsLarge(const RunData& run) {
  constexpr int64_t kInstances = int64_t{1} << 20;
  int64_t sum = 0;
  for (const SourceData& source : run.sources) sum += BelievedCount(source);
  return sum >= kInstances;
}

bool IsKnown(const std::string& view) { return view == "all" || IsView(view); }

// A file may be damaged, or made by a stranger: what no renderer writes is no answer, and is computed again.
bool IsReportText(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; };
  return text.starts_with('{') && std::none_of(text.begin(), text.end(), is_control) && IsValidUtf8(text);
}

std::optional<std::string> FindKept(JobStore& store, const std::string& run, const Hash128& key) {
  absl::StatusOr<std::optional<std::string>> found = store.FindAnswer(run, key);
  if (found.ok() && (!found->has_value() || IsReportText(**found))) return *std::move(found);
  LogWarning("a kept answer about run '{}' is computed again: {}", run,
             found.ok() ? "it is no report" : std::string(found.status().message()));
  return std::nullopt;
}

// Only of all that was recorded, and views that there are.
bool IsPlain(const AnalysisOptions& asked) {
  AnalysisOptions of_views;
  of_views.views = asked.views;
  return asked == of_views && std::all_of(asked.views.begin(), asked.views.end(), IsKnown);
}

// The summary of all that was recorded needs most of what the other views show: all are made at once then, also those
// that pages and comparisons read, so that whoever looks closer has the answer waiting.
bool MakesAll(const AnalysisOptions& asked) {
  if (!IsPlain(asked)) return false;
  const std::vector<std::string> shown = ShownViews(asked);
  return std::find(shown.begin(), shown.end(), "summary") != shown.end();
}

// Of several views of all that was recorded, from what is kept of each.
std::optional<std::string> FindJoined(JobStore& store, const std::string& run, const AnalysisOptions& asked) {
  if (!IsPlain(asked)) return std::nullopt;
  const std::vector<std::string> shown = ShownViews(asked);
  if (shown.size() < 2) return std::nullopt;
  std::vector<std::string> texts;
  for (const std::string& view : shown) {
    std::optional<std::string> kept = FindKept(store, run, AnswerKey({.views = {view}}));
    if (!kept) return std::nullopt;
    texts.push_back(*std::move(kept));
  }
  return JoinViews(texts);
}

// For whoever asks next. Not to keep an answer costs time, no truth.
void Keep(JobStore& store, const std::string& run, const RunContent& content, const std::vector<KeptAnswer>& answers) {
  const absl::Status kept = store.KeepAnswers(run, content, answers);
  if (!kept.ok()) LogWarning("an answer about run '{}' is not kept: {}", run, std::string(kept.message()));
}

using TextByView = std::map<std::string, std::string>;

// The answer to a question about these views, from that on each view there is.
std::string AnswerOn(const std::vector<std::string>& views, TextByView by_view) {
  if (views.size() == 1) return std::move(by_view.at(views.front()));
  std::vector<std::string> texts;
  for (const std::string& view : views) texts.push_back(std::move(by_view.at(view)));
  std::optional<std::string> joined = JoinViews(texts);
  LOCKSTEP_CHECK(joined.has_value());
  return *std::move(joined);
}

// What views are made of, until the analysis is asked to end.
class StoppableInstances : public InstanceSource {
 public:
  StoppableInstances(InstanceSource& instances, const std::function<bool()>& go_on)
      : instances_(instances), go_on_(go_on) {}
  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override {
    LOCKSTEP_RETURN_IF_ERROR(GoesOn());
    return instances_.Open(source);
  }
  absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) override {
    LOCKSTEP_RETURN_IF_ERROR(GoesOn());
    return instances_.OpenBehind(source, position);
  }
  [[nodiscard]] int64_t FirstRow(size_t source) const override { return instances_.FirstRow(source); }
  [[nodiscard]] int64_t RowCount(size_t source) const override { return instances_.RowCount(source); }

 private:
  [[nodiscard]] absl::Status GoesOn() const {
    return go_on_() ? absl::OkStatus() : absl::CancelledError("the analysis was asked to end");
  }

  InstanceSource& instances_;
  const std::function<bool()>& go_on_;
};

// All views, each by itself.
absl::StatusOr<TextByView> MakeAll(const RunData& run, InstanceSource& instances, Executor& executor) {
  AnalysisOptions options;
  options.views = KnownViews();
  options.expected_ranks = run.info.expected_ranks;
  TextByView by_view;
  LOCKSTEP_RETURN_IF_ERROR(
      BuildReports(run, instances, options, executor,
                   [&](const std::string& view, std::string text) { by_view[view] = std::move(text); }));
  return by_view;
}

std::optional<TextByView> FindAll(JobStore& store, const std::string& run) {
  TextByView by_view;
  for (const std::string& view : KnownViews()) {
    std::optional<std::string> kept = FindKept(store, run, AnswerKey({.views = {view}}));
    if (!kept) return std::nullopt;
    by_view[view] = *std::move(kept);
  }
  return by_view;
}

// The state by this answer, so that the first one says the same as all later ones.
void CountAsAnalysed(RunData& run) {
  if (run.info.state != RunState::kOpen) run.info.state = RunState::kAnalysed;
}

// All views, or where they cannot be kept what was loaded of the run. Of an open run neither.
struct MadeViews {
  std::optional<TextByView> by_view;
  std::optional<LoadedRun> loaded;
};

// Every view of all that was recorded of a complete run, made unless it is kept, and kept. One run at a time: an
// analysis uses all cores, and two would need the memory of both.
absl::StatusOr<MadeViews> AllOfComplete(JobStore& store, const std::string& run, Executor& executor,
                                        const std::function<bool()>& go_on) {
  LOCKSTEP_ASSIGN_OR_RETURN(const bool complete, store.IsComplete(run));
  if (!complete) return MadeViews();  // whoever asks about an open run does not wait
  static Mutex making;
  const MutexLock lock(making);
  if (std::optional<TextByView> kept = FindAll(store, run)) return MadeViews{.by_view = std::move(kept), .loaded = {}};
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun loaded, store.LoadRun(run));
  if (loaded.data.info.state == RunState::kOpen || !loaded.content) {
    return MadeViews{.by_view = {}, .loaded = std::move(loaded)};
  }
  std::optional<KeptMemory> memory;
  if (IsLarge(loaded.data)) memory.emplace();
  CountAsAnalysed(loaded.data);
  StoppableInstances instances(*loaded.instances, go_on);
  LOCKSTEP_ASSIGN_OR_RETURN(TextByView by_view, MakeAll(loaded.data, instances, executor));
  std::vector<KeptAnswer> answers;
  for (const auto& [view, text] : by_view) answers.push_back({AnswerKey({.views = {view}}), text});
  LOCKSTEP_RETURN_IF_ERROR(store.MarkAnalysed(run));
  Keep(store, run, *loaded.content, answers);
  return MadeViews{.by_view = std::move(by_view), .loaded = {}};
}

}  // namespace

absl::StatusOr<std::string> AnswerViews(JobStore& store, const std::string& run, const AnalysisOptions& asked,
                                        Executor& executor, OpenRuns* open) {
  const Hash128 key = AnswerKey(asked);
  if (std::optional<std::string> kept = FindKept(store, run, key)) return *std::move(kept);
  if (std::optional<std::string> joined = FindJoined(store, run, asked)) return *std::move(joined);
  MadeViews all;
  if (MakesAll(asked)) {
    LOCKSTEP_ASSIGN_OR_RETURN(all, AllOfComplete(store, run, executor, [] { return true; }));
    if (all.by_view) return AnswerOn(ShownViews(asked), *std::move(all.by_view));
  }
  if (open != nullptr && !all.loaded) {
    LOCKSTEP_ASSIGN_OR_RETURN(OpenRuns::Answer grown, open->Ask(run, asked));
    if (grown.text) return *std::move(grown.text);
    all.loaded = std::move(grown.loaded);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun loaded, all.loaded ? *std::move(all.loaded) : store.LoadRun(run));
  std::optional<KeptMemory> memory;
  if (IsLarge(loaded.data)) memory.emplace();
  CountAsAnalysed(loaded.data);
  AnalysisOptions options = asked;
  options.expected_ranks = loaded.data.info.expected_ranks;
  LOCKSTEP_ASSIGN_OR_RETURN(const Json report, BuildReport(loaded.data, *loaded.instances, options, executor));
  std::string text = RenderJson(report);
  if (loaded.data.info.state == RunState::kOpen) return text;
  LOCKSTEP_RETURN_IF_ERROR(store.MarkAnalysed(run));
  if (loaded.content) Keep(store, run, *loaded.content, {{key, text}});
  return text;
}

absl::Status AnswerAhead(JobStore& store, const std::string& run, Executor& executor,
                         const std::function<bool()>& go_on) {
  return AllOfComplete(store, run, executor, go_on).status();
}

absl::Status PublishRanks(JobStore& store, const std::string& run) {
  // One at a time: a slow one must not write what it loaded over what was loaded later.
  static Mutex publishing;
  const MutexLock lock(publishing);
  const absl::StatusOr<bool> complete = store.IsComplete(run);
  if (absl::IsNotFound(complete.status())) return absl::OkStatus();
  LOCKSTEP_RETURN_IF_ERROR(complete.status());
  if (!*complete) return absl::OkStatus();
  // Each agent of a large fleet asks when it is through: what did not change since the last one needs no loading.
  const Hash128 key = PublishedRanksKey();
  const absl::StatusOr<std::optional<std::string>> done = store.FindAnswer(run, key);
  if (done.ok() && done->has_value()) return absl::OkStatus();
  // Ranks are told by contexts and communicators.
  LOCKSTEP_ASSIGN_OR_RETURN(const LoadedRun loaded, store.LoadCollectives(run));
  AnalysisOptions options;
  options.expected_ranks = loaded.data.info.expected_ranks;
  std::vector<std::pair<Hash128, int32_t>> ranks;
  for (const ResolvedRank& resolved : ResolveRanks(loaded.data, options).ranks) {
    ranks.emplace_back(loaded.data.sources[resolved.source].context.source_id, resolved.rank);
  }
  LOCKSTEP_RETURN_IF_ERROR(store.PutRanks(run, ranks));
  if (loaded.content.has_value()) Keep(store, run, *loaded.content, {{key, "published"}});
  return absl::OkStatus();
}

}  // namespace lockstep
