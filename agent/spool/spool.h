// What the agent has taken and the aggregator has not yet acknowledged, on disk: a folder of segments (see README.md).
//
// A record counts as taken once its Put has returned: then it is synced. Producers wait while the spool has reached its
// bound or the disk is full; nothing is ever dropped for want of room. Segments are deleted when everything in them is
// acknowledged; live records of mostly dead segments move forward when room gets short.
// Thread rule: Collect from one thread (the sender's), the rest from any.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/spool/spool_index.h"
#include "platform/clock.h"
#include "platform/durable_file.h"
#include "platform/mutex.h"
#include "platform/outage.h"

namespace lockstep {

inline constexpr int64_t kLeastSpoolBytes = int64_t{16} << 20;

struct SpoolOptions {
  std::string folder;  // exists
  int64_t max_bytes = int64_t{4} << 30;
  int64_t segment_bytes = int64_t{16} << 20;
  uint32_t first_segment = 1;           // numbers below were used before, though nothing may be left of them
  const Clock* clock = &SystemClock();  // for the log lines alone
  // How a segment is made durable; tests let it fail.
  std::function<absl::Status(const DurableFile&)> sync = &DurableFile::Sync;
};

// What opening found broken.
struct SpoolDamage {
  int64_t places = 0;  // runs of bytes that are no record
  int64_t bytes = 0;
  std::vector<LostBatches> lost;  // where it can be told
};

struct SpoolState {
  int64_t unsent = 0;  // batches and notes that are not acknowledged
  int64_t notes = 0;   // of these
  int64_t parked = 0;  // of the batches
  int64_t bytes = 0;   // on disk
};

class Spool {
 public:
  // Recovers what earlier agents left; `acknowledged` is what the ledger knows.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const SpoolOptions& options, const Acknowledged& acknowledged);
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  [[nodiscard]] const SpoolDamage& damage() const { return damage_; }

  // --- producers ---
  [[nodiscard]] bool Wants(const Hash128& source_id, int64_t sequence) const LOCKSTEP_EXCLUDES(mutex_);
  // Returns once the record, or the one because of which it is not wanted, is durable; waits while there is no room
  // or a segment cannot be made. kCancelled after Close; any other error is that of failure().
  absl::Status Put(FrameKind kind, const Hash128& id, int64_t sequence, std::string_view body)
      LOCKSTEP_EXCLUDES(mutex_);
  // What a Put would fail with.
  [[nodiscard]] absl::Status usable() const LOCKSTEP_EXCLUDES(mutex_);
  // Producers that wait, and later ones, get kCancelled.
  void Close() LOCKSTEP_EXCLUDES(mutex_);

  // --- the sender; see SpoolIndex ---
  [[nodiscard]] std::vector<Hash128> Sendable(size_t limit) const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::pair<uint64_t, Hash128>> NotesAfter(uint64_t after, size_t limit) const
      LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] std::pair<int64_t, int64_t> Range(const Hash128& source_id) const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] bool Holds(const Hash128& id, int64_t batches) const LOCKSTEP_EXCLUDES(mutex_);
  // The body of a live record. kNotFound when it is not kept (any more), kDataLoss when it is gone from the disk or
  // spoilt; any other error says nothing about the record: try again later.
  [[nodiscard]] absl::StatusOr<std::string> Read(FrameKind kind, const Hash128& id, int64_t sequence) const
      LOCKSTEP_EXCLUDES(mutex_);
  void Acknowledge(const Hash128& source_id, int64_t sequence) LOCKSTEP_EXCLUDES(mutex_);
  void Release(const Hash128& id) LOCKSTEP_EXCLUDES(mutex_);
  // Made durable with the next context of the source: a kill before that leaves what was there.
  void Rewind(const Hash128& source_id, int64_t last_sequence) LOCKSTEP_EXCLUDES(mutex_);
  void TakeBack(const Hash128& id) LOCKSTEP_EXCLUDES(mutex_);
  void Park(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  void Resume(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  void Settle(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  // Deletes segments that are dead, and makes more of them so when room is short (or `thoroughly`: whatever can go).
  // `before_delete` must make durable what is acknowledged, and that segments up to `last` were used; it is called only
  // if something is deleted, and nothing is if it fails. Worth another try, unless failure() says otherwise.
  using BeforeDelete = std::function<absl::Status(uint32_t last)>;
  absl::Status Collect(const BeforeDelete& before_delete, bool thoroughly = false) LOCKSTEP_EXCLUDES(mutex_);
  // Why nothing more is written or deleted: the disk took something and lost it. An agent started again goes on with
  // what is on the disk.
  [[nodiscard]] absl::Status failure() const LOCKSTEP_EXCLUDES(mutex_);

  [[nodiscard]] SpoolState State() const LOCKSTEP_EXCLUDES(mutex_);
  // The number of changes so far: of records, acknowledgements, wakes.
  [[nodiscard]] uint64_t News() const LOCKSTEP_EXCLUDES(mutex_);
  // Waits until there is more news than `seen`, at most for `timeout_ns`.
  void AwaitNews(uint64_t seen, int64_t timeout_ns) const LOCKSTEP_EXCLUDES(mutex_);
  void Wake() LOCKSTEP_EXCLUDES(mutex_);

 private:
  Spool(const SpoolOptions& options, FolderIdentity folder) : options_(options), folder_(std::move(folder)) {}
  absl::Status Recover(const Acknowledged& acknowledged) LOCKSTEP_REQUIRES(mutex_);
  // Its size.
  absl::StatusOr<int64_t> ReadSegment(uint32_t number, std::vector<SpoolRecord>& records) LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] std::string PathOf(uint32_t segment) const;

  // Whether producers may go on.
  [[nodiscard]] absl::Status Usable() const LOCKSTEP_REQUIRES(mutex_);
  absl::Status Write(FrameKind kind, const Hash128& id, int64_t sequence, std::string_view body)
      LOCKSTEP_REQUIRES(mutex_);
  absl::Status WriteRewind(const Hash128& id) LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] absl::Status RoomFor(int64_t payload_bytes) const LOCKSTEP_REQUIRES(mutex_);
  // Into the active segment, whatever the bounds say.
  absl::StatusOr<RecordPlace> AppendFrame(FrameKind kind, std::string_view payload) LOCKSTEP_REQUIRES(mutex_);
  absl::Status OpenActive() LOCKSTEP_REQUIRES(mutex_);
  // Lets go of the lock while it works, as SyncUpTo does.
  absl::Status Rotate() LOCKSTEP_REQUIRES(mutex_);
  // Until so many records are durable.
  absl::Status SyncUpTo(uint64_t record) LOCKSTEP_REQUIRES(mutex_);
  void Distrust(const absl::Status& failure) LOCKSTEP_REQUIRES(mutex_);
  void AwaitRoom() LOCKSTEP_REQUIRES(mutex_);
  void TellIfStuck(const absl::Status& written) LOCKSTEP_REQUIRES(mutex_);
  // Whether there was something to delete.
  absl::StatusOr<bool> DeleteDead(const BeforeDelete& before_delete, bool thoroughly) LOCKSTEP_EXCLUDES(mutex_);
  absl::Status MakeRoom(bool thoroughly) LOCKSTEP_REQUIRES(mutex_);
  absl::Status MoveForward(uint32_t segment) LOCKSTEP_REQUIRES(mutex_);
  void Changed() LOCKSTEP_REQUIRES(mutex_);

  const SpoolOptions options_;
  const FolderIdentity folder_;
  SpoolDamage damage_;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  CondVar room_;  // there may be some
  SpoolIndex index_ LOCKSTEP_GUARDED_BY(mutex_);
  uint32_t active_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<DurableFile> active_file_ LOCKSTEP_GUARDED_BY(mutex_);  // null until something is written
  // Records written and durable. While they differ the active segment stays the active one: a sync covers it alone.
  uint64_t written_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  uint64_t synced_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t synced_bytes_ LOCKSTEP_GUARDED_BY(mutex_) = 0;  // of the active segment
  bool syncing_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  absl::Status failure_ LOCKSTEP_GUARDED_BY(mutex_);
  Outage stuck_ LOCKSTEP_GUARDED_BY(mutex_);
  int64_t waiting_ LOCKSTEP_GUARDED_BY(mutex_) = 0;  // producers without room
  uint64_t news_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep
