// Batches that are not acknowledged yet, in the order in which they were given. Bounded by number and bytes; one batch
// is always let in, however large. Pure; not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "agent/uplink/messages.h"

namespace lockstep {

class AckWindow {
 public:
  AckWindow(size_t max_batches, int64_t max_bytes);

  // Narrows or widens the limit on batches; what is already inside stays.
  void SetMaxBatches(size_t max_batches) { max_batches_ = max_batches; }
  [[nodiscard]] bool HasRoom() const;
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool all_sent() const { return sent_ == items_.size(); }
  [[nodiscard]] size_t size() const { return items_.size(); }
  [[nodiscard]] int64_t bytes() const { return bytes_; }

  void Push(OutgoingBatchPtr batch);
  // The oldest batch not sent on this stream; null when all are.
  [[nodiscard]] const OutgoingBatchPtr* NextUnsent() const;
  // It was handed to the stream.
  void MarkSent();
  // Everything of the source up to and including `sequence` is durable, sent or not. Returns how many batches left.
  size_t Acknowledge(const Hash128& source_id, int64_t sequence);
  // Drops all batches of a source that the aggregator refused.
  size_t Forget(const Hash128& source_id);
  // A new stream: everything has to be sent again.
  void Rewind() { sent_ = 0; }

 private:
  template <typename Predicate>
  size_t RemoveIf(const Predicate& remove);

  size_t max_batches_;
  int64_t max_bytes_;
  std::deque<OutgoingBatchPtr> items_;
  size_t sent_ = 0;  // the first `sent_` items were sent on this stream
  int64_t bytes_ = 0;
};

}  // namespace lockstep
