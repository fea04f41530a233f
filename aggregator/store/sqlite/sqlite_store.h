// Runs in a SQLite file (WAL): what PutBatch acknowledged survives a crash of process and machine.
//
// One writing connection under a mutex, whose commits are put on the disk outside of it, several at once; each loaded
// run has a reading connection with a snapshot of its own. Schema, views and migrations: aggregator/store/README.md.
// Thread safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/job_store.h"
#include "aggregator/store/memory/stream_rules.h"
#include "aggregator/store/sqlite/commit_sync.h"
#include "aggregator/store/sqlite/run_loader.h"
#include "platform/mutex.h"
#include "platform/sqlite.h"

namespace lockstep {

class SqliteStore final : public JobStore {
 public:
  // Creates or opens the file; see OpenStoreForWriting for the refusals.
  // The clock must outlive the store.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path, const Clock& clock = SystemClock(),
                                                           const StoreLimits& limits = {});
  // With a `sync` of the caller's (CommitSync), for tests.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> OpenWithSync(const std::string& path,
                                                                   std::function<absl::Status()> sync);

  // No more than so many bytes of database, rounded down to whole pages (sqlite's max_page_count): then writing fails
  // with kResourceExhausted, as on a full disk.
  absl::Status LimitSize(int64_t bytes);

  absl::Status OpenRun(const std::string& run, int32_t expected_ranks) override;
  absl::Status DropRun(const std::string& run) override;
  absl::Status FinishRun(const std::string& run) override;
  absl::Status SetBaseline(const std::string& name, const std::string& run) override;
  absl::Status RemoveBaseline(const std::string& name) override;
  absl::Status MarkAnalysed(const std::string& run) override;
  absl::StatusOr<StoredSource> PutSource(const std::string& run, const SourceContext& context) override;
  absl::Status PutBatch(const std::string& run, const Hash128& source_id, const Hash128& hash,
                        const ReceivedBatch& received) override;
  absl::Status PutFileNote(const std::string& run, const FileNote& note) override;
  absl::StatusOr<std::vector<Hash128>> Lacking(const std::string& run,
                                               const std::vector<SourceExtent>& extents) override;
  absl::Status PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& ranks) override;
  absl::StatusOr<std::vector<RunInfo>> ListRuns() override;
  absl::StatusOr<bool> IsComplete(const std::string& run) override;
  absl::StatusOr<RunContent> ContentOf(const std::string& run) override;
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override;
  absl::StatusOr<LoadedRun> LoadCollectives(const std::string& run) override;
  absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& had) override;
  absl::StatusOr<std::optional<std::string>> FindAnswer(const std::string& run, const Hash128& key) override;
  absl::Status KeepAnswers(const std::string& run, const RunContent& content,
                           const std::vector<KeptAnswer>& answers) override;
  absl::StatusOr<std::vector<HeldFile>> HeldFiles(const std::string& run) override;
  absl::Status KeepHeldFiles(const std::string& run, const std::vector<HeldFile>& files) override;
  absl::StatusOr<std::map<Hash128, Hash128>> ContentHashes(const std::string& run) override;
  absl::StatusOr<std::vector<SourceContext>> LoadContexts(const std::string& run) override;
  absl::StatusOr<std::vector<RunUsage>> Usage() override;
  absl::Status Reclaim() override;

 private:
  struct SourceRow {
    int64_t id = 0;
    StreamState stream;
  };

  [[nodiscard]] absl::StatusOr<LoadedRun> Load(const std::string& run, RunTables tables, const HadTables& had);

  SqliteStore(Database db, std::string path, std::vector<CommitSync::Sync> syncs, const Clock& clock,
              const StoreLimits& limits)
      : path_(std::move(path)), clock_(clock), limits_(limits), sync_(std::move(syncs)), db_(std::move(db)) {}

  // Runs `work` inside one transaction; explains what sqlite says when it fails. Returns the commit to wait for before
  // telling of what the transaction saw or wrote.
  template <typename Work>
  absl::StatusOr<int64_t> Commit(Work work) LOCKSTEP_EXCLUDES(mutex_);
  absl::Status WaitFor(int64_t commit) LOCKSTEP_EXCLUDES(mutex_);
  // Both.
  template <typename Work>
  absl::Status InTransaction(Work work) LOCKSTEP_EXCLUDES(mutex_);
  // Runs a statement whose one parameter is the name of the run; kNotFound when it changes nothing.
  absl::Status UpdateRun(std::string_view sql, const std::string& run) LOCKSTEP_REQUIRES(mutex_);
  // Refuses the run that was just made if there are too many.
  absl::Status CheckRunCount() LOCKSTEP_REQUIRES(mutex_);
  absl::StatusOr<SourceRow> FindSource(const std::string& run, int64_t run_id, const Hash128& source)
      LOCKSTEP_REQUIRES(mutex_);
  absl::StatusOr<SourceContext> ReadContext(int64_t source) LOCKSTEP_REQUIRES(mutex_);
  absl::Status WriteContext(int64_t run_id, const SourceContext& context, bool is_new) LOCKSTEP_REQUIRES(mutex_);
  absl::Status WriteStream(int64_t source, const StreamState& stream) LOCKSTEP_REQUIRES(mutex_);
  absl::Status Touch(int64_t run_id) LOCKSTEP_REQUIRES(mutex_);
  // OK if the stored batch has this hash; else counts the conflict and tells it in *conflict.
  absl::Status CompareStored(int64_t run_id, const SourceRow& source, const Hash128& source_id, const Hash128& hash,
                             int64_t sequence, absl::Status* conflict) LOCKSTEP_REQUIRES(mutex_);

  const std::string path_;
  const Clock& clock_;
  const StoreLimits limits_;
  CommitSync sync_;
  Mutex mutex_;
  Database db_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
