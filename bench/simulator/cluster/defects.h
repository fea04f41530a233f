// What goes wrong while traces are taken: the defects of a simulated run, applied to its recorded timelines. Pure.
//
// A lost device record has start = end = 0, a host call outside the capture window call_start = call_end = 0, and a
// step whose range was not recorded whole start = end = 0: writers and the in-memory run leave those rows out.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/engine/timeline.h"
#include "bench/simulator/program/step_program.h"
#include "bench/simulator/run/truth.h"

namespace lockstep {

struct DefectPlan {
  double stagger_s = 0;         // capture windows begin and end up to this much earlier or later, at most a quarter
                                // of the run
  double loss = 0;              // chance of each device record to be lost
  std::vector<int64_t> bursts;  // device records in a row that one rank loses
  int64_t head = 0;             // up to this many first device records that each rank loses
  double absurd = 0;            // chance of each device record to bear zero, negative or absurd times
  std::optional<int32_t> duplicate_rank;  // two traces claim this rank
  std::optional<int32_t> missing_rank;    // no trace of this rank
};

// What the defects mean for the layout and the files, before the cluster is made: FileDefects, and always_last as a
// cause to be placed.
struct EarlyDefects {
  FileDefects files;
  bool decoy = false;  // a second job runs the same program in lockstep and shares no collective with the first
  std::vector<Spec> causes;
};
[[nodiscard]] EarlyDefects EarlyDefectsOf(const std::vector<Spec>& specs);

// kInvalidArgument names the value and its range; without a rank the seed decides.
[[nodiscard]] absl::StatusOr<DefectPlan> PlanDefects(const std::vector<Spec>& specs, const Cluster& cluster,
                                                     const CounterRng& rng);

// Two jobs side by side: ranks, hosts and communicators of the second follow those of the first.
[[nodiscard]] Cluster WithDecoy(const Cluster& job, const Cluster& decoy);
// The program of both: rank r of the second does what rank r of the first does.
[[nodiscard]] std::unique_ptr<StepProgram> DoubledProgram(std::unique_ptr<StepProgram> program, int32_t world);

// Where and how a rank's trace was taken.
struct CaptureOfRank {
  int32_t rank = 0;
  int32_t session = 0;  // ranks of one session begin and end together
  int64_t zero_ns = 0;  // Unix time that stands as 0 in the file; 0 = the file counts from the Unix epoch
  int64_t run_ns = 0;   // length of the run
};

// Spoils a recorded timeline. Fate of each activity's device record, by activity.
enum class RecordFate : uint8_t { kKept, kLost, kZeroTime, kNegative, kAbsurd };
std::vector<RecordFate> ApplyDefects(const DefectPlan& plan, const CaptureOfRank& capture, const CounterRng& rng,
                                     int32_t world, RankTimeline& timeline);

}  // namespace lockstep
