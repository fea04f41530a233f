#include "aggregator/store/sqlite/instance_reader.h"

#include <string>
#include <string_view>
#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/instance_piece.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "platform/mutex.h"
#include "proto/instance_codec.h"

namespace lockstep {
namespace {

// The instances of one batch; sequence -1 = the end.
struct StoredBatch {
  int64_t sequence = -1;
  Hash128 hash;
  std::string block;                  // whole, or
  std::vector<std::string> by_group;  // as stores before schema 5 split them
};

class Snapshot {
 public:
  Snapshot(Database db, std::vector<StoredInstances> sources) : sources_(std::move(sources)), db_(std::move(db)) {}

  [[nodiscard]] size_t size() const { return sources_.size(); }
  [[nodiscard]] const StoredInstances& source(size_t index) const { return sources_[index]; }

  // The first batch after `sequence` that has instances.
  absl::StatusOr<StoredBatch> BatchAfter(int64_t source, int64_t sequence) {
    const MutexLock lock(mutex_);
    LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare(kNextBatch));
    Binder(find).Int(source).Int(sequence);
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, find.Step());
    StoredBatch batch;
    if (!more) return batch;
    batch.sequence = find.Int(0);
    batch.hash = Hash128::FromBytes(find.Blob(2));
    if (find.IsNull(1)) {
      LOCKSTEP_RETURN_IF_ERROR(ReadGroups(source, batch));
    } else {
      batch.block = std::string(find.Blob(1));
    }
    return batch;
  }

  // Whether the batch at that position is the one that was read.
  absl::StatusOr<bool> Has(int64_t source, const InstancePosition& position) {
    const MutexLock lock(mutex_);
    LOCKSTEP_ASSIGN_OR_RETURN(Statement find, db_.Prepare("SELECT hash FROM batch WHERE source = ? AND sequence = ?"));
    Binder(find).Int(source).Int(position.number);
    LOCKSTEP_ASSIGN_OR_RETURN(const bool known, find.Step());
    return known && Hash128::FromBytes(find.Blob(0)) == position.content;
  }

 private:
  static constexpr std::string_view kNextBatch =
      "SELECT batch.sequence, block, batch.hash FROM batch LEFT JOIN batch_instances USING (source, sequence) WHERE "
      "batch.source = "
      "? AND batch.sequence > ? AND batch.instances > 0 ORDER BY batch.sequence LIMIT 1";
  static constexpr std::string_view kGroups =
      "SELECT columns FROM instance_block WHERE source = ? AND sequence = ? ORDER BY communicator";

  absl::Status ReadGroups(int64_t source, StoredBatch& batch) LOCKSTEP_REQUIRES(mutex_) {
    LOCKSTEP_ASSIGN_OR_RETURN(Statement groups, db_.Prepare(kGroups));
    Binder(groups).Int(source).Int(batch.sequence);
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, groups.Step());
      if (!more) break;
      batch.by_group.emplace_back(groups.Blob(0));
    }
    return batch.by_group.empty() ? absl::DataLossError("the instances of a batch are not there") : absl::OkStatus();
  }

  const std::vector<StoredInstances> sources_;
  Mutex mutex_;
  Database db_ LOCKSTEP_GUARDED_BY(mutex_);
};

class StoredInstanceStream final : public InstanceStream {
 public:
  StoredInstanceStream(std::shared_ptr<Snapshot> snapshot, size_t source, const InstancePosition& position)
      : snapshot_(std::move(snapshot)), source_(snapshot_->source(source)), position_(position) {}

  absl::StatusOr<std::vector<InstanceRow>> Take() override {
    if (pieces_.done()) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, NextBatch());
      if (!more) return std::vector<InstanceRow>();
    }
    std::vector<InstanceRow> rows = pieces_.Next();
    // An empty answer would be the end.
    if (rows.empty()) return absl::DataLossError("a batch lacks the instances that it has");
    LOCKSTEP_RETURN_IF_ERROR(TranslateNames(source_.names, &rows));
    for (const InstanceRow& row : rows) {
      if (row.communicator >= source_.communicators) {
        return absl::DataLossError("an instance refers to a communicator that is not there");
      }
    }
    return rows;
  }

  [[nodiscard]] InstancePosition Position() const override {
    LOCKSTEP_CHECK(!InMidst());
    return position_;
  }
  [[nodiscard]] bool InMidst() const override { return !pieces_.done(); }

 private:
  absl::StatusOr<bool> NextBatch() {
    LOCKSTEP_ASSIGN_OR_RETURN(const StoredBatch batch, snapshot_->BatchAfter(source_.source, position_.number));
    if (batch.sequence < 0) return false;
    LOCKSTEP_ASSIGN_OR_RETURN(pieces_, ReadBack(Decode(batch)));
    position_ = {batch.sequence, batch.hash};
    return true;
  }

  static absl::StatusOr<codec::RowPieces> Decode(const StoredBatch& batch) {
    if (batch.by_group.empty()) return UnpackInPieces(batch.block, kInstancesAPiece);
    std::vector<UnpackedInstances> parts;
    for (const std::string& group : batch.by_group) {
      LOCKSTEP_ASSIGN_OR_RETURN(UnpackedInstances part, UnpackCommunicator(group));
      parts.push_back(std::move(part));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<InstanceRow> rows, JoinInstances(std::move(parts)));
    return codec::RowPieces(std::move(rows));
  }

  const std::shared_ptr<Snapshot> snapshot_;
  const StoredInstances& source_;  // lives in the snapshot
  InstancePosition position_;
  codec::RowPieces pieces_;  // what is left of the batch there
};

class StoredInstanceSource final : public InstanceSource {
 public:
  explicit StoredInstanceSource(std::shared_ptr<Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}

  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override {
    LOCKSTEP_CHECK(source < snapshot_->size());
    return std::make_unique<StoredInstanceStream>(snapshot_, source, InstancePosition{});
  }

  absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) override {
    LOCKSTEP_CHECK(source < snapshot_->size());
    if (position.number < 0) return Open(source);
    LOCKSTEP_ASSIGN_OR_RETURN(const bool there, snapshot_->Has(snapshot_->source(source).source, position));
    if (!there) return absl::FailedPreconditionError("the source has other instances than those that were read");
    return std::make_unique<StoredInstanceStream>(snapshot_, source, position);
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
