// The truth of a simulated run: values, and as truth.json and instances.csv.gz.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/clock_field.h"
#include "bench/simulator/run/trace_writer.h"

namespace lockstep {

inline constexpr const char* kTruthFile = "truth.json";
inline constexpr const char* kInstancesFile = "instances.csv.gz";
// Share of the step below which a cause is not expected to be found.
inline constexpr double kFindableSaving = 0.004;

struct TrueMember {
  int32_t rank = 0;
  int64_t start_ns = 0;  // true clock
  int64_t end_ns = 0;
  bool recorded = true;  // the trace holds a usable record of it
};

struct TrueInstance {
  uint32_t communicator = 0;                 // index into Cluster::communicators
  int64_t index = 0;                         // among those of the communicator, by time of the last arrival
  CollectiveOp op = CollectiveOp::kUnknown;  // of a pair that sends and receives: send_recv
  int64_t bytes = kUnknownBytes;             // of the first member
  int32_t step = 0;
  std::vector<TrueMember> members;  // by rank; of a pair only the two
};

struct TruthOfRank {
  int64_t first_ns = 0;  // true times of the first start and the last end that the trace holds
  int64_t last_ns = 0;
  int64_t lost = 0;      // device records that the defects took or spoiled
  bool missing = false;  // the rank left no trace
  std::vector<std::string> files;
};

struct TruthOfCause {
  Cause cause;
  std::string category;               // what an analysis should call it (names of metrics/causes)
  std::vector<int32_t> origin_ranks;  // ascending
  std::vector<std::string> kernels;   // those hit, of a cause that hits kernels
  int64_t step_ns_with = 0;           // mean over the steps that all traces hold
  int64_t step_ns_without = 0;        // of the same seed without this cause; 0 = not computed

  [[nodiscard]] int64_t saving_ns() const { return step_ns_without == 0 ? 0 : step_ns_with - step_ns_without; }
  [[nodiscard]] double saving_ratio() const {
    return step_ns_with == 0 ? 0 : static_cast<double>(saving_ns()) / static_cast<double>(step_ns_with);
  }
};

// What no analysis can know from these traces, and why.
struct Undecidable {
  std::string what;
  std::string why;
};

struct Truth {
  std::vector<TruthOfRank> ranks;
  std::vector<TruthOfCause> causes;
  std::vector<double> device_factors;  // by rank: how much longer its device takes for good, without any cause
  std::vector<Undecidable> undecidable;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t step_ns = 0;                 // mean length of a step, over those that all traces hold
  bool opaque_graphs = false;          // some trace hides what its graphs ran
  bool prompts_among_decodes = false;  // by the program itself
};

// One row for each member of each instance, in the order given.
absl::Status WriteInstances(const Cluster& cluster, const std::vector<TrueInstance>& instances,
                            const std::string& folder);
absl::Status WriteTruth(const RunDescription& run, const ClockField& clocks, const Truth& truth,
                        const std::string& folder);

// The findings that the causes and defects of this run should lead to, each once, in alphabetical order.
[[nodiscard]] std::vector<std::string> ExpectedFindings(const Truth& truth);

}  // namespace lockstep
