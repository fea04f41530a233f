// An aggregator in memory behind UplinkTransport, which breaks streams when told to. It keeps what is durable over
// streams, as a real one does over restarts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/uplink/transport.h"
#include "platform/bounded_queue.h"
#include "platform/mutex.h"

namespace lockstep {

class FakeAggregator {
 public:
  struct SourceLog {
    std::vector<std::string> bodies;  // index = sequence
    int64_t duplicates = 0;
    int64_t holes = 0;
  };

  // The next streams break after so many messages each; then they live.
  void BreakAfter(std::vector<size_t> messages) {
    const MutexLock lock(mutex_);
    breaks_ = std::move(messages);
  }
  // Streams end at once with this status from now on; OK = work again.
  void RefuseWith(absl::Status status) {
    const MutexLock lock(mutex_);
    refusal_ = std::move(status);
  }
  void RefuseSource(const Hash128& source) {
    const MutexLock lock(mutex_);
    refused_source_ = source;
  }
  // Beyond a limit from its batch `from` on; null = there is room again.
  void PutOff(const Hash128& source, std::optional<int64_t> from) {
    const MutexLock lock(mutex_);
    if (from) {
      put_off_[source] = *from;
    } else {
      put_off_.erase(source);
    }
  }
  // Forgets everything of a source behind its first `batches`, as an older store would.
  void RollBack(const Hash128& source, size_t batches) {
    const MutexLock lock(mutex_);
    sources_[source].bodies.resize(batches);
  }
  // As an aggregator started again does: streams end, and the next ones tell another start.
  void OpenStore(uint64_t start) {
    const MutexLock lock(mutex_);
    store_start_ = start;
    for (BoundedQueue<UplinkEvent>* events : live_) {
      events->Close();
    }
  }
  void ForgetNotes() {
    const MutexLock lock(mutex_);
    notes_.clear();
    note_ids_.clear();
  }
  // Ids that were asked for.
  int64_t offered() {
    const MutexLock lock(mutex_);
    return offered_;
  }
  void AwaitOffered(int64_t n) {
    const MutexLock lock(mutex_);
    while (offered_ < n) {
      changed_.Wait(mutex_);
    }
  }
  // Sources of so many batches are complete.
  void CompleteAfter(int64_t batches) {
    const MutexLock lock(mutex_);
    whole_ = batches;
  }
  // Nothing is acknowledged until Release.
  void HoldAcks() {
    const MutexLock lock(mutex_);
    hold_ = true;
  }

  std::map<Hash128, SourceLog> sources() {
    const MutexLock lock(mutex_);
    return sources_;
  }
  std::vector<std::string> notes() {
    const MutexLock lock(mutex_);
    return notes_;
  }
  int64_t streams() {
    const MutexLock lock(mutex_);
    return streams_;
  }
  bool finished() {
    const MutexLock lock(mutex_);
    return finished_;
  }
  // Waits until so many batches have arrived.
  void AwaitBatches(int64_t n) {
    const MutexLock lock(mutex_);
    while (batches_ < n) {
      changed_.Wait(mutex_);
    }
  }

  std::unique_ptr<UplinkTransport> Transport();

 private:
  class Stream;
  class FakeTransport;

  // The answer to one message, if any.
  std::optional<UplinkEvent> Answer(const UplinkHello&) LOCKSTEP_REQUIRES(mutex_) {
    return WelcomeEvent{.protocol_version = kUplinkProtocolVersion,
                        .max_message_bytes = 1 << 20,
                        .window_batches = 4,
                        .store_start = store_start_};
  }
  std::optional<UplinkEvent> Answer(const SourceContext& source) LOCKSTEP_REQUIRES(mutex_) {
    const auto last = static_cast<int64_t>(sources_[source.source_id].bodies.size()) - 1;
    if (const auto limit = put_off_.find(source.source_id); limit != put_off_.end() && limit->second == 0) {
      return Later(source.source_id, -1);
    }
    waits_.erase(source.source_id);
    return SourceWelcomeEvent{.source_id = source.source_id, .last_sequence = last, .complete = last + 1 == whole_};
  }
  std::optional<UplinkEvent> Answer(const OutgoingBatchPtr& batch) LOCKSTEP_REQUIRES(mutex_) {
    ++batches_;
    changed_.NotifyAll();
    if (refused_source_ == batch->source_id) {
      return RefusalEvent{.source_id = batch->source_id, .sequence = batch->sequence, .reason = "no", .detail = ""};
    }
    if (waits_.contains(batch->source_id)) {
      return std::nullopt;
    }
    if (const auto limit = put_off_.find(batch->source_id);
        limit != put_off_.end() && batch->sequence >= limit->second) {
      return Later(batch->source_id, batch->sequence);
    }
    SourceLog& log = sources_[batch->source_id];
    const auto next = static_cast<int64_t>(log.bodies.size());
    if (batch->sequence == next) {
      log.bodies.push_back(batch->body);
    } else {
      ++(batch->sequence < next ? log.duplicates : log.holes);
    }
    if (hold_) {
      return std::nullopt;
    }
    return AckEvent{
        .source_id = batch->source_id, .sequence = batch->sequence, .complete = batch->sequence + 1 == whole_};
  }
  std::optional<UplinkEvent> Answer(const UplinkOffer& offer) LOCKSTEP_REQUIRES(mutex_) {
    LackingEvent lacking;
    for (const SourceExtent& extent : offer.extents) {
      const auto found = sources_.find(extent.id);
      const auto batches = found == sources_.end() ? 0 : static_cast<int64_t>(found->second.bodies.size());
      const bool covered = batches == whole_ || (extent.batches > 0 && batches >= extent.batches);
      if (!covered && !note_ids_.contains(extent.id)) {
        lacking.ids.push_back(extent.id);
      }
    }
    offered_ += static_cast<int64_t>(offer.extents.size());
    changed_.NotifyAll();
    return lacking;
  }
  std::optional<UplinkEvent> Answer(const FinishRun&) LOCKSTEP_REQUIRES(mutex_) {
    finished_ = true;
    return std::nullopt;
  }
  std::optional<UplinkEvent> Answer(const DrainRequest&) LOCKSTEP_REQUIRES(mutex_) { return DrainedEvent{}; }

  UplinkEvent Later(const Hash128& source, int64_t sequence) LOCKSTEP_REQUIRES(mutex_) {
    waits_.insert(source);
    return RefusalEvent{
        .source_id = source, .sequence = sequence, .reason = "limit", .detail = "full", .retry_after_ms = 1};
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<Hash128, int64_t> put_off_ LOCKSTEP_GUARDED_BY(mutex_);
  std::set<Hash128> waits_ LOCKSTEP_GUARDED_BY(mutex_);
  std::vector<size_t> breaks_ LOCKSTEP_GUARDED_BY(mutex_);
  absl::Status refusal_ LOCKSTEP_GUARDED_BY(mutex_);
  std::optional<Hash128> refused_source_ LOCKSTEP_GUARDED_BY(mutex_);
  std::map<Hash128, SourceLog> sources_ LOCKSTEP_GUARDED_BY(mutex_);
  std::vector<std::string> notes_ LOCKSTEP_GUARDED_BY(mutex_);
  int64_t streams_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t batches_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t whole_ LOCKSTEP_GUARDED_BY(mutex_) = -1;
  uint64_t store_start_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t offered_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  std::set<Hash128> note_ids_ LOCKSTEP_GUARDED_BY(mutex_);
  std::set<BoundedQueue<UplinkEvent>*> live_ LOCKSTEP_GUARDED_BY(mutex_);
  bool finished_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool hold_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

class FakeAggregator::Stream : public UplinkStream {
 public:
  Stream(FakeAggregator& owner, std::optional<size_t> break_after, absl::Status end) LOCKSTEP_REQUIRES(owner.mutex_)
      : owner_(owner), left_(break_after), end_(std::move(end)) {
    if (!end_.ok()) {
      events_.Close();
    }
    owner_.live_.insert(&events_);
  }
  ~Stream() override {
    const MutexLock lock(owner_.mutex_);
    owner_.live_.erase(&events_);
  }

  bool Write(const UplinkMessage& message) override {
    if (!end_.ok() || (left_ && *left_ == 0)) {
      events_.Close();
      return false;
    }
    if (left_) {
      --*left_;
    }
    std::optional<UplinkEvent> event;
    {
      const MutexLock lock(owner_.mutex_);
      event = std::visit([this](const auto& what) { return AnswerTo(what); }, message);
    }
    // The last answer of a breaking stream is lost on the way: the batch is durable, the agent does not know.
    if (left_ && *left_ == 0) {
      events_.Close();
      return false;
    }
    return !event || events_.Push(*event);
  }

  std::optional<UplinkEvent> Read() override { return events_.Pop(); }
  void CloseWrites() override { events_.Close(); }
  absl::Status Finish() override { return end_.ok() ? absl::UnavailableError("broken") : end_; }
  void Cancel() override { events_.Close(); }

 private:
  template <typename T>
  std::optional<UplinkEvent> AnswerTo(const T& what) LOCKSTEP_UNCHECKED_THREAD_SAFETY {
    return owner_.Answer(what);
  }
  std::optional<UplinkEvent> AnswerTo(const FileNote& note) LOCKSTEP_UNCHECKED_THREAD_SAFETY {
    owner_.notes_.push_back(note.path);
    owner_.note_ids_.insert(FileNoteId(note));
    return FilesStoredEvent{.count = ++notes_};
  }

  FakeAggregator& owner_;
  std::optional<size_t> left_;
  int64_t notes_ = 0;
  const absl::Status end_;
  BoundedQueue<UplinkEvent> events_{1000};
};

class FakeAggregator::FakeTransport : public UplinkTransport {
 public:
  explicit FakeTransport(FakeAggregator& owner) : owner_(owner) {}
  std::unique_ptr<UplinkStream> Open() override {
    const MutexLock lock(owner_.mutex_);
    ++owner_.streams_;
    std::optional<size_t> break_after;
    if (!owner_.breaks_.empty()) {
      break_after = owner_.breaks_.front();
      owner_.breaks_.erase(owner_.breaks_.begin());
    }
    return std::make_unique<Stream>(owner_, break_after, owner_.refusal_);
  }

 private:
  FakeAggregator& owner_;
};

inline std::unique_ptr<UplinkTransport> FakeAggregator::Transport() { return std::make_unique<FakeTransport>(*this); }

}  // namespace lockstep
