// A run as a timeline file: collects its events, sorts them outside memory, and writes them merged.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/store/job_store.h"
#include "cli/timeline/kernel_ranks.h"
#include "cli/timeline/kernel_reader.h"
#include "cli/timeline/timeline_options.h"

namespace lockstep {

enum class TimelineFormatKind : uint8_t { kPerfetto, kChrome };

struct TimelineInput {
  std::string run;
  bool has_traces = false;  // the files that the run was condensed from are here
  NamedRanks named;
  KernelReaderOptions reading;
  // Tells a person what goes on, until what it returns is gone. May be empty.
  std::function<std::shared_ptr<void>(std::string)> waiting;
};

struct TimelineResult {
  int64_t slices = 0;
  int64_t bytes = 0;  // before compression
  size_t ranks = 0;
  std::vector<std::string> left_out;  // sentences
};

using TimelineSink = std::function<absl::Status(std::string_view)>;

// Errors: those of CollectRunEvents, ReadKernels and the sink.
[[nodiscard]] absl::StatusOr<TimelineResult> ExportTimeline(const LoadedRun& run, const TimelineInput& input,
                                                            const TimelineOptions& asked, TimelineFormatKind format,
                                                            const TimelineSink& sink, const std::stop_token& stop);

}  // namespace lockstep
