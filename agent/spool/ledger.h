// Which trace files this agent has taken, how far they have come, and how much of each source is acknowledged: so that
// an agent started again neither repeats a file nor forgets one.
//
// An append-only file of frames, rewritten without what is outdated when it is opened and whenever that is most of it.
// Losing an entry costs only work: the file concerned is condensed again, which gives the same batches. So a disk that
// takes no entry is no error of those who make one: it is logged once a minute, and Sync, asked before anything
// is deleted from the spool, fails until all of it is written. Without a path the ledger lives in memory alone.
// Thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/spool/fields.h"
#include "agent/spool/spool_index.h"
#include "analysis/model/source_extent.h"
#include "platform/durable_file.h"
#include "platform/mutex.h"
#include "platform/outage.h"

namespace lockstep {

// By what a file is recognised. Another size or time of change is another content.
struct FileKey {
  std::string path;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;
  uint64_t inode = 0;
  friend bool operator==(const FileKey&, const FileKey&) = default;
};

enum class FileState : uint8_t {
  kInWork = 0,     // taken, not all of it is in the spool
  kSpooled = 1,    // all of it is in the spool, or acknowledged
  kDelivered = 2,  // all of it is acknowledged (or refused for good)
  kFailed = 3,     // could not be read for want of something here; to be tried again
};

// What a file gave; a note counts as a source of one batch.
using SpooledSource = SourceExtent;

class Ledger {
 public:
  // `run` is what the files are sent to: a ledger that still holds undelivered files of another one is
  // kFailedPrecondition; without such files it begins anew. `exists` tells which delivered files need to be remembered.
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(const std::string& path, const std::string& run,
                                                      const std::function<bool(const std::string&)>& exists);
  static std::unique_ptr<Ledger> InMemory();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // False: taken before (by this process, if it is still in work), not failed, and unchanged since. A file with another
  // inode alone is the same one if its `fingerprint`, asked for then, is.
  [[nodiscard]] bool IsNews(const FileKey& key, const std::function<Hash128()>& fingerprint) const
      LOCKSTEP_EXCLUDES(mutex_);
  void Take(const FileKey& key, const Hash128& fingerprint) LOCKSTEP_EXCLUDES(mutex_);
  // Durable when it returns, if the disk takes it. The file must have been taken.
  void Spooled(const std::string& path, std::vector<SpooledSource> sources) LOCKSTEP_EXCLUDES(mutex_);
  void Failed(const std::string& path, std::string_view reason) LOCKSTEP_EXCLUDES(mutex_);
  // The aggregator has this much (or, kAllAcknowledged, will not have more). Replaces what was said before.
  void Acknowledge(const Hash128& source_id, int64_t sequence) LOCKSTEP_EXCLUDES(mutex_);
  // What was said of this source and is needed by no undelivered file is not remembered any longer.
  void Settle(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  // Segments up to this one were used.
  void UsedSegments(uint32_t last) LOCKSTEP_EXCLUDES(mutex_);
  // Makes all of it durable. An error: not all of it is; worth another try.
  absl::Status Sync() LOCKSTEP_EXCLUDES(mutex_);
  // The files that gave this source are not taken any more. Returns their paths.
  std::vector<std::string> Forget(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  // Nothing of this source is acknowledged after all; then as Forget.
  std::vector<std::string> TakeBack(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  // All that the aggregator should have.
  [[nodiscard]] std::vector<SourceExtent> Given() const LOCKSTEP_EXCLUDES(mutex_);
  // Forgets all spooled files of which a source of so many batches is neither acknowledged nor kept.
  std::vector<std::string> ForgetUnless(const std::function<bool(const Hash128&, int64_t batches)>& kept)
      LOCKSTEP_EXCLUDES(mutex_);
  // The file is not there any more.
  void Gone(const std::string& path) LOCKSTEP_EXCLUDES(mutex_);

  [[nodiscard]] Acknowledged acknowledged() const LOCKSTEP_EXCLUDES(mutex_);
  // Of all processes so far; 0 = none.
  [[nodiscard]] uint32_t last_segment() const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] int64_t file_bytes() const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<FileState> StateOf(const std::string& path) const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<std::string> FailedFiles() const LOCKSTEP_EXCLUDES(mutex_);
  // Paths in work by an earlier process.
  [[nodiscard]] std::vector<std::string> LeftInWork() const LOCKSTEP_EXCLUDES(mutex_);
  // Bytes of the file that could not be read when it was opened.
  [[nodiscard]] int64_t damaged_bytes() const { return damaged_bytes_; }

 private:
  struct Entry {
    FileKey key;
    Hash128 fingerprint;
    FileState state = FileState::kInWork;
    bool by_this_process = true;
    std::string reason;  // why it failed
    std::vector<SpooledSource> sources;
  };

  explicit Ledger(std::function<bool(const std::string&)> exists) : exists_(std::move(exists)) {}
  absl::Status Load(const std::string& path, const std::string& run) LOCKSTEP_REQUIRES(mutex_);
  absl::Status BeginRun(const std::string& run) LOCKSTEP_REQUIRES(mutex_);
  void ApplyFile(FieldReader& fields) LOCKSTEP_REQUIRES(mutex_);
  void ApplyState(FieldReader& fields) LOCKSTEP_REQUIRES(mutex_);
  void Apply(std::string_view change) LOCKSTEP_REQUIRES(mutex_);
  void DropWhatIsGone() LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] std::string Compacted() const LOCKSTEP_REQUIRES(mutex_);
  absl::Status Rewrite() LOCKSTEP_REQUIRES(mutex_);
  absl::Status SyncNow() LOCKSTEP_REQUIRES(mutex_);
  void Write(std::string_view change) LOCKSTEP_REQUIRES(mutex_);
  void Tell(const absl::Status& written) LOCKSTEP_REQUIRES(mutex_);
  void WriteState(Entry& entry, FileState state, std::string_view reason) LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] bool IsDelivered(const Entry& entry) const LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] bool IsAcknowledged(const SpooledSource& source) const LOCKSTEP_REQUIRES(mutex_);
  // By a file that is not delivered.
  [[nodiscard]] bool IsNeeded(const Hash128& source_id) const LOCKSTEP_REQUIRES(mutex_);
  void DeliverFilesOf(const Hash128& source_id) LOCKSTEP_REQUIRES(mutex_);
  void Deliver(Entry& entry) LOCKSTEP_REQUIRES(mutex_);
  void DropSources(Entry& entry) LOCKSTEP_REQUIRES(mutex_);
  void Unlink(const Entry& entry) LOCKSTEP_REQUIRES(mutex_);
  void Erase(const std::string& path) LOCKSTEP_REQUIRES(mutex_);

  const std::function<bool(const std::string&)> exists_;
  int64_t damaged_bytes_ = 0;
  mutable Mutex mutex_;
  std::optional<FolderIdentity> folder_ LOCKSTEP_GUARDED_BY(mutex_);
  std::optional<DurableFile> file_ LOCKSTEP_GUARDED_BY(mutex_);
  bool behind_ LOCKSTEP_GUARDED_BY(mutex_) = false;  // the file lacks something that is said here
  int64_t compacted_bytes_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  int64_t reserved_until_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  Outage trouble_ LOCKSTEP_GUARDED_BY(mutex_);  // of the disk
  uint32_t last_segment_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  std::string run_ LOCKSTEP_GUARDED_BY(mutex_);
  std::map<std::string, Entry> entries_ LOCKSTEP_GUARDED_BY(mutex_);  // by path
  Acknowledged acknowledged_ LOCKSTEP_GUARDED_BY(mutex_);
  std::multimap<Hash128, std::string> files_of_ LOCKSTEP_GUARDED_BY(mutex_);  // spooled, not delivered
};

}  // namespace lockstep
