// Puts the commits of a store on the disk, several with one call: who waits for a commit while the disk is busy with
// earlier ones shares the next call with all that came meanwhile.
//
// Once a call has failed nothing is durable any more, whatever others say: the system forgets what it could not write.
// All waiting then ends with that error, for good. Thread safe.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "platform/mutex.h"

namespace lockstep {

class CommitSync {
 public:
  // Returns once all that was written before the call is on the disk.
  using Sync = std::function<absl::Status()>;

  // So many calls at a time, each of another of these: a commit need not wait for the end of a call that came too early
  // for it. Each must by itself be told of what could not be written (a file opened of its own is).
  explicit CommitSync(std::vector<Sync> syncs);

  // The commit just made was written. In order of the commits: under the store's lock.
  void OnCommit() LOCKSTEP_EXCLUDES(mutex_);
  // Number of the latest commit that was written.
  [[nodiscard]] int64_t Latest() const LOCKSTEP_EXCLUDES(mutex_);
  // Returns once this commit and all before it are on the disk, or can no longer get there.
  absl::Status WaitFor(int64_t commit) LOCKSTEP_EXCLUDES(mutex_);

 private:
  const std::vector<Sync> syncs_;
  mutable Mutex mutex_;
  CondVar turn_;
  int64_t written_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t durable_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t asked_ LOCKSTEP_GUARDED_BY(mutex_) = 0;  // the latest commit that a call was made for
  std::vector<const Sync*> idle_ LOCKSTEP_GUARDED_BY(mutex_);
  absl::Status failed_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
