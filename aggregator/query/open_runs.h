// Keeps the analysis of runs that are asked about while they grow, so that an answer takes only what came since
// (analysis/report/growing_run.h). One thread follows the runs that were asked about lately, on one core, and stands
// aside for questions: it looks at a run only if its content is another than at the last look or answer, and rests
// between two looks for a multiple of what the last one took. A run that does not change costs nothing.
//
// Who owns what: an entry of a run owns its kept analysis and is guarded by its own mutex, held while the run is loaded
// and analysed: snapshots reach the analysis in their order, questions about one run wait for each other. The list of
// entries has a mutex of its own, never held while anything is loaded. What is kept of a run goes when it is no longer
// open, when it cannot be loaded, and when others were asked about since; a run that was dropped and sent anew is told
// by its sources and their batches, and begins anew. The tables of the last look stay with what is kept as long as they
// are not too large, so that of those, too, only what came since is loaded.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "aggregator/query/stable_names.h"
#include "aggregator/store/job_store.h"
#include "analysis/base/executor.h"
#include "analysis/base/time.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/report/growing_run.h"
#include "platform/clock.h"
#include "platform/heap.h"
#include "platform/mutex.h"

namespace lockstep {

struct OpenRunsOptions {
  GrowingLimits limits;
  size_t most_runs = 4;                         // kept at a time; the one asked about longest ago goes first
  int64_t most_table_bytes = int64_t{1} << 30;  // of a run; beyond, they are loaded anew for each answer
  int64_t period_ns = 500'000'000;              // between two looks at what came; 0: only when Follow is called
  int64_t follow_ns = int64_t{300} * kNsPerS;   // so long after a question a run is followed
  int64_t rest_looks = 1;                       // a run rests for so many times what the last look or answer took
  // ... and so long at least after an answer: whoever watches asks again by then, and needs no other thread's help.
  int64_t answer_rest_ns = int64_t{3} * kNsPerS;
  // A run that could not be kept is not tried again for so many times what the try took, and at most so long.
  int64_t rest_tries = 20;
  int64_t give_up_ns = int64_t{60} * kNsPerS;
  const Clock* clock = &SystemClock();  // must outlive this
};

// Thread safe.
class OpenRuns {
 public:
  // Both must outlive this.
  OpenRuns(JobStore& store, Executor& executor, const OpenRunsOptions& options = {});
  ~OpenRuns();  // after Stop
  OpenRuns(const OpenRuns&) = delete;
  OpenRuns& operator=(const OpenRuns&) = delete;

  struct Answer {
    std::optional<std::string> text;  // the report document
    // Else it is to be made from the run as a whole, which may have been loaded already.
    std::optional<LoadedRun> loaded;
  };
  // Errors: kNotFound (no such run), those of the options.
  [[nodiscard]] absl::StatusOr<Answer> Ask(const std::string& run, const AnalysisOptions& asked);

  // Looks once at what came of the runs that are followed; the thread does so again and again. True: it took some.
  bool Follow();
  // Ends following; waits for a chapter that is under way. Questions are answered as before.
  void Stop();

 private:
  struct Entry {
    // What is kept of a run. `names` as old as `analysis`, which it numbers.
    struct State {
      explicit State(const GrowingLimits& limits) : analysis(limits) {}
      KeptMemory memory;  // each look at the run frees what the next one allocates
      StableNames names;
      GrowingRun analysis;
      HadTables had;  // of the snapshot that the analysis has; empty where that lacks tables
    };

    std::atomic<int> asking = 0;        // questions that wait or are answered
    std::atomic<int64_t> asked_ns = 0;  // last
    std::atomic<bool> open = false;     // the run was, when it was asked about
    Mutex mutex;
    std::unique_ptr<State> state LOCKSTEP_GUARDED_BY(mutex);
    int64_t tries_again_ns LOCKSTEP_GUARDED_BY(mutex) = 0;      // nothing is kept before
    std::optional<RunContent> seen LOCKSTEP_GUARDED_BY(mutex);  // all of it was looked at
    int64_t rests_until_ns LOCKSTEP_GUARDED_BY(mutex) = 0;      // no look before
  };

  void Work();
  [[nodiscard]] std::shared_ptr<Entry> EntryOf(const std::string& run) LOCKSTEP_EXCLUDES(mutex_);
  // Nobody asks about it any more.
  [[nodiscard]] bool IsForgotten(const Entry& entry) const;
  // Forgets what is not worth keeping, and what is too much.
  void Settle(const std::string& run, const std::shared_ptr<Entry>& entry) LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] absl::StatusOr<Answer> AskEntry(const std::string& run, const AnalysisOptions& asked, Entry& entry);
  [[nodiscard]] absl::StatusOr<Answer> AnswerOf(const std::string& run, const AnalysisOptions& asked, int64_t begun_ns,
                                                Entry& entry) LOCKSTEP_REQUIRES(entry.mutex);
  [[nodiscard]] bool Begin(const RunData& run, Entry& entry) const LOCKSTEP_REQUIRES(entry.mutex);
  // Goes on with what was loaded of the run.
  [[nodiscard]] absl::Status Advance(LoadedRun loaded, Executor& executor, const std::function<bool()>& go_on,
                                     Entry::State& state) const;
  void GiveUp(int64_t begun_ns, Entry& entry) const LOCKSTEP_REQUIRES(entry.mutex);
  [[nodiscard]] bool FollowEntry(const std::string& run, Entry& entry);
  // Loads what came and goes on with it. True: it took some.
  [[nodiscard]] bool LookAt(const std::string& run, int64_t begun_ns, Entry& entry) LOCKSTEP_REQUIRES(entry.mutex);
  // What was just looked at or answered, begun at that time: null if more is to be taken of it.
  void Rest(int64_t begun_ns, std::optional<RunContent> seen, Entry& entry) const LOCKSTEP_REQUIRES(entry.mutex);

  JobStore& store_;
  Executor& executor_;
  const OpenRunsOptions options_;
  std::atomic<bool> stopped_ = false;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::shared_ptr<Entry>> entries_ LOCKSTEP_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses all the others
};

}  // namespace lockstep
