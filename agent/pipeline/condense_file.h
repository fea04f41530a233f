// One trace file to batches: read -> sort -> join -> condense, in bounded memory. The same code runs in the agent and
// in `lockstep analyze`.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/pipeline/file_selection.h"
#include "agent/pipeline/run_context.h"
#include "agent/readers/trace_reader.h"
#include "analysis/model/source.h"

namespace lockstep {

struct ActivityRecord;
struct Batch;

// One row of a --rank-map file (CSV: path,pid,device,rank,host; pid, device and host may be empty).
struct RankMapRow {
  std::string path;
  std::optional<int64_t> pid;
  std::optional<int32_t> device;
  int32_t rank = -1;
  std::string host;
};

class NameRedactor;

struct CondenseFileOptions {
  ReadOptions read;
  std::string tmp_dir;                            // room for sorting
  int64_t sort_memory_bytes = int64_t{48} << 20;  // all sorters of one file together
  std::string host;                               // --host: "" = none; used when trace and file name say nothing
  std::vector<RankMapRow> rank_map;
  ContextByKey context;  // --context; it wins over the lockstep-context.json in the folder of the file
  FileSelection selection;
  // Kernels whose names hold one of these texts, in lower case, communicate (--families).
  std::vector<std::string> communication;
  // For who sends the batches on: what takes the names out of them; null = they stay.
  std::shared_ptr<const NameRedactor> redactor;
};

// Receives the sources of a file one after the other. All calls from one thread, a batch at a time, in sequence.
class BatchConsumer {
 public:
  virtual ~BatchConsumer() = default;
  virtual absl::Status BeginSource(const SourceContext& source) = 0;
  virtual absl::Status Consume(const SourceContext& source, Batch batch) = 0;
};

struct FileReport {
  std::string path;
  std::string format;
  std::string status;  // "used" | "partial" | "skipped" | "refused"
  std::string reason;
  int64_t offset = -1;
  int32_t sources = 0;
  DropCounters drops;
};

// Never fails for what the file contains (that is a FileReport with "skipped" or "refused"); a Status is for what stops
// the whole work: no room to sort, cancelled, or an error of the consumer.
absl::StatusOr<FileReport> CondenseFile(const std::string& path, const CondenseFileOptions& options,
                                        BatchConsumer& consumer);

// Receives the activities of a file, one source after the other, each in order of start. Times are LocalTime ns, joined
// with their launches. All calls from one thread.
class ActivityConsumer {
 public:
  virtual ~ActivityConsumer() = default;
  // `names` and `steps`, which the records refer to, stay until the next source begins.
  virtual absl::Status BeginSource(const SourceContext& source, const FileInterner& names,
                                   const std::vector<StepRange>& steps) = 0;
  virtual absl::Status Consume(const ActivityRecord& record) = 0;
};

// The same file, but the activities themselves instead of what they are condensed to. The sources have the identities
// that CondenseFile gives them.
absl::StatusOr<FileReport> ReadActivities(const std::string& path, const CondenseFileOptions& options,
                                          ActivityConsumer& consumer);

}  // namespace lockstep
