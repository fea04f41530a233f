#include "aggregator/store/sqlite/commit_sync.h"

#include <algorithm>

namespace lockstep {

CommitSync::CommitSync(std::vector<Sync> syncs) : syncs_(std::move(syncs)) {
  for (const Sync& sync : syncs_) idle_.push_back(&sync);
}

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
    if (idle_.empty() || asked_ >= commit) {
      turn_.Wait(mutex_);
      continue;
    }
    const Sync* const sync = idle_.back();
    idle_.pop_back();
    const int64_t written = asked_ = written_;
    mutex_.Unlock();
    const absl::Status synced = (*sync)();
    mutex_.Lock();
    idle_.push_back(sync);
    failed_.Update(synced);
    if (failed_.ok()) durable_ = std::max(durable_, written);
    turn_.NotifyAll();
  }
  const absl::Status result = durable_ >= commit ? absl::OkStatus() : failed_;
  mutex_.Unlock();
  return result;
}

}  // namespace lockstep
