// Puts the commits of a store on the disk, several with one call: who waits for a commit while the disk is busy with
// earlier ones shares the next call with all that came meanwhile.
//
// Once a call has failed nothing is durable any more, whatever later calls say: the system forgets what it could not
// write. All waiting then ends with that error, for good. Thread safe.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "platform/mutex.h"

namespace lockstep {

class CommitSync {
 public:
  // `sync` returns once all that was written before the call is on the disk; it is called by one thread at a time.
  explicit CommitSync(std::function<absl::Status()> sync) : sync_(std::move(sync)) {}

  // The commit just made was written. In order of the commits: under the store's lock.
  void OnCommit() LOCKSTEP_EXCLUDES(mutex_);
  // Number of the latest commit that was written.
  [[nodiscard]] int64_t Latest() const LOCKSTEP_EXCLUDES(mutex_);
  // Returns once this commit and all before it are on the disk, or can no longer get there.
  absl::Status WaitFor(int64_t commit) LOCKSTEP_EXCLUDES(mutex_);

 private:
  const std::function<absl::Status()> sync_;
  mutable Mutex mutex_;
  CondVar turn_;
  int64_t written_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t durable_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  bool syncing_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  absl::Status failed_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
