// Which trace files this agent has taken, how far they have come, and how much of each source is acknowledged: so that
// an agent started again neither repeats a file nor forgets one.
//
// An append-only file of frames, rewritten without what is outdated when it is opened. Losing an entry costs only work:
// the file concerned is condensed again, which gives the same batches; so a full disk is no error here. Without a path
// it lives in memory alone.
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
#include <vector>

#include "agent/spool/fields.h"
#include "agent/spool/spool_index.h"
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
struct SpooledSource {
  Hash128 id;
  int64_t batches = 0;
};

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
  absl::Status Take(const FileKey& key, const Hash128& fingerprint) LOCKSTEP_EXCLUDES(mutex_);
  // Durable when it returns. The file must have been taken.
  absl::Status Spooled(const std::string& path, std::vector<SpooledSource> sources) LOCKSTEP_EXCLUDES(mutex_);
  absl::Status Failed(const std::string& path, std::string_view reason) LOCKSTEP_EXCLUDES(mutex_);
  // The aggregator has this much (or, kAllAcknowledged, will not have more). Replaces what was said before.
  absl::Status Acknowledge(const Hash128& source_id, int64_t sequence) LOCKSTEP_EXCLUDES(mutex_);
  absl::Status Sync() LOCKSTEP_EXCLUDES(mutex_);
  // The files that gave this source are not taken any more. Returns their paths.
  absl::StatusOr<std::vector<std::string>> Forget(const Hash128& source_id) LOCKSTEP_EXCLUDES(mutex_);
  // Forgets all spooled files of which a source of so many batches is neither acknowledged nor kept.
  absl::StatusOr<std::vector<std::string>> ForgetUnless(
      const std::function<bool(const Hash128&, int64_t batches)>& kept) LOCKSTEP_EXCLUDES(mutex_);
  // The file is not there any more.
  absl::Status Gone(const std::string& path) LOCKSTEP_EXCLUDES(mutex_);

  [[nodiscard]] Acknowledged acknowledged() const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<FileState> StateOf(const std::string& path) const LOCKSTEP_EXCLUDES(mutex_);
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

  Ledger() = default;
  absl::Status Load(const std::string& path, const std::string& run,
                    const std::function<bool(const std::string&)>& exists) LOCKSTEP_REQUIRES(mutex_);
  void ApplyState(FieldReader& fields) LOCKSTEP_REQUIRES(mutex_);
  void Apply(std::string_view change) LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] std::string Compacted() const LOCKSTEP_REQUIRES(mutex_);
  absl::Status Write(std::string_view change) LOCKSTEP_REQUIRES(mutex_);
  absl::Status WriteState(Entry& entry, FileState state, std::string_view reason) LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] bool IsDelivered(const Entry& entry) const LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] bool IsAcknowledged(const SpooledSource& source) const LOCKSTEP_REQUIRES(mutex_);
  absl::Status Settle(const Hash128& source_id) LOCKSTEP_REQUIRES(mutex_);
  absl::Status Deliver(Entry& entry) LOCKSTEP_REQUIRES(mutex_);
  void DropSources(Entry& entry) LOCKSTEP_REQUIRES(mutex_);
  void Unlink(const Entry& entry) LOCKSTEP_REQUIRES(mutex_);
  absl::Status Erase(const std::string& path) LOCKSTEP_REQUIRES(mutex_);

  int64_t damaged_bytes_ = 0;
  mutable Mutex mutex_;
  std::optional<DurableFile> file_ LOCKSTEP_GUARDED_BY(mutex_);
  Outage full_ LOCKSTEP_GUARDED_BY(mutex_);  // the disk
  std::string run_ LOCKSTEP_GUARDED_BY(mutex_);
  std::map<std::string, Entry> entries_ LOCKSTEP_GUARDED_BY(mutex_);  // by path
  Acknowledged acknowledged_ LOCKSTEP_GUARDED_BY(mutex_);
  std::multimap<Hash128, std::string> files_of_ LOCKSTEP_GUARDED_BY(mutex_);  // spooled, not delivered
};

}  // namespace lockstep
