// Runs in the memory of this process: the reference for the conformance suite, and the store of one-off analyses.
// Nothing survives the object. Links neither protobuf nor gRPC. Thread safe: one mutex over everything; loaded runs are
// snapshots that share the (immutable) instance blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/job_store.h"
#include "aggregator/store/memory/stream_rules.h"
#include "analysis/model/instance_row.h"
#include "platform/mutex.h"

namespace lockstep {

struct Batch;

// How instances are held: packed they take a thirtieth of the room and must be unpacked for every reader. A store
// without a packing takes batches of rows only.
struct InstancePacking {
  std::function<std::string(const ReceivedBatch&)> pack;
  std::function<absl::StatusOr<std::vector<InstanceRow>>(std::string_view packed)> unpack;
};

// The instances of one batch: rows, or packed.
struct InstanceBlock {
  Hash128 hash;  // of the batch
  std::vector<InstanceRow> rows;
  std::string packed;
};

class MemoryStore final : public JobStore {
 public:
  // The clock must outlive the store. Without a packing instances are held as they are.
  explicit MemoryStore(const Clock& clock = SystemClock(), const StoreLimits& limits = {}, InstancePacking packing = {})
      : clock_(clock), limits_(limits), packing_(std::move(packing)) {}

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
  // Keeps no answers: who asks a store in memory asks once.
  absl::StatusOr<std::optional<std::string>> FindAnswer(const std::string& /*run*/, const Hash128& /*key*/) override {
    return std::nullopt;
  }
  absl::Status KeepAnswers(const std::string& /*run*/, const RunContent& /*content*/,
                           const std::vector<KeptAnswer>& /*answers*/) override {
    return absl::OkStatus();
  }
  // Keeps none: who condenses into memory does so once.
  absl::StatusOr<std::vector<HeldFile>> HeldFiles(const std::string& /*run*/) override {
    return std::vector<HeldFile>();
  }
  absl::Status KeepHeldFiles(const std::string& /*run*/, const std::vector<HeldFile>& /*files*/) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::map<Hash128, Hash128>> ContentHashes(const std::string& run) override;
  absl::StatusOr<std::vector<SourceContext>> LoadContexts(const std::string& run) override;
  absl::StatusOr<std::vector<RunUsage>> Usage() override;
  absl::Status Reclaim() override { return absl::OkStatus(); }

 private:
  using SharedBlock = std::shared_ptr<const InstanceBlock>;

  struct Source {
    SourceData data;  // names are ids of the stream
    std::vector<NameDef> names;
    std::vector<SharedBlock> instances;
    std::vector<Hash128> hashes;  // by sequence
    StreamState stream;
    int64_t conflicts = 0;
  };
  struct Run {
    RunInfo info;  // state and the number of sources are derived when asked
    std::map<Hash128, Source> sources;
    std::set<Hash128> names;                                        // of all sources
    std::map<std::pair<std::string, std::string>, FileNote> files;  // by path and host
    int64_t revision = 0;
    int64_t changed_unix_ns = 0;
    int64_t analysed_revision = -1;
  };

  static RunInfo Describe(const std::string& name, const Run& run);
  static void Append(Source& source, const Batch& batch, SharedBlock instances);
  [[nodiscard]] SharedBlock BlockOf(const Hash128& hash, const ReceivedBatch& received) const;
  [[nodiscard]] absl::Status TakeNames(const std::string& name, Run& run, const Batch& batch) const;
  void Touch(Run& run) const;
  Run* Find(const std::string& run) LOCKSTEP_REQUIRES(mutex_);

  const Clock& clock_;
  const StoreLimits limits_;
  const InstancePacking packing_;
  Mutex mutex_;
  std::map<std::string, Run> runs_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
