// Opens runs for arriving streams and decides who may replace one: of several agents that say "replace" and overlap in
// time, only the first drops what is stored. Thread safe; shared by all sessions.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <string>

#include "aggregator/store/job_store.h"
#include "platform/mutex.h"

namespace lockstep {

class RunOpener {
 public:
  // The store must outlive this.
  explicit RunOpener(JobStore& store) : store_(store) {}

  // With `replace`, each success must be followed by one Close.
  absl::Status Open(const std::string& run, int32_t expected_ranks, bool replace) LOCKSTEP_EXCLUDES(mutex_);
  // The stream of a replacing agent is over.
  void Close(const std::string& run) LOCKSTEP_EXCLUDES(mutex_);

 private:
  JobStore& store_;
  Mutex mutex_;
  std::map<std::string, int64_t> replacing_ LOCKSTEP_GUARDED_BY(mutex_);  // open streams that said "replace"
};

}  // namespace lockstep
