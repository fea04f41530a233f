// The analysis of a run that is asked about while it grows: what is settled is taken once, and an answer takes only
// what came since.
//
// Kept are the sums over all settled chapters (run_chapters.h), what the matching knows of the run, and the rows that
// are of no chapter yet. An answer copies the sums, takes the rest of the rows as one more chapter or a few, and is
// made from the copy: it holds all that is stored, and says of it what docs/algorithms/runs.md says of runs in
// chapters. Kept state rests on the sources, their ranks and what was stored of them: where a snapshot is no
// continuation of the one before, all begins anew. Pure. Not thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "analysis/base/executor.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/chapter_limits.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"
#include "analysis/report/report.h"

namespace lockstep {

struct GrowingLimits {
  // Of a run whose steps are long or not known: small, so that little is open, while a clock still has its instances.
  ChapterLimits chapters = {.whole_rows = 0, .chapter_rows = int64_t{1} << 17, .least_of_rank = 256};
  // Of short steps a chapter need not have more than so many, in which nearly all blame finds its origin, nor more than
  // so many rows of a rank: the rows that are in no chapter yet are analysed for each answer, and the what-ifs are of
  // one chapter.
  int64_t steps_of_chapter = 8;
  int64_t enough_of_rank = 64;
  // A rank that is so far behind the others that more rows than these are open holds everything up.
  int64_t most_open_rows = int64_t{2} << 20;
};

class GrowingRun {
 public:
  explicit GrowingRun(const GrowingLimits& limits = {});
  ~GrowingRun();
  GrowingRun(const GrowingRun&) = delete;
  GrowingRun& operator=(const GrowingRun&) = delete;

  // The chapters of a run, by the length of the steps that it has so far.
  [[nodiscard]] static ChapterLimits ChaptersOf(const GrowingLimits& limits, const RunData& run);
  // A run with such chapters is taken so from this number of rows on.
  [[nodiscard]] static int64_t LeastRows(const ChapterLimits& chapters, size_t ranks);
  // Whether answers to such a question can be made from what is kept: nothing is selected, nothing listed one by one.
  [[nodiscard]] static bool Serves(const AnalysisOptions& options);

  // Goes on with a snapshot of the run: takes what is settled by now, asking `go_on` before each chapter (null:
  // always); what it says no to is left for the next time. Numbers of names mean the same in all snapshots. Errors
  // leave nothing kept: kUnavailable - the run cannot be taken so (too few rows yet, ranks that have not begun or are
  // too far behind); else those of the ranks and of the instances.
  [[nodiscard]] absl::Status Advance(RunData snapshot, InstanceSource& instances, Executor& executor,
                                     const std::function<bool()>& go_on = nullptr);

  // The views asked for, of the last snapshot, which had all tables and was taken as far as it is settled. Only after
  // an OK of Advance. Errors: those of BuildReport.
  [[nodiscard]] absl::StatusOr<Json> Report(const AnalysisOptions& options, Executor& executor) const;

  // The sources of the last snapshot, in order of their id. Their tables may be moved into the next one; then Advance
  // must come before anything else.
  [[nodiscard]] std::span<SourceData> sources() { return run_.sources; }

  // How often all began anew, and how many rows of settled chapters were taken since.
  [[nodiscard]] int64_t begun() const { return begun_; }
  [[nodiscard]] int64_t taken_rows() const;

 private:
  struct Kept;

  [[nodiscard]] absl::Status TryAdvance(RunData& snapshot, InstanceSource& instances, Executor& executor,
                                        const std::function<bool()>& go_on);
  [[nodiscard]] absl::Status Begin();
  [[nodiscard]] absl::Status Take(Executor& executor, const std::function<bool()>& go_on);

  const GrowingLimits limits_;
  RunData run_;                 // stays where it is, as do its sources while something is kept
  std::unique_ptr<Kept> kept_;  // null: nothing
  int64_t begun_ = 0;
};

}  // namespace lockstep
