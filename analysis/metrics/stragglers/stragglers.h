// Which ranks (GPUs, hosts, rails, stages, communicators) are late persistently, and what that costs.
//
// The unit of the test is the step (or a block of time where there are no steps), never the instance: instances of a
// step are correlated. Sign test on the step sums of lateness beyond a minimum effect, with an effective sample size
// from the autocorrelation, Holm over everything tested; a finding also needs an estimated saving (what-if) of at least
// kMinSavingRatio of the step. Where the replay does not reproduce the run, no saving is known: then a finding needs an
// excess of kMinUntoldRatio of the step, and blame for as much on the critical path. A scope that explains its members
// better than they do themselves is reported instead of them. Formulas and their sources:
// docs/algorithms/stragglers.md. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/causes/frontier.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {

inline constexpr double kMinSavingRatio = 0.003;
inline constexpr double kMinUntoldRatio = 0.01;
inline constexpr double kStragglerAlpha = 0.01;

enum class StragglerScope : uint8_t { kRank = 0, kGpu, kHost, kRail, kStage, kCommunicator };
[[nodiscard]] std::string_view Name(
    StragglerScope scope);  // "rank" | "gpu" | "host" | "rail" | "stage" | "communicator"

// "rank 3", "host node1", but "rail 2" and "stage 0" as they are.
[[nodiscard]] std::string ScopedName(StragglerScope scope, std::string_view id);

enum class Recurrence : uint8_t { kPersistent = 0, kPeriodic, kBursty, kRandom };
[[nodiscard]] std::string_view Name(Recurrence recurrence);

struct StragglerPart {
  CauseKind cause = CauseKind::kUnknown;
  std::string kernel;
  int64_t ns_per_step = 0;
  double excess_ratio = 0;  // how much slower or more than the peers'; 0 = unknown
};

struct Straggler {
  StragglerScope scope = StragglerScope::kRank;
  std::string id;                       // "3", "gpu 2", "node1", "rail 2", "stage 0", communicator id
  std::vector<int32_t> rank_indices;    // ascending
  std::vector<uint32_t> communicators;  // whose transfers are slow; empty: the ranks' own time is
  Recurrence kind = Recurrence::kPersistent;
  int64_t effect_ns_per_step = 0;             // mean lateness of the scope per step
  std::pair<int64_t, int64_t> confidence_ns;  // 95 %, moving block bootstrap
  double p_adjusted = 1;
  std::optional<WhatIf> what_if;       // null: the replay cannot tell
  std::string why_no_saving;           // why it cannot; "" = it does
  bool contradicted = false;           // it saves nothing, although the others lose much to it
  std::optional<WhatIf> after_others;  // what it saves once others are fixed; null: what_if says it all
  BlameSum blame;                      // what the others lost to it, over the whole run
  FrontierAnswer frontier = FrontierAnswer::kCannotTell;  // clock-free cross-check
  std::vector<StragglerPart> parts;                       // of its lateness, largest first
  double persistence = 0;              // share of the steps in which it was late beyond the minimum effect
  std::optional<double> period_steps;  // kPeriodic
  int64_t steps = 0;
  double n_eff = 0;
};

// A scope that looks late but whose steps do not decide it.
struct Undecided {
  StragglerScope scope = StragglerScope::kRank;
  std::string id;
  int64_t steps = 0;
  double n_eff = 0;
  int64_t steps_needed = 0;           // with the same autocorrelation; 0: late as often, no number of them decides it
  std::vector<int32_t> rank_indices;  // ascending
  bool stands_out = false;            // in some of its units, for certain: what is undecided is whether it recurs
  Straggler looks;                    // how it would be described; its p is not significant
  // What mending it saves where that is not told: as replayed, if that is only too rough; else as late as it is.
  double untold_saving_ratio = 0;
  bool late_throughout = false;  // in nearly all units, by far more than these differ: likewise
  double p_stalls = 1;           // that by chance one of its peers has so many stalls of this size
};

struct OneEvent {
  int32_t rank_index = -1;
  int64_t late_ns = 0;
};

// How sure one can be at most that it is no chance, given the probability `p` of the test. That is not 1 - p: a p of
// 0.01 comes of chance one time in nine, if chance was as likely as not before. At least 0.5. Source: Sellke, Bayarri,
// Berger: Calibration of p values for testing precise null hypotheses (The American Statistician, 2001).
[[nodiscard]] double ConfidenceOf(double p);

struct StragglerResult {
  std::vector<Straggler> stragglers;  // by saving, descending; without one by effect
  std::vector<Undecided> undecided;   // "not enough data"
  std::vector<OneEvent> once;         // of ranks whose lateness is one event of one or two steps
  int64_t tests = 0;
  int64_t steps = 0;
  int64_t least_steps = 0;         // with fewer independent ones nothing is decided
  std::vector<double> rank_n_eff;  // by rank index: independent steps of its own test; 0 = it was not tested
  // By rank index: by how much its own time exceeds that of its peers, as a mean over the units. Null: not known.
  std::vector<std::optional<double>> rank_late_ns;
  std::string unit = "step";  // "step" | "block"
  int64_t unit_ns = 0;        // typical length of a step, or the length of a block
  std::string reason;         // why nothing could be decided, or no saving is known; "" = it was tested
  bool decides = false;       // there were steps enough: who is not named was not late by much

  [[nodiscard]] bool are_steps() const { return unit == "step"; }
};

// "24 steps", "1 step", "2 blocks of 3.61 ms": what was tested, or `count` as many of it.
[[nodiscard]] std::string UnitsText(const StragglerResult& result, int64_t count);
// " (equivalent to 5.0 independent ones)" where successive units are alike; else "".
[[nodiscard]] std::string WorthText(int64_t units, double independent);

// What-ifs that were replayed on one graph before, to be asked again with more of the run. Not thread safe.
class WhatIfMemo {
 public:
  // compute() -> std::optional<WhatIf>, where it is not known.
  template <typename Compute>
  std::optional<WhatIf> Get(const Idealisation& ideal, const Compute& compute) {
    const Key key(ideal.rank_indices, ideal.part, ideal.communicators, ideal.all_transfers_zero, ideal.time_ns);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    if (known_.size() == kMost) known_.clear();
    return known_.emplace(key, compute()).first->second;
  }

 private:
  static constexpr size_t kMost = 1'024;
  using Key = std::tuple<std::vector<int32_t>, std::optional<LatenessPart>, std::vector<uint32_t>, bool,
                         std::optional<std::pair<int64_t, int64_t>>>;
  std::map<Key, std::optional<WhatIf>> known_;
};

struct TestedLateness;  // tested_lateness.h

struct StragglerInput {
  const RunData& run;
  const RankResolution& ranks;
  const MatchResult& match;
  const ArrivalGraph& graph;
  const Replay& replay;
  const BlameResult& blame;
  WhatIfMemo* memo = nullptr;                // of that replay
  Executor* executor = nullptr;              // to replay on; null: on this thread alone
  const TestedLateness* replayed = nullptr;  // where a part of the run is replayed, of that alone; unjudged
};

// Those of the tested that cost something.
[[nodiscard]] StragglerResult FindStragglers(const StragglerInput& input, const TestedLateness& tested);

}  // namespace lockstep
