// Where runs live. One conformance suite (tests/unit/aggregator/store) holds for every backend.
//
// Durability: PutBatch returns OK only once the batch would survive a crash of the process. Idempotence: the same
// (run, source id, sequence, hash) again changes nothing and returns OK; another hash for the same sequence is
// kFailedPrecondition with "conflicting_batch" in its message, and is counted.
// Thread rule: all methods may be called from any thread; the store serialises writers itself.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/store/memory/store_limits.h"
#include "analysis/base/hash128.h"
#include "analysis/base/natural_order.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"
#include "analysis/model/source_extent.h"
#include "platform/clock.h"

namespace lockstep {

struct ReceivedBatch;

struct StoredSource {
  Hash128 source_id;
  int64_t last_sequence = -1;  // highest durable sequence without a hole before it; -1 = none
  bool complete = false;
};

// Which content of a run was loaded, and what was said about the run then.
struct RunContent {
  int64_t run_id = 0;
  int64_t revision = 0;
  int64_t changed_unix_ns = 0;  // a run that was dropped and made again is another one
  int32_t expected_ranks = -1;
  bool finished_by_hand = false;
  friend bool operator==(const RunContent&, const RunContent&) = default;
};

// The tables of sources that somebody has, by source id: those of all batches up to that one.
using HadTables = std::map<Hash128, InstancePosition>;

// Of which batches a loaded source has the tables.
struct LoadedTables {
  InstancePosition until;  // its last batch
  bool is_rest = false;    // only those behind what the asker has
};

// A loaded run. `instances` stays usable while the store is open; it reads a snapshot.
struct LoadedRun {
  RunData data;
  std::unique_ptr<InstanceSource> instances;
  std::optional<RunContent> content;  // of a store that keeps answers
  std::vector<LoadedTables> tables;   // by source, of a store that gives rests
};

// An answer about a run, and what was asked (query/answer_key.h).
struct KeptAnswer {
  Hash128 key;
  std::string text;
};

// What a trace file gave when it was condensed into a run. Both texts are whose who keeps them (agent/held_file.h).
struct HeldFile {
  std::string path;
  Hash128 key;  // by what the file, and how it was condensed, is recognised
  std::string gave;
  friend bool operator==(const HeldFile&, const HeldFile&) = default;
};

// The order of RunData::files.
[[nodiscard]] inline bool NoteBefore(const FileNote& a, const FileNote& b) {
  return a.path == b.path ? a.host < b.host : NaturalPathLess(a.path, b.path);
}

// What a run takes and since when nothing was added: for pruning.
struct RunUsage {
  RunInfo info;
  int64_t bytes = 0;            // estimated
  int64_t changed_unix_ns = 0;  // when content last arrived
};

class JobStore {
 public:
  virtual ~JobStore() = default;

  // Creates the run or opens it; expected_ranks -1 leaves what is stored. kFailedPrecondition when the run was finished
  // by hand and differs.
  virtual absl::Status OpenRun(const std::string& run, int32_t expected_ranks) = 0;
  virtual absl::Status DropRun(const std::string& run) = 0;    // OK when there is none
  virtual absl::Status FinishRun(const std::string& run) = 0;  // kNotFound
  // A baseline is a name for a run that later ones are compared with. A name is that of one run: setting it again moves
  // it. It goes with its run, and is no part of the content. kNotFound: no such run; kInvalidArgument: no such name can
  // be (CheckBaselineName); kResourceExhausted: there are kMostBaselines already.
  virtual absl::Status SetBaseline(const std::string& name, const std::string& run) = 0;
  virtual absl::Status RemoveBaseline(const std::string& name) = 0;  // kNotFound
  // kComplete <-> kOpen are derived (all sources complete and the expected ranks present, or finished by hand); this
  // records that the answer for the present content was computed.
  virtual absl::Status MarkAnalysed(const std::string& run) = 0;

  // Registers a source (idempotent) and tells what is already durable. Of several contexts of one source id (a file
  // sent again with other claims, equal copies of a file) one is kept whatever the order of arrival: MustReplace in
  // memory/run_assembly.h says which.
  virtual absl::StatusOr<StoredSource> PutSource(const std::string& run, const SourceContext& context) = 0;
  // `hash` is the content hash of the serialised batch. A sequence beyond last_sequence + 1 is kOutOfRange.
  virtual absl::Status PutBatch(const std::string& run, const Hash128& source_id, const Hash128& hash,
                                const ReceivedBatch& batch) = 0;
  virtual absl::Status PutFileNote(const std::string& run,
                                   const FileNote& note) = 0;  // replaces that of the path and host

  // Those of the extents that are not there, or not so much of them, in the order given. kNotFound without the run.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Hash128>> Lacking(const std::string& run,
                                                                     const std::vector<SourceExtent>& extents) = 0;

  // The rank that was resolved for each of these sources: shown by the views of a store that has some, never read back.
  virtual absl::Status PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& ranks) = 0;

  [[nodiscard]] virtual absl::StatusOr<std::vector<RunInfo>> ListRuns() = 0;  // by name
  // Whether the run's state is any but kOpen. Cheap for most that are open, however many sources they have. kNotFound.
  [[nodiscard]] virtual absl::StatusOr<bool> IsComplete(const std::string& run) = 0;
  // Which content there is at present, without loading it: where two calls give the same, nothing came in between.
  // Cheap, however much the run has. kNotFound.
  [[nodiscard]] virtual absl::StatusOr<RunContent> ContentOf(const std::string& run) = 0;
  [[nodiscard]] virtual absl::StatusOr<LoadedRun> LoadRun(const std::string& run) = 0;  // kNotFound
  // The same, but a store may leave out the tables of the sources that say nothing of their collectives: all but
  // contexts, communicators and steps.
  [[nodiscard]] virtual absl::StatusOr<LoadedRun> LoadCollectives(const std::string& run) { return LoadRun(run); }
  // LoadRun for an asker who has tables of the run already. Of a source whose batch there is still the same, a store
  // may give the rest alone: rows of later batches, and all kernels if there are later batches, else none. JoinTables
  // (memory/run_assembly.h) makes the whole of it.
  [[nodiscard]] virtual absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& /*had*/) {
    return LoadRun(run);
  }
  // An answer that was kept about exactly the present content; nullopt without one. A store may keep none at all.
  [[nodiscard]] virtual absl::StatusOr<std::optional<std::string>> FindAnswer(const std::string& run,
                                                                              const Hash128& key) = 0;
  // Keeps answers computed from that content; nothing if the run is another by now. Bounded: the oldest go first. No
  // part of the content: neither dumped nor counted as a change.
  virtual absl::Status KeepAnswers(const std::string& run, const RunContent& content,
                                   const std::vector<KeptAnswer>& answers) = 0;
  // What was kept of the files of this run, by path; none without the run, and a store may keep none at all.
  [[nodiscard]] virtual absl::StatusOr<std::vector<HeldFile>> HeldFiles(const std::string& run) = 0;
  // Replaces what was kept of those paths. Goes with the run (kNotFound without it); like answers no part of its
  // content. Does not wait for the disk: lost, the files are read once more.
  virtual absl::Status KeepHeldFiles(const std::string& run, const std::vector<HeldFile>& files) = 0;
  // The ContentHash of each source, by source id; of those without a batch that of nothing. kNotFound.
  [[nodiscard]] virtual absl::StatusOr<std::map<Hash128, Hash128>> ContentHashes(const std::string& run) = 0;
  // How the sources of a run were announced, by source id. kNotFound.
  [[nodiscard]] virtual absl::StatusOr<std::vector<SourceContext>> LoadContexts(const std::string& run) = 0;
  [[nodiscard]] virtual absl::StatusOr<std::vector<RunUsage>> Usage() = 0;  // by name
  // Gives the room of dropped runs back to the disk, as far as the store can without copying all of itself.
  virtual absl::Status Reclaim() = 0;
};

struct StoreOptions {
  std::string path;                     // "" = in memory
  const Clock* clock = &SystemClock();  // tells when runs change; must outlive the store
  StoreLimits limits;                   // what would go beyond is kResourceExhausted (IsLimit) and changes nothing
};
// The visible list of backends: "sqlite" (path, or in-memory database when empty) and "memory".
absl::StatusOr<std::unique_ptr<JobStore>> OpenStore(std::string_view backend, const StoreOptions& options);

}  // namespace lockstep
