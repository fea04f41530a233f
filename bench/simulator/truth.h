// The truth of a simulated run, as truth.json and instances.csv.gz.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/simulator/causes.h"
#include "bench/simulator/clock_field.h"
#include "bench/simulator/trace_writer.h"

namespace lockstep {

inline constexpr const char* kTruthFile = "truth.json";
inline constexpr const char* kInstancesFile = "instances.csv.gz";

struct TruthOfRank {
  int64_t first_ns = 0;  // true times of the first start and the last end on the device
  int64_t last_ns = 0;
  std::vector<std::string> files;
};

struct TruthOfCause {
  Cause cause;
  int64_t step_ns_with = 0;
  int64_t step_ns_without = 0;
};

struct Truth {
  std::vector<TruthOfRank> ranks;
  std::vector<TruthOfCause> causes;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// The true timelines, before ClockField::Record; one row for each member of each instance, by communicator, index,
// rank.
absl::Status WriteInstances(const RunDescription& run, const std::vector<RankTimeline>& ranks,
                            const std::string& folder);
absl::Status WriteTruth(const RunDescription& run, const ClockField& clocks, const Truth& truth,
                        const std::string& folder);

}  // namespace lockstep
