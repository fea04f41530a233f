// What a tired engineer reads first: who makes whom wait, where the rank-time goes, what bounds the job, what to do
// next.
//
// Rules and thresholds: docs/algorithms/verdicts.md. Units: ns. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/fleet/imbalance.h"
#include "analysis/metrics/kernels/tails.h"
#include "analysis/metrics/kernels/waiting_kernels.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/summary/quality.h"

namespace lockstep {

// A culprit is named only if the waiting it causes is at least this share of the fleet's rank-time.
inline constexpr double kMaterialShare = 0.005;
inline constexpr size_t kMaxCulprits = 3;
inline constexpr size_t kMaxProblems = 3;

// part / whole; 0 where there is no whole.
[[nodiscard]] double Share(int64_t part, int64_t whole);

// Shares of the fleet's time over the common window; they sum to 1.
struct TimeShare {
  double compute = 0;
  double exposed_wait = 0;
  double exposed_transfer = 0;
  double exposed_unresolved = 0;
  double copy = 0;
  double opaque = 0;
  double idle = 0;
  double idle_host = 0;  // part of idle: the host asked too late, or launch latency
};

// How often the culprit is late.
enum class CulpritKind : uint8_t {
  kNotTested = 0,  // too little data for a statement over time, or none was asked for
  kStraggler = 1,  // again and again: `straggler` tells how
  kUndecided = 2,  // it looks so, but the steps do not decide it
  kOnce = 3,       // once, for long
  kIrregular = 4,  // it caused most of the waiting, in no rhythm that the test over the steps finds
};
[[nodiscard]] std::string_view Name(CulpritKind kind);  // "" | "straggler" | "undecided" | "once" | "irregular"

// Cause of who is late because it moves more bytes than the others.
inline constexpr std::string_view kMoreData = "more_data";

struct Culprit {
  size_t member = 0;  // into Fleet::members; of several ranks the one that most waiting comes from
  int64_t caused_wait_ns = 0;
  double share_of_wait = 0;  // of all waiting
  // Of a straggler: 1 - its adjusted p value, at most 0.5 where the clock-free frontier disagrees. Else waiting it
  // certainly caused / waiting in instances where it arrived last at all.
  double confidence = 0;
  std::string_view cause;                 // "slow_compute" | kMoreData | a Name(CauseKind) | "" = not told
  std::optional<int64_t> worst_start_ns;  // arrival of the culprit in the instance that cost most
  // Where nearly all of it lies, if that is a short part of the run: begin and end, aligned.
  std::optional<std::pair<int64_t, int64_t>> stretch_ns;
  CulpritKind kind = CulpritKind::kNotTested;
  const Straggler* straggler = nullptr;  // kStraggler; borrowed from the StragglerResult
  const Straggler* looks = nullptr;      // kUndecided, of one rank: what mending it would save; borrowed likewise
  // Most of what it is blamed for lies in groups of which a member has no record: that one may have come later still,
  // so that it is neither certain nor would mending it certainly save anything.
  bool open = false;
};

// The 90 % interval that a saving is told with, in shares of the step. The saving is of the steps that were recorded,
// so that it has the error of the replay and no error of sampling.
[[nodiscard]] std::pair<double, double> SavingInterval(const WhatIf& what_if);

enum class RunVerdict : uint8_t { kInconclusive = 0, kTransfer, kSkew, kMixed, kCompute, kHost };
[[nodiscard]] std::string_view Name(RunVerdict verdict);

// What one rank caused by arriving late.
struct LateArrivals {
  int64_t caused_ns = 0;    // certainly
  int64_t last_ns = 0;      // certainly or not
  int64_t in_pairs_ns = 0;  // of `caused_ns`: a receiver waited for its sender
  int64_t open_ns = 0;      // of `last_ns` where a member without a record may have come later still
  int64_t worst_ns = 0;     // in one instance
  int64_t worst_start_ns = 0;
  // Of what it certainly caused: sums of the time since the first instance of all, and of its square, weighted by ns.
  double time_sum = 0;
  double square_sum = 0;
  // Sum of how much later than each of the other members it came; those that came after it count as negative. Where
  // nobody is late it is about 0, however often the others wait for it because only its arrival matters to them.
  double later_than_others_ns = 0;
  double late_square_sum = 0;  // of the same where it came later than the others on average, in ns^2
  double latest_ns = 0;        // by which it came later than the mean of the others in one instance, at most
};

struct WaitBlame {
  int64_t wait_ns = 0;          // of all usable instances
  int64_t certain_wait_ns = 0;  // what of it the uncertainty of the clocks leaves
  int64_t in_pairs_ns = 0;      // of that, receivers for their senders
  int64_t unassigned_ns = 0;    // not certainly caused by one rank
  int64_t origin_ns = 0;        // what times of by_member count from
  int64_t span_ns = 0;          // of the ranks, on average
  // Ranks that most of the unassigned waiting may have been for, most first: several arrive last together.
  std::vector<int32_t> tied_ranks;
  // Material ones, worst first: all candidates, or all that NameCulprits names.
  std::vector<Culprit> culprits;
  bool traced = false;  // waits of stragglers are followed back to their origin: NameCulprits used the blame
  std::vector<LateArrivals> by_member;
  // Of the ranks that are no members of the fleet (--ranks) the one that certainly caused most.
  struct LeftOut {
    int32_t rank = -1;
    int64_t caused_ns = 0;
  };
  std::optional<LeftOut> left_out;
};

// Where nearly all of what a rank caused lies: its mean time and two standard deviations to both sides. nullopt unless
// that is a short part of the run.
[[nodiscard]] std::optional<std::pair<int64_t, int64_t>> StretchOf(const LateArrivals& late, const WaitBlame& blame);

[[nodiscard]] std::optional<TimeShare> ComputeTimeShare(const FleetMeasures& measures);

// The same shares of the time that is not idle; of a time that is all idle unchanged.
[[nodiscard]] TimeShare BusyShare(const TimeShare& share);

// Who arrived late, by rank index; fed with the selected instances, those that are not usable() left out by itself.
struct LateArrivalsSum {
  int64_t wait_ns = 0;               // of all
  int64_t certain_wait_ns = 0;       // what each wait exceeds its uncertainty by
  int64_t in_pairs_ns = 0;           // of that, receivers for their senders
  std::optional<int64_t> origin_ns;  // arrival in the first instance: times count from it
  std::map<int32_t, LateArrivals> by_rank;

  void Add(const MatchedInstance& instance);
};

[[nodiscard]] WaitBlame ComputeWaitBlame(const Fleet& fleet, const FleetMeasures& measures, const Imbalance& imbalance,
                                         const LateArrivalsSum& late);

// Who is to be named when stragglers were looked for: the stragglers; else who was late once for long; else, while the
// steps do not decide it, who would be named without the test if its part is more than its fair one. A null `blame`
// counts the waiting by who certainly arrived last, and leaves out stragglers that caused nothing material of it: for
// less than the whole run, of which the blame is.
void NameCulprits(const Fleet& fleet, const FleetMeasures& measures, const StragglerResult& stragglers,
                  const BlameResult* blame, WaitBlame& waiting);

// The culprit that is this straggler. Null: it is not named.
[[nodiscard]] const Culprit* NamedAs(const std::vector<Culprit>& culprits, const Straggler& straggler);

// The member that certainly caused at least half of all waiting, if it is one of three or more. nullopt: nobody did.
[[nodiscard]] std::optional<size_t> MostAwaitedMember(const WaitBlame& blame);

// What cannot be told could be either: a verdict is one that it would not change by much.
[[nodiscard]] RunVerdict ComputeVerdict(const std::optional<TimeShare>& share);

// Communication of which it cannot be told whether the ranks waited.
struct UnresolvedTime {
  double ratio = 0;                            // of the fleet's time over the common window
  Unresolved reason = Unresolved::kUnmatched;  // of most of it
  bool leads = false;                          // it could change who is named: the statement begins with it
  std::vector<int32_t> missing_ranks;          // kMissingRecord: members of groups that have no trace, ascending
  std::optional<int32_t> lacking_rank;         // kMissingRecord without such: who lacks most of its records, or all
  bool groups_inferred = false;  // kMissingRecord: no trace tells who is in a group, and those found may lack members
  bool little_known = false;     // kMissingRecord: hardly any communication is known
  // A kernel that looks like communication though nobody classified it so: then the rest of this is about it.
  std::optional<WaitingKernel> kernel;
};
[[nodiscard]] std::string_view Name(Unresolved reason);  // "missing_record" | "unknown_role" | "unmatched" | "clocks"

// `culprits`: those named. `kernel`: what FindWaitingKernel found. nullopt where all is told.
[[nodiscard]] std::optional<UnresolvedTime> ComputeUnresolved(const Fleet& fleet, const FleetMeasures& measures,
                                                              const std::optional<TimeShare>& share,
                                                              const std::vector<Culprit>& culprits,
                                                              std::optional<WaitingKernel> kernel);

// Where more time is unresolved than the culprits certainly caused, what made them late may lie in it: none is certain.
void DoubtBeside(const std::optional<UnresolvedTime>& unresolved, std::vector<Culprit>& culprits);

// Nobody tells how many ranks the job has, nor who the members of its groups are: those that are here are taken for
// all.
[[nodiscard]] bool AssumesAllRanks(const Fleet& fleet);

// Global ranks that groups of the run have as members, or the run as a whole, and of which there is no trace;
// ascending.
[[nodiscard]] std::vector<int32_t> RanksWithoutTrace(const Fleet& fleet);

// The failed gates that matter most for believing the answer, at most kMaxProblems.
[[nodiscard]] std::vector<Gate> WorstProblems(const std::vector<Gate>& gates);

}  // namespace lockstep
