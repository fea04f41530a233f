// Origins, causes, parts and what-if against reruns without the cause.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/arrivals/lateness.h"
#include "bench/accuracy/rows.h"

namespace lockstep {
namespace {

using Scenarios = std::vector<std::string>;

// Tensor-parallel groups joined by data, expert or pipeline parallelism: what one rank does wrong reaches the others
// through two kinds of communicators and more.
const Scenarios& JoinedLayouts() {
  static const Scenarios all = {
      "--program train --tp 4 --dp 4 --hosts 4 --gpus-per-host 4 --layers 8 --steps 30 --ids groups",
      "--program train --tp 8 --dp 4 --hosts 4 --gpus-per-host 8 --layers 6 --steps 30 --ids groups",
      "--program moe --tp 2 --dp 8 --ep 8 --hosts 2 --gpus-per-host 8 --layers 6 --steps 30 --ids groups",
      "--program train --tp 2 --dp 2 --pp 2 --hosts 2 --gpus-per-host 4 --layers 8 --steps 30 --ids full"};
  return all;
}

const Scenarios& ServingLayouts() {
  static const Scenarios all = {
      "--program decode --tp 8 --hosts 1 --layers 16 --steps 40 --ids groups",
      "--program decode --tp 4 --dp 2 --hosts 2 --gpus-per-host 4 --layers 16 --steps 40 --ids groups",
      "--program prefill --tp 4 --dp 2 --hosts 1 --layers 12 --steps 20 --ids groups",
      "--program batching --tp 8 --hosts 1 --layers 12 --steps 30 --ids groups"};
  return all;
}

// Every kind that strikes one rank, where a training step of 70 ms and more feels it.
const Scenarios& Causes() {
  static const Scenarios all = {"slow_gpu:factor=1.1",         "slow_gpu:factor=1.05",
                                "slow_kernel:factor=1.6",      "more_work:factor=1.12",
                                "periodic_pause:every=6,ms=3", "data_stall:p=0.2,ms=5",
                                "late_host:us=80,p=0.3",       "late_host:us=300,p=0.05",
                                "copy_contention:gbps=5",      "transient:from=5,to=15,factor=1.3",
                                "periodic_pause:every=5,ms=20"};
  return all;
}

std::string Flags(int t, const Scenarios& layouts) {
  const size_t n = Causes().size();
  return layouts[static_cast<size_t>(t) / n % layouts.size()] + " --noise device_spread=0.001" +
         " --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5 --cause " + Causes()[static_cast<size_t>(t) % n];
}

Scenarios AllLayouts() {
  Scenarios all = JoinedLayouts();
  all.insert(all.end(), ServingLayouts().begin(), ServingLayouts().end());
  return all;
}

// The foremost of whom the stragglers name; where the steps do not decide it, of who looks late.
const Straggler* Foremost(const StragglerResult& result) {
  if (!result.stragglers.empty()) return &result.stragglers.front();
  return result.undecided.empty() ? nullptr : &result.undecided.front().looks;
}

void ScoreOrigin(Trial& trial, Score& score) {
  const TruthOfCause& cause = trial.sim().truth.causes.front();
  if (SavingRatio(cause) < kFindableSaving) return;
  const Straggler* first = Foremost(trial.stragglers());
  std::vector<int32_t> named;
  if (first != nullptr) {
    for (const int32_t index : first->rank_indices) named.push_back(trial.RankOf(index));
  }
  const bool right = named == cause.origin_ranks;
  score.Count("origin rank", right);
  const std::string_view told = right && !first->parts.empty() ? Name(first->parts.front().cause) : "";
  score.Count("with its cause", right && told == cause.category);
  if (!right || told != cause.category) {
    score.Note(fmt::format("{}: ranks {} as {} (truth: rank {}, {}, saving {:.2f} %)", cause.cause.name,
                           fmt::join(named, ","), told, cause.origin_ranks.front(), cause.category,
                           SavingRatio(cause) * 100));
  }
}

FigureRow OriginRow(const Plan& plan) {
  FigureRow row{.id = "cause_origin",
                .figure = "origin through two and more communicators, saving >= 0.4 %",
                .claims = {{.name = "origin rank", .target = 0.98}, {.name = "with its cause", .target = 0.95}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(11, 440, 880); ++t) {
    row.tasks.push_back(TrialTask(row, Words(Flags(t, JoinedLayouts())), SeedOf(plan, row.id, t), true, ScoreOrigin));
  }
  return row;
}

void ScoreParts(Trial& trial, Score& score) {
  for (const uint32_t i : trial.graph().order) {
    const InstanceLateness lateness = DecomposeLateness(trial.graph(), trial.match(), i);
    if (!lateness.decomposed) continue;
    for (size_t m = 0; m < lateness.members.size(); ++m) {
      const MemberLateness& member = lateness.members[m];
      const int64_t sum = std::accumulate(member.times_m_ns.begin(), member.times_m_ns.end(), int64_t{0});
      score.Count("parts sum to the lateness", sum == member.lateness_times_m_ns &&
                                                   sum == trial.match().instances[i].members[m].lateness_times_m_ns);
    }
  }
  const BlameResult& blame = trial.blame();
  int64_t waits = blame.unassigned_ns;
  for (const BlameShare& share : blame.shares) waits += share.wait_ns;
  score.Count("blame sums to the waits", waits == blame.total_wait_ns);
}

FigureRow PartsRow(const Plan& plan) {
  FigureRow row{.id = "cause_parts",
                .figure = "parts sum to the lateness, blame to the waits",
                .claims = {{.name = "parts sum to the lateness", .kind = ClaimKind::kExact, .min_trials = 10'000},
                           {.name = "blame sums to the waits", .kind = ClaimKind::kExact, .min_trials = 10}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(4, 22, 44); ++t) {
    row.tasks.push_back(TrialTask(row, Words(Flags(t, JoinedLayouts())), SeedOf(plan, row.id, t), false, ScoreParts));
  }
  return row;
}

// What a cause makes longer of a rank's own time.
LatenessPart PartOf(InjectedKind kind) {
  switch (kind) {
    case InjectedKind::kLateHost:
    case InjectedKind::kPeriodicPause:
    case InjectedKind::kDataStall:
      return LatenessPart::kHost;
    case InjectedKind::kCopyContention:
      return LatenessPart::kCopy;
    default:
      return LatenessPart::kCompute;
  }
}

// Of a rail, the communicators that run on it alone; of every other cause the ranks that it strikes, and where another
// cause strikes the same, the part of their time.
Idealisation ScopeOf(const Trial& trial, const TruthOfCause& cause) {
  Idealisation ideal;
  const auto struck = [&](int32_t rank) {
    return std::find(cause.origin_ranks.begin(), cause.origin_ranks.end(), rank) != cause.origin_ranks.end();
  };
  if (cause.cause.kind == InjectedKind::kSlowRail) {
    for (uint32_t c = 0; c < trial.match().communicators.size(); ++c) {
      const std::vector<int32_t>& members = trial.match().communicators[c].members;
      if (!members.empty() && std::all_of(members.begin(), members.end(), struck)) ideal.communicators.push_back(c);
    }
    return ideal;
  }
  for (size_t r = 0; r < trial.ranks().ranks.size(); ++r) {
    if (struck(trial.RankOf(static_cast<int32_t>(r)))) ideal.rank_indices.push_back(static_cast<int32_t>(r));
  }
  const std::vector<TruthOfCause>& causes = trial.sim().truth.causes;
  const auto strikes_the_same = [&](const TruthOfCause& it) { return it.origin_ranks == cause.origin_ranks; };
  if (std::count_if(causes.begin(), causes.end(), strikes_the_same) > 1) ideal.part = PartOf(cause.cause.kind);
  return ideal;
}

void ScoreWhatIfOf(Trial& trial, const TruthOfCause& cause, const std::string& flags, Score& score) {
  const auto step = static_cast<double>(cause.step_ns_with);
  const double truth = static_cast<double>(cause.step_ns_with - cause.step_ns_without);
  ReplayScratch scratch;
  const auto what_if = trial.replay().Saving(ScopeOf(trial, cause), scratch);
  score.Count("told", what_if.has_value());
  if (!what_if) return score.Note(fmt::format("{}: not told; {}", cause.cause.name, flags));
  const double error = std::abs(static_cast<double>(what_if->saving_ns_per_step) - truth);
  const bool held = error <= std::max(0.1 * std::abs(truth), 0.001 * step);
  score.Count("within max(10 %, 0.1 % of the step)", held);
  score.Value("error of the step", error / step * 100);
  if (held) return;
  score.Note(fmt::format("{}: saving {:.0f} us, truth {:.0f} us of {:.0f} us; {}", cause.cause.name,
                         static_cast<double>(what_if->saving_ns_per_step) / 1e3, truth / 1e3, step / 1e3, flags));
}

Task WhatIfTask(const FigureRow& row, const Plan& plan, int t, const std::string& flags) {
  return TrialTask(row, Words(flags), SeedOf(plan, row.id, t), true, [flags](Trial& trial, Score& score) {
    for (const TruthOfCause& cause : trial.sim().truth.causes) ScoreWhatIfOf(trial, cause, flags, score);
  });
}

// Whole stages, rails, experts, work that is exchanged, and two causes at once.
const Scenarios& WiderScenarios() {
  static const Scenarios all = {
      "--program moe --tp 2 --dp 8 --ep 8 --hosts 2 --gpus-per-host 8 --layers 6 --steps 30 --cause "
      "more_work:factor=1.2",
      "--program moe --tp 1 --dp 8 --ep 8 --hosts 1 --layers 6 --steps 30 --cause more_work:factor=1.15",
      "--program moe --tp 2 --dp 8 --ep 8 --hosts 2 --gpus-per-host 8 --layers 6 --steps 30 --cause "
      "expert_imbalance:skew=0.5",
      "--program moe --tp 1 --dp 8 --ep 8 --hosts 1 --layers 6 --steps 30 --cause expert_imbalance:skew=1",
      "--program moe --tp 1 --dp 8 --ep 4 --hosts 2 --gpus-per-host 4 --layers 6 --steps 30 --cause "
      "expert_imbalance:skew=0.8",
      "--program moe --tp 1 --dp 8 --ep 8 --hosts 1 --layers 6 --steps 30 --cause slow_kernel:factor=1.5",
      "--program train --tp 2 --dp 2 --pp 2 --hosts 2 --gpus-per-host 4 --layers 8 --steps 30 --cause "
      "stage_imbalance:factor=1.2",
      "--program train --tp 2 --dp 2 --pp 4 --hosts 2 --gpus-per-host 8 --layers 8 --steps 24 --cause "
      "stage_imbalance:factor=1.15",
      "--program pipeline --tp 1 --dp 1 --pp 4 --hosts 1 --layers 16 --steps 30 --cause stage_imbalance:factor=1.2",
      "--program pipeline --tp 1 --dp 2 --pp 4 --hosts 1 --layers 16 --steps 30 --cause stage_imbalance:factor=1.2",
      "--program pipeline --tp 2 --dp 1 --pp 4 --hosts 1 --layers 16 --steps 30 --cause slow_gpu:factor=1.15",
      "--program pipeline --tp 2 --dp 1 --pp 4 --hosts 1 --layers 16 --steps 30 --cause more_work:factor=1.15",
      "--program train --tp 4 --dp 4 --hosts 4 --gpus-per-host 4 --layers 8 --steps 30 --overlap off --cause "
      "slow_rail:factor=2",
      "--program train --tp 4 --dp 4 --hosts 4 --gpus-per-host 4 --layers 8 --steps 30 --cause slow_rail:factor=3",
      "--program train --tp 4 --dp 4 --hosts 4 --gpus-per-host 4 --layers 8 --steps 30 --cause slow_gpu:factor=1.1 "
      "--cause data_stall:p=0.2,ms=5",
      "--program decode --tp 8 --hosts 1 --layers 16 --steps 40 --cause late_host:us=80,p=0.3 --cause "
      "slow_gpu:factor=1.1",
      "--program moe --tp 2 --dp 8 --ep 8 --hosts 2 --gpus-per-host 8 --layers 6 --steps 30 --cause "
      "slow_gpu:factor=1.1 "
      "--cause copy_contention:gbps=5",
      "--program batching --tp 8 --hosts 1 --layers 12 --steps 30 --cause late_host:us=300,p=0.05 --cause "
      "more_work:factor=1.12"};
  return all;
}

std::string WiderFlags(int t) {
  const Scenarios& all = WiderScenarios();
  return all[static_cast<size_t>(t) % all.size()] +
         " --ids groups --noise device_spread=0.001 --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5";
}

FigureRow WhatIfRow(const Plan& plan) {
  FigureRow row{
      .id = "cause_what_if",
      .figure = "saving of the what-if against a rerun without the cause",
      .claims = {{.name = "within max(10 %, 0.1 % of the step)", .target = 0.95}, {.name = "told", .target = 0.95}},
      .unit = "%",
      .tasks = {}};
  const Scenarios layouts = AllLayouts();
  for (int t = 0; t < plan.Trials(22, 352, 704); ++t) {
    row.tasks.push_back(WhatIfTask(row, plan, t, Flags(t, layouts)));
  }
  return row;
}

FigureRow WiderWhatIfRow(const Plan& plan) {
  FigureRow row{
      .id = "cause_what_if_wider",
      .figure = "the same of stages, rails, experts, exchanged work and two causes at once",
      .claims = {{.name = "within max(10 %, 0.1 % of the step)", .target = 0.95}, {.name = "told", .target = 0.95}},
      .unit = "%",
      .tasks = {}};
  for (int t = 0; t < plan.Trials(18, 108, 360); ++t) {
    row.tasks.push_back(WhatIfTask(row, plan, t, WiderFlags(t)));
  }
  return row;
}

}  // namespace

std::vector<FigureRow> CauseRows(const Plan& plan) {
  return {OriginRow(plan), PartsRow(plan), WhatIfRow(plan), WiderWhatIfRow(plan)};
}

}  // namespace lockstep
