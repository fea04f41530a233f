// The events of a run on one axis of time, as they are exported: all ranks, aligned, the run begins at 0.
//
// Events are small plain values, so that an external sort can pass them on as bytes; texts are in the tables. Times are
// ns since the begin of the run, never negative. Plain values: no thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/model/row_values.h"
#include "analysis/model/trace_record.h"

namespace lockstep::perfetto {

// Of what a rank shows; in this order, from top to bottom.
enum class TrackKind : uint8_t { kSteps = 0, kStream = 1, kGaps = 2, kLongest = 3, kLateness = 4, kIdle = 5 };

enum class SliceKind : uint8_t { kKernel = 0, kCopy = 1, kMemset = 2, kGraph = 3, kGap = 4, kLongest = 5 };

// Why a device was idle; the values are the first names of Timeline::names.
enum class GapCause : uint8_t { kHost = 0, kLaunch = 1, kDependency = 2, kOther = 3 };
inline constexpr uint32_t kGapCauses = 4;

struct SliceEvent {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t step = kNoStep;
  int64_t bytes = kUnknownBytes;
  uint32_t rank = 0;     // place in Timeline::ranks
  int32_t stream = -1;   // of kStream
  uint32_t name = 0;     // place in Timeline::names; of a gap its cause
  uint32_t ordinal = 0;  // of the rank: decides between events of one time, so that the order is that of the trace
  SliceKind kind = SliceKind::kKernel;

  [[nodiscard]] auto Key() const { return std::tuple(start_ns, rank, ordinal, kind, stream, duration_ns); }
};

struct StepEvent {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t step = kNoStep;
  int64_t compute_ns = 0;
  int64_t comm_ns = 0;
  int64_t exposed_comm_ns = 0;
  int64_t idle_host_ns = 0;
  int64_t idle_launch_ns = 0;
  int64_t idle_dependency_ns = 0;
  int64_t idle_other_ns = 0;
  uint32_t rank = 0;
  uint32_t name = 0;

  [[nodiscard]] auto Key() const { return std::tuple(start_ns, rank, duration_ns, step); }
};

// A collective as one member saw it.
struct CollectiveEvent {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t arrival_ns = 0;  // when what it surely waits for has arrived; its own start: it waits for nobody
  int64_t wait_ns = 0;
  int64_t wait_uncertainty_ns = 0;
  int64_t lateness_ns = 0;  // after the mean of the members
  int64_t spread_ns = 0;
  int64_t uncertainty_ns = -1;  // of the spread; -1: the members' clocks cannot be compared
  int64_t transfer_ns = -1;     // -1: not known
  int64_t last_start_ns = 0;
  int64_t instance_wait_ns = 0;  // of all members together
  int64_t bytes = kUnknownBytes;
  int64_t seq = kNoSeq;
  int64_t step = kNoStep;
  uint64_t instance = 0;      // correlation id of all members, not 0
  uint64_t first_flow = 0;    // arrows from here have the ids first_flow, first_flow + 1, ...
  uint64_t flow_to_here = 0;  // 0: none
  uint32_t flows = 0;         // from here
  uint32_t rank = 0;
  int32_t stream = -1;
  int32_t last_rank = -1;     // -1: not known
  int32_t awaited_rank = -1;  // -1: nobody
  uint32_t name = 0;
  uint32_t kernel = 0;  // name of the kernel
  uint32_t group = 0;   // name of the communicator
  uint32_t members = 0;
  bool comparable = false;
  bool last_certain = false;

  // The wait exceeds what the clocks and records can be wrong by.
  [[nodiscard]] bool waits() const { return comparable && wait_ns > 0 && wait_ns > wait_uncertainty_ns; }
  [[nodiscard]] auto Key() const { return std::tuple(start_ns, rank, instance, stream, duration_ns); }
};

// A sample of a counter.
struct SampleEvent {
  int64_t start_ns = 0;
  int64_t value = 0;
  uint32_t rank = 0;
  TrackKind kind = TrackKind::kIdle;

  [[nodiscard]] auto Key() const { return std::tuple(start_ns, rank, kind, value); }
};

// The order of events of one kind; total but for equal ones.
struct InOrder {
  template <typename Event>
  bool operator()(const Event& a, const Event& b) const {
    return a.Key() < b.Key();
  }
};

struct ExportedRank {
  int32_t rank = 0;
  std::string name;                 // "rank 12 · host-a · GPU 4"
  std::vector<std::string> labels;  // what a viewer should know at once
  std::string description;          // how well its clock is known
};

struct Timeline {
  std::string run;
  int64_t start_unix_ns = 0;  // when the run began, as the clock of reference tells; 0: not known
  int64_t duration_ns = 0;
  std::vector<ExportedRank> ranks;                         // ascending
  std::vector<std::string> names;                          // UTF-8; the first kGapCauses are those of gaps
  std::vector<std::pair<std::string, std::string>> about;  // of the run and the export, for people
};

}  // namespace lockstep::perfetto
