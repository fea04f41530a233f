// Analyses each run once all of it is there, before anybody asks: the first question about it, the first page and the
// first comparison find the answer in the store. One thread, one run at a time; between two runs it rests for as long
// as the last one took.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "aggregator/store/job_store.h"
#include "analysis/base/executor.h"
#include "analysis/base/time.h"
#include "platform/mutex.h"

namespace lockstep {

struct AnswersAheadOptions {
  // A run waits for so long after the last of its traces has ended: the next agent of the job may be about to begin.
  int64_t quiet_ns = int64_t{2} * kNsPerS;
};

// Thread safe.
class AnswersAhead {
 public:
  // Both must outlive this.
  AnswersAhead(JobStore& store, Executor& executor, const AnswersAheadOptions& options = {});
  ~AnswersAhead();  // after Stop
  AnswersAhead(const AnswersAhead&) = delete;
  AnswersAhead& operator=(const AnswersAhead&) = delete;

  // A trace of the run has ended. Others may still be sent: whether the run is complete is looked at when it is quiet.
  void Ended(const std::string& run) LOCKSTEP_EXCLUDES(mutex_);
  // Answers nothing more; waits for what is under way to end, which it does soon.
  void Stop() LOCKSTEP_EXCLUDES(mutex_);

 private:
  void Work() LOCKSTEP_EXCLUDES(mutex_);
  // The next run that is quiet, or "" when there is none any more.
  [[nodiscard]] std::string Next() LOCKSTEP_EXCLUDES(mutex_);
  void Answer(const std::string& run) LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] bool GoesOn() LOCKSTEP_EXCLUDES(mutex_);

  JobStore& store_;
  Executor& executor_;
  const AnswersAheadOptions options_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::map<std::string, int64_t> quiet_at_ns_ LOCKSTEP_GUARDED_BY(mutex_);  // by run; no more than the store has
  int64_t rests_until_ns_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace lockstep
