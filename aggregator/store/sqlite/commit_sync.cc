#include "aggregator/store/sqlite/commit_sync.h"

namespace lockstep {

void CommitSync::OnCommit() {
  const MutexLock lock(mutex_);
  ++written_;
}

int64_t CommitSync::Latest() const {
  const MutexLock lock(mutex_);
  return written_;
}

absl::Status CommitSync::WaitFor(int64_t commit) {
  mutex_.Lock();
  while (failed_.ok() && durable_ < commit) {
    if (syncing_) {
      turn_.Wait(mutex_);
      continue;
    }
    syncing_ = true;
    const int64_t written = written_;
    mutex_.Unlock();
    const absl::Status synced = sync_();
    mutex_.Lock();
    syncing_ = false;
    if (synced.ok()) durable_ = written;
    failed_ = synced;
    turn_.NotifyAll();
  }
  const absl::Status result = durable_ >= commit ? absl::OkStatus() : failed_;
  mutex_.Unlock();
  return result;
}

}  // namespace lockstep
