#include "aggregator/store/sqlite/instance_reader.h"

#include <string>
#include <string_view>
#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "platform/mutex.h"
#include "proto/instance_codec.h"

namespace lockstep {
namespace {

// All blocks of one batch; empty = the end.
struct StoredBatch {
  int64_t sequence = -1;
  std::vector<std::string> blocks;
};

class Snapshot {
 public:
  Snapshot(Database db, std::vector<StoredInstances> sources) : sources_(std::move(sources)), db_(std::move(db)) {}

  [[nodiscard]] size_t size() const { return sources_.size(); }
  [[nodiscard]] const StoredInstances& source(size_t index) const { return sources_[index]; }

  // The first batch after `sequence` with rows of the communicator (or of any).
  absl::StatusOr<StoredBatch> BatchAfter(int64_t source, uint32_t communicator, int64_t sequence) {
    const MutexLock lock(mutex_);
    const bool all = communicator == InstanceSource::kAllCommunicators;
    LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare(all ? kNextBatch : kNextBlock));
    Binder bind(find);
    bind.Int(source).Int(sequence);
    if (!all) bind.Int(communicator);
    StoredBatch batch;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, find.Step());
      if (!more) return batch;
      batch.sequence = find.Int(0);
      batch.blocks.emplace_back(find.Blob(1));
    }
  }

 private:
  static constexpr std::string_view kNextBatch =
      "SELECT sequence, columns FROM instance_block WHERE source = ?1 AND sequence = (SELECT min(sequence) FROM "
      "instance_block WHERE source = ?1 AND sequence > ?2) ORDER BY communicator";
  static constexpr std::string_view kNextBlock =
      "SELECT sequence, columns FROM instance_block WHERE source = ?1 AND sequence > ?2 AND communicator = ?3 "
      "ORDER BY sequence LIMIT 1";

  const std::vector<StoredInstances> sources_;
  Mutex mutex_;
  Database db_ LOCKSTEP_GUARDED_BY(mutex_);
};

class StoredInstanceStream final : public InstanceStream {
 public:
  StoredInstanceStream(std::shared_ptr<Snapshot> snapshot, size_t source, uint32_t communicator)
      : snapshot_(std::move(snapshot)), source_(snapshot_->source(source)), communicator_(communicator) {}

  absl::StatusOr<std::vector<InstanceRow>> Next() override {
    LOCKSTEP_ASSIGN_OR_RETURN(const StoredBatch batch, snapshot_->BatchAfter(source_.source, communicator_, sequence_));
    if (batch.blocks.empty()) return std::vector<InstanceRow>();
    sequence_ = batch.sequence;
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<InstanceRow> rows, ReadBack(Decode(batch)));
    LOCKSTEP_RETURN_IF_ERROR(TranslateNames(source_.names, &rows));
    for (const InstanceRow& row : rows) {
      if (row.communicator >= source_.communicators) {
        return absl::DataLossError("an instance refers to a communicator that is not there");
      }
    }
    return rows;
  }

 private:
  [[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> Decode(const StoredBatch& batch) const {
    std::vector<UnpackedInstances> parts;
    for (const std::string& block : batch.blocks) {
      LOCKSTEP_ASSIGN_OR_RETURN(UnpackedInstances part, UnpackInstances(block));
      parts.push_back(std::move(part));
    }
    if (communicator_ != InstanceSource::kAllCommunicators) return std::move(parts.front().rows);
    return JoinInstances(std::move(parts));
  }

  const std::shared_ptr<Snapshot> snapshot_;
  const StoredInstances& source_;  // lives in the snapshot
  const uint32_t communicator_;
  int64_t sequence_ = -1;
};

class StoredInstanceSource final : public InstanceSource {
 public:
  explicit StoredInstanceSource(std::shared_ptr<Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}

  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source, uint32_t communicator) override {
    LOCKSTEP_CHECK(source < snapshot_->size());
    return std::make_unique<StoredInstanceStream>(snapshot_, source, communicator);
  }

 private:
  // Shared with the streams, which may outlive the source.
  const std::shared_ptr<Snapshot> snapshot_;
};

}  // namespace

std::unique_ptr<InstanceSource> MakeInstanceSource(Database db, std::vector<StoredInstances> sources) {
  return std::make_unique<StoredInstanceSource>(std::make_shared<Snapshot>(std::move(db), std::move(sources)));
}

}  // namespace lockstep
