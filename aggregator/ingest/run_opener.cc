#include "aggregator/ingest/run_opener.h"

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {

absl::Status RunOpener::Open(const std::string& run, int32_t expected_ranks, bool replace) {
  // Held while dropping, so that no other stream can put something into the run in between.
  const MutexLock lock(mutex_);
  const auto found = runs_.find(run);
  if (replace && (found == runs_.end() || found->second.replacing == 0)) {
    LOCKSTEP_RETURN_IF_ERROR(store_.DropRun(run));
  }
  LOCKSTEP_RETURN_IF_ERROR(store_.OpenRun(run, expected_ranks));
  Streams& streams = runs_[run];
  ++streams.open;
  streams.replacing += replace ? 1 : 0;
  return absl::OkStatus();
}

void RunOpener::Close(const std::string& run, bool replace) {
  const MutexLock lock(mutex_);
  const auto found = runs_.find(run);
  LOCKSTEP_CHECK(found != runs_.end());
  found->second.replacing -= replace ? 1 : 0;
  if (--found->second.open == 0) {
    runs_.erase(found);
  }
}

bool RunOpener::IsOpen(const std::string& run) {
  const MutexLock lock(mutex_);
  return runs_.contains(run);
}

absl::StatusOr<bool> RunOpener::DropUnlessOpen(const std::string& run) {
  const MutexLock lock(mutex_);
  if (runs_.contains(run)) {
    return false;
  }
  LOCKSTEP_RETURN_IF_ERROR(store_.DropRun(run));
  return true;
}

}  // namespace lockstep
