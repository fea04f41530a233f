// Runs that a test makes up, and answers that it can hold back. Thread safe.
#pragma once

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "platform/mutex.h"
#include "web/answers/run_answers.h"

namespace lockstep {

class FakeAnswers : public RunAnswers {
 public:
  void Put(const RunInfo& run) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    runs_[run.name] = run;
  }
  void Drop(const std::string& run) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    runs_.erase(run);
  }
  void Fail(const absl::Status& status) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    status_ = status;
  }
  [[nodiscard]] int questions() const LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return questions_;
  }

  [[nodiscard]] absl::StatusOr<std::vector<RunInfo>> Runs() const override LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!status_.ok()) return status_;
    std::vector<RunInfo> runs;
    for (const auto& [name, run] : runs_) runs.push_back(run);
    return runs;
  }
  // A document that says which views were asked for.
  [[nodiscard]] absl::StatusOr<std::string> ViewsText(const std::string& run,
                                                      const AnalysisOptions& options) const override
      LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++questions_;
    if (!status_.ok()) return status_;
    if (!runs_.contains(run)) return absl::NotFoundError("no such run");
    for (const std::string& view : options.views) {
      if (view == "nonsense") return absl::InvalidArgumentError("there is no view 'nonsense'");
    }
    return fmt::format("{{\"run\": \"{}\", \"views\": \"{}\"}}", run, fmt::join(options.views, ","));
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, RunInfo> runs_ LOCKSTEP_GUARDED_BY(mutex_);
  absl::Status status_ LOCKSTEP_GUARDED_BY(mutex_);
  mutable int questions_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep
