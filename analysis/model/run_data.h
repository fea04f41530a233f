// A run as the aggregator holds it, loaded for analysis: everything but the instances, which are pulled per
// communicator through InstanceSource.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/batch.h"
#include "analysis/model/source.h"

namespace lockstep {

enum class RunState : uint8_t { kOpen = 0, kComplete = 1, kAnalysed = 2 };
[[nodiscard]] std::string_view Name(RunState state);  // "open" | "complete" | "analysed"

// What became of one input file, kept with the run for the quality view.
struct FileNote {
  std::string path;
  std::string format;
  std::string status;  // "used" | "partial" | "skipped" | "refused"
  std::string reason;
  int64_t offset = -1;
  DropCounters drops;
  std::string host;  // of the agent that read it; "" = not said
  friend bool operator==(const FileNote&, const FileNote&) = default;
};

struct RunInfo {
  std::string name;
  RunState state = RunState::kOpen;
  int32_t expected_ranks = -1;  // --expect-ranks; -1 = not said
  bool finished_by_hand = false;
  int64_t sources = 0;
  int64_t complete_sources = 0;
};

// All of one source except its instances. Names are indices into RunData::names; kernel rows with equal keys are
// merged.
struct SourceData {
  SourceContext context;
  bool complete = false;
  int64_t instance_count = 0;
  std::vector<LocalCommunicator> communicators;  // index = LocalCommunicator::id
  std::vector<StepRow> steps;
  std::vector<BucketRow> buckets;
  std::vector<KernelRow> kernels;
  std::vector<StepKernelRow> step_kernels;
  std::vector<MemoryRow> memory;
  std::vector<ApiRow> apis;
  std::vector<RangeRow> ranges;
  std::vector<LaunchRow> launches;
  SourceSummary summary;
};

struct RunData {
  RunInfo info;
  std::vector<std::string> names;   // the run's dictionary
  std::vector<SourceData> sources;  // ordered by source id
  std::vector<FileNote> files;      // ordered by path, naturally, then host
};

// How far the instances of a source were read, in the words of their store: who reads on goes on behind it, perhaps in
// a later snapshot.
struct InstancePosition {
  int64_t number = -1;  // of what was given last; -1 = nothing yet
  Hash128 content;      // ... its hash
  friend bool operator==(const InstancePosition&, const InstancePosition&) = default;
};

// Pulls the instances of one source, in order of start, in blocks; names translated to RunData::names. Implemented by
// the stores and by a vector in tests. Not thread safe; make one per reader. An empty block is the end; a block lives
// until the next one is asked for.
class InstanceStream {
 public:
  virtual ~InstanceStream() = default;
  // The next block, to keep.
  virtual absl::StatusOr<std::vector<InstanceRow>> Take() = 0;
  // The next block, to look at.
  virtual absl::StatusOr<std::span<const InstanceRow>> Next() {
    absl::StatusOr<std::vector<InstanceRow>> block = Take();
    if (!block.ok()) return block.status();
    block_ = *std::move(block);
    return block_;
  }
  // Behind the last block given, which must not be in the midst of what the store keeps as one.
  [[nodiscard]] virtual InstancePosition Position() const { return {}; }
  [[nodiscard]] virtual bool InMidst() const { return false; }

 private:
  std::vector<InstanceRow> block_;  // looked at last
};

class InstanceSource {
 public:
  virtual ~InstanceSource() = default;
  // Instances of RunData::sources[source], in order of start.
  virtual absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) = 0;
  // Goes on behind a position that a stream of this source told, of this snapshot or an earlier one.
  // kFailedPrecondition: the source has another content there by now; kUnimplemented: these cannot be read on.
  virtual absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) {
    if (position.number < 0) return Open(source);
    return absl::UnimplementedError("these instances can only be read from their begin");
  }
  // Ordinal of the first row that Open gives, in the source's stream of all instances: more than 0 of a stretch.
  [[nodiscard]] virtual int64_t FirstRow(size_t /*source*/) const { return 0; }
  // How many rows Open gives where that is known; -1: it is not.
  [[nodiscard]] virtual int64_t RowCount(size_t /*source*/) const { return -1; }
};

// Room to make for the instances of a source beforehand: a stored count is believed only so far.
[[nodiscard]] size_t ExpectedInstances(const SourceData& source);
// ... or of a stretch of it.
[[nodiscard]] size_t ExpectedInstances(const RunData& run, const InstanceSource& instances, size_t source);

// Runs fn(0..n-1), perhaps in parallel. Results must be put into slots by index and reduced in order by the caller, so
// that the thread count changes no bit.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void ParallelFor(size_t n, const std::function<void(size_t)>& fn) = 0;
};

}  // namespace lockstep
