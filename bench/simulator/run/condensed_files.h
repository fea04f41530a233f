// The files of a simulated run, condensed without being written: the sources and batches that an agent would make of
// them. Pure.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <vector>

#include "analysis/model/source.h"
#include "bench/simulator/run/rank_records.h"
#include "bench/simulator/run/scenario.h"

namespace lockstep {

struct Batch;

// Where condensed sources go: a store, or an agent's stream.
class SourceSink {
 public:
  virtual ~SourceSink() = default;
  virtual absl::Status Begin(const SourceContext& context) = 0;
  // In order of their sequence, after Begin.
  virtual absl::Status Take(const Hash128& source_id, const Batch& batch) = 0;
};

struct FileOfRun {
  RanksOfFile ranks;
  TraceOfRank which = TraceOfRank::kOwn;
};
// In order of their first ranks; without a missing rank, the other trace of a rank last.
[[nodiscard]] std::vector<FileOfRun> FilesOf(const Scenario& scenario);

struct CondensedSource {
  Hash128 id;
  int32_t rank = -1;               // the true one, also where the trace does not tell it
  std::vector<int64_t> instances;  // of its communication kernels, in order: into Scenario::instances
};
// One source for each rank of the file. Errors: the sink's.
[[nodiscard]] absl::StatusOr<std::vector<CondensedSource>> CondenseRanks(const Scenario& scenario,
                                                                         const FileOfRun& file, SourceSink& sink);

}  // namespace lockstep
