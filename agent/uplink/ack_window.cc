#include "agent/uplink/ack_window.h"

#include <limits>
#include <utility>

#include "analysis/base/check.h"

namespace lockstep {

AckWindow::AckWindow(size_t max_batches, int64_t max_bytes) : max_batches_(max_batches), max_bytes_(max_bytes) {}

bool AckWindow::HasRoom() const { return items_.empty() || (items_.size() < max_batches_ && bytes_ < max_bytes_); }

void AckWindow::Push(OutgoingBatchPtr batch) {
  LOCKSTEP_CHECK(batch != nullptr);
  bytes_ += static_cast<int64_t>(batch->body.size());
  items_.push_back(std::move(batch));
}

const OutgoingBatchPtr* AckWindow::NextUnsent() const { return all_sent() ? nullptr : &items_[sent_]; }

void AckWindow::MarkSent() {
  LOCKSTEP_CHECK(!all_sent());
  ++sent_;
}

template <typename Predicate>
size_t AckWindow::RemoveIf(const Predicate& remove) {
  std::deque<OutgoingBatchPtr> kept;
  size_t kept_sent = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (remove(*items_[i])) {
      bytes_ -= static_cast<int64_t>(items_[i]->body.size());
      continue;
    }
    kept_sent += i < sent_ ? 1 : 0;
    kept.push_back(std::move(items_[i]));
  }
  const size_t removed = items_.size() - kept.size();
  items_ = std::move(kept);
  sent_ = kept_sent;
  return removed;
}

size_t AckWindow::Acknowledge(const Hash128& source_id, int64_t sequence) {
  return RemoveIf(
      [&](const OutgoingBatch& batch) { return batch.source_id == source_id && batch.sequence <= sequence; });
}

size_t AckWindow::Forget(const Hash128& source_id) {
  return Acknowledge(source_id, std::numeric_limits<int64_t>::max());
}

}  // namespace lockstep
