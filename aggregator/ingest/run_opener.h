// Opens runs for arriving streams, knows which ones have a stream, and decides who may replace one: of several agents
// that say "replace" and overlap in time, only the first drops what is stored. Thread safe; shared by all sessions.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

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

  // Each success must be followed by one Close.
  absl::Status Open(const std::string& run, int32_t expected_ranks, bool replace) LOCKSTEP_EXCLUDES(mutex_);
  // The stream of an agent is over; `replace` as it was given to Open.
  void Close(const std::string& run, bool replace) LOCKSTEP_EXCLUDES(mutex_);

  [[nodiscard]] bool IsOpen(const std::string& run) LOCKSTEP_EXCLUDES(mutex_);
  // Drops the run, unless an agent has a stream for it: then false.
  absl::StatusOr<bool> DropUnlessOpen(const std::string& run) LOCKSTEP_EXCLUDES(mutex_);

 private:
  struct Streams {
    int64_t open = 0;
    int64_t replacing = 0;  // of them
  };

  JobStore& store_;
  Mutex mutex_;
  std::map<std::string, Streams> runs_ LOCKSTEP_GUARDED_BY(mutex_);  // only those with an open stream
};

}  // namespace lockstep
