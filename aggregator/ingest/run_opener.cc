#include "aggregator/ingest/run_opener.h"

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {

absl::Status RunOpener::Open(const std::string& run, int32_t expected_ranks, bool replace) {
  // Held while dropping, so that no other stream can put something into the run in between.
  const MutexLock lock(mutex_);
  if (replace && !replacing_.contains(run)) {
    LOCKSTEP_RETURN_IF_ERROR(store_.DropRun(run));
  }
  LOCKSTEP_RETURN_IF_ERROR(store_.OpenRun(run, expected_ranks));
  if (replace) {
    ++replacing_[run];
  }
  return absl::OkStatus();
}

void RunOpener::Close(const std::string& run) {
  const MutexLock lock(mutex_);
  const auto found = replacing_.find(run);
  LOCKSTEP_CHECK(found != replacing_.end());
  if (--found->second == 0) {
    replacing_.erase(found);
  }
}

}  // namespace lockstep
