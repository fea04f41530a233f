#include "aggregator/query/open_runs.h"

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "aggregator/store/memory/run_assembly.h"
#include "analysis/base/check.h"
#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/model/instance_source.h"
#include "analysis/report/analysis_steps.h"
#include "analysis/report/json.h"
#include "platform/executor.h"
#include "platform/log.h"

namespace lockstep {
namespace {

// Such a run is analysed as a whole in no time.
bool HasFewRows(const RunData& run, const GrowingLimits& limits) {
  int64_t rows = 0;
  for (const SourceData& source : run.sources) rows += static_cast<int64_t>(ExpectedInstances(source));
  return rows < GrowingRun::LeastRows(GrowingRun::ChaptersOf(limits, run), run.sources.size());
}

// Puts what an earlier snapshot had of sources before what was loaded of them since. Both in order of source id.
void Complete(std::span<SourceData> earlier, LoadedRun& loaded) {
  auto before = earlier.begin();
  for (size_t s = 0; s < loaded.tables.size(); ++s) {
    SourceData& source = loaded.data.sources[s];
    if (!loaded.tables[s].is_rest) continue;
    while (before != earlier.end() && before->context.source_id != source.context.source_id) ++before;
    LOCKSTEP_CHECK(before != earlier.end());
    JoinTables(*before, &source);
  }
}

bool IsWhole(const LoadedRun& loaded) {
  return std::none_of(loaded.tables.begin(), loaded.tables.end(),
                      [](const LoadedTables& each) { return each.is_rest; });
}

// What a later look need not load again, unless it is too much to keep.
HadTables TablesOf(const LoadedRun& loaded, int64_t most_bytes) {
  HadTables had;
  int64_t bytes = 0;
  for (size_t s = 0; s < loaded.tables.size(); ++s) {
    const SourceData& source = loaded.data.sources[s];
    had.emplace(source.context.source_id, loaded.tables[s].until);
    bytes += BytesOfTables(source);
  }
  return bytes <= most_bytes ? had : HadTables();
}

}  // namespace

OpenRuns::OpenRuns(JobStore& store, Executor& executor, const OpenRunsOptions& options)
    : store_(store), executor_(executor), options_(options) {
  if (options_.period_ns > 0) thread_ = std::thread([this] { Work(); });
}

OpenRuns::~OpenRuns() { Stop(); }

void OpenRuns::Stop() {
  stopped_ = true;
  {
    const MutexLock lock(mutex_);
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void OpenRuns::Work() {
  while (!stopped_) {
    if (Follow()) continue;
    const MutexLock lock(mutex_);
    if (stopped_) return;
    if (entries_.empty()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitFor(mutex_, options_.period_ns);
    }
  }
}

std::shared_ptr<OpenRuns::Entry> OpenRuns::EntryOf(const std::string& run) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[run];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  std::shared_ptr<Entry> out = entry;
  out->asked_ns = options_.clock->MonotonicNs();
  ++out->asking;
  return out;
}

void OpenRuns::Settle(const std::string& run, const std::shared_ptr<Entry>& entry) {
  std::vector<std::shared_ptr<Entry>> forgotten;  // to free much takes long: after the lock
  const MutexLock lock(mutex_);
  --entry->asking;
  const auto found = entries_.find(run);
  if (found != entries_.end() && found->second == entry && entry->asking == 0 && !entry->open) {
    forgotten.push_back(std::move(found->second));
    entries_.erase(found);
  }
  // Those of open runs about which nobody asks just now, the one asked about longest ago first.
  const auto idle = [](const auto& item) { return item.second->open && item.second->asking == 0; };
  while (std::count_if(entries_.begin(), entries_.end(), idle) > static_cast<std::ptrdiff_t>(options_.most_runs)) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (idle(*at) && (oldest == entries_.end() || at->second->asked_ns < oldest->second->asked_ns)) oldest = at;
    }
    forgotten.push_back(std::move(oldest->second));
    entries_.erase(oldest);
  }
  changed_.NotifyAll();
}

absl::StatusOr<OpenRuns::Answer> OpenRuns::Ask(const std::string& run, const AnalysisOptions& asked) {
  if (!GrowingRun::Serves(asked)) return Answer();
  const std::shared_ptr<Entry> entry = EntryOf(run);
  const absl::Cleanup settle = [&] { Settle(run, entry); };
  return AskEntry(run, asked, *entry);
}

absl::StatusOr<OpenRuns::Answer> OpenRuns::AskEntry(const std::string& run, const AnalysisOptions& asked,
                                                    Entry& entry) {
  LOCKSTEP_RETURN_IF_ERROR(CheckOptions(asked));
  const MutexLock lock(entry.mutex);
  const int64_t begun_ns = options_.clock->MonotonicNs();
  const absl::StatusOr<RunContent> content = store_.ContentOf(run);
  if (!content.ok()) {
    entry.open = false;
    entry.state = nullptr;
    return content.status();
  }
  absl::StatusOr<Answer> answer = AnswerOf(run, asked, begun_ns, entry);
  Rest(begun_ns, *content, entry);
  entry.rests_until_ns = std::max(entry.rests_until_ns, options_.clock->MonotonicNs() + options_.answer_rest_ns);
  return answer;
}

absl::StatusOr<OpenRuns::Answer> OpenRuns::AnswerOf(const std::string& run, const AnalysisOptions& asked,
                                                    int64_t begun_ns, Entry& entry) {
  absl::StatusOr<LoadedRun> loaded =
      entry.state == nullptr ? store_.LoadRun(run) : store_.LoadRest(run, entry.state->had);
  entry.open = loaded.ok() && loaded->data.info.state == RunState::kOpen;
  if (!entry.open) entry.state = nullptr;
  if (!loaded.ok()) return loaded.status();
  Answer answer;
  if (!entry.open || !Begin(loaded->data, entry)) {
    if (IsWhole(*loaded)) answer.loaded = *std::move(loaded);
    return answer;
  }
  Entry::State& state = *entry.state;
  AnalysisOptions options = asked;
  options.expected_ranks = loaded->data.info.expected_ranks;
  absl::Status done = Advance(*std::move(loaded), executor_, nullptr, state);
  if (done.ok()) {
    absl::StatusOr<Json> report = state.analysis.Report(options, executor_);
    if (state.had.empty()) {
      for (SourceData& source : state.analysis.sources()) DropTables(&source);
    }
    if (report.ok()) {
      answer.text = RenderJson(*report);
      return answer;
    }
    if (absl::IsInvalidArgument(report.status())) return report.status();
    done = report.status();
  }
  LogDebug("the open run '{}' is analysed as a whole: {}", run, std::string(done.message()));
  GiveUp(begun_ns, entry);
  return answer;
}

absl::Status OpenRuns::Advance(LoadedRun loaded, Executor& executor, const std::function<bool()>& go_on,
                               Entry::State& state) const {
  LOCKSTEP_RETURN_IF_ERROR(state.names.Apply(loaded));
  Complete(state.analysis.sources(), loaded);
  state.had = TablesOf(loaded, options_.most_table_bytes);
  return state.analysis.Advance(std::move(loaded.data), *loaded.instances, executor, go_on);
}

// Whether there is or can be something kept of the run.
bool OpenRuns::Begin(const RunData& run, Entry& entry) const {
  if (entry.state != nullptr) return true;
  if (options_.clock->MonotonicNs() < entry.tries_again_ns) return false;
  if (HasFewRows(run, options_.limits)) return false;
  entry.state = std::make_unique<Entry::State>(options_.limits);
  return true;
}

// A rank that has not begun may do so at once; one that is far behind stays so for long, and each try takes longer.
void OpenRuns::GiveUp(int64_t begun_ns, Entry& entry) const {
  const int64_t now_ns = options_.clock->MonotonicNs();
  entry.state = nullptr;
  entry.tries_again_ns = now_ns + std::min(options_.give_up_ns, options_.rest_tries * (now_ns - begun_ns));
}

bool OpenRuns::IsForgotten(const Entry& entry) const {
  return entry.asking == 0 && options_.clock->MonotonicNs() - entry.asked_ns > options_.follow_ns;
}

bool OpenRuns::Follow() {
  std::vector<std::pair<std::string, std::shared_ptr<Entry>>> followed;
  {
    const MutexLock lock(mutex_);
    followed.assign(entries_.begin(), entries_.end());
    std::erase_if(entries_, [&](const auto& item) { return IsForgotten(*item.second); });
  }
  std::erase_if(followed, [&](const auto& item) { return IsForgotten(*item.second); });  // freed after the lock
  bool found_more = false;
  for (const auto& [run, entry] : followed) {
    if (!stopped_ && entry->asking == 0) found_more = FollowEntry(run, *entry) || found_more;
  }
  return found_more;
}

bool OpenRuns::FollowEntry(const std::string& run, Entry& entry) {
  const MutexLock lock(entry.mutex);
  const int64_t begun_ns = options_.clock->MonotonicNs();
  if (!entry.open || begun_ns < entry.rests_until_ns) return false;
  const absl::StatusOr<RunContent> content = store_.ContentOf(run);
  if (content.ok() && entry.seen == *content) return false;
  const bool took_some = LookAt(run, begun_ns, entry);
  const bool took_all = content.ok() && entry.asking == 0 && !stopped_;
  Rest(begun_ns, took_all ? std::optional(*content) : std::nullopt, entry);
  return took_some;
}

bool OpenRuns::LookAt(const std::string& run, int64_t begun_ns, Entry& entry) {
  SerialExecutor one_core;
  const auto go_on = [&] { return !stopped_ && entry.asking == 0; };
  const bool has_tables = entry.state != nullptr && !entry.state->had.empty();
  absl::StatusOr<LoadedRun> loaded = has_tables ? store_.LoadRest(run, entry.state->had) : store_.LoadCollectives(run);
  entry.open = loaded.ok() && loaded->data.info.state == RunState::kOpen;
  if (!entry.open) entry.state = nullptr;
  if (!entry.open || !Begin(loaded->data, entry)) return false;
  Entry::State& state = *entry.state;
  const int64_t before = state.analysis.taken_rows();
  const absl::Status done = Advance(*std::move(loaded), one_core, go_on, state);
  if (!has_tables) state.had.clear();
  if (done.ok()) return state.analysis.taken_rows() != before;
  LogDebug("the run '{}' is not followed any longer: {}", run, std::string(done.message()));
  GiveUp(begun_ns, entry);
  return false;
}

void OpenRuns::Rest(int64_t begun_ns, std::optional<RunContent> seen, Entry& entry) const {
  const int64_t now_ns = options_.clock->MonotonicNs();
  entry.seen = seen;
  entry.rests_until_ns = now_ns + options_.rest_looks * (now_ns - begun_ns);
}

}  // namespace lockstep
