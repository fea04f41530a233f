// A run as the aggregator holds it, loaded for analysis: everything but the instances, which are pulled per source
// through InstanceSource (instance_source.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/definitions.h"
#include "analysis/model/host_rows.h"
#include "analysis/model/kernel_row.h"
#include "analysis/model/memory_row.h"
#include "analysis/model/source.h"
#include "analysis/model/source_summary.h"
#include "analysis/model/step_row.h"

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
  std::vector<std::string> baselines;  // names that it is the baseline of, ascending
  int64_t revision = 0;                // counts the changes of the content
  int64_t changed_unix_ns = 0;         // when it last changed; a run that was dropped and made again differs in it
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

}  // namespace lockstep
