// Origins, causes, parts and what-if against reruns without the cause.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "analysis/metrics/causes/lateness.h"
#include "bench/accuracy/rows.h"

namespace lockstep {
namespace {

// Tensor-parallel groups joined by data parallelism: what one rank does wrong reaches the others through both.
const std::vector<std::string>& Layouts() {
  static const std::vector<std::string> all = {
      "--program train --tp 4 --dp 4 --hosts 4 --gpus-per-host 4 --layers 8 --steps 30",
      "--program train --tp 8 --dp 4 --hosts 4 --gpus-per-host 8 --layers 6 --steps 30",
      "--program moe --tp 2 --dp 8 --ep 8 --hosts 2 --gpus-per-host 8 --layers 6 --steps 30"};
  return all;
}

const std::vector<std::string>& Causes() {
  static const std::vector<std::string> all = {"slow_gpu:factor=1.1",         "late_host:us=80,p=0.3",
                                               "slow_kernel:factor=1.6",      "more_work:factor=1.12",
                                               "periodic_pause:every=6,ms=3", "slow_gpu:factor=1.05"};
  return all;
}

std::string Flags(int t) {
  const size_t n = Causes().size();
  return Layouts()[static_cast<size_t>(t) / n % Layouts().size()] + " --ids groups --noise device_spread=0.001" +
         " --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5 --cause " + Causes()[static_cast<size_t>(t) % n];
}

double SavingRatio(const TruthOfCause& cause) {
  if (cause.step_ns_with <= 0) return 0;
  return static_cast<double>(cause.step_ns_with - cause.step_ns_without) / static_cast<double>(cause.step_ns_with);
}

// The rank with most blame over all its own parts, and the part that weighs most there.
struct Origin {
  int32_t rank_index = -1;
  LatenessPart part = LatenessPart::kRest;
};

Origin WorstOrigin(const BlameResult& blame, size_t ranks) {
  std::vector<int64_t> total(ranks);
  for (const BlameShare& share : blame.shares) {
    if (share.rank_index >= 0) total[static_cast<size_t>(share.rank_index)] += share.wait_ns;
  }
  Origin origin;
  origin.rank_index = static_cast<int32_t>(std::max_element(total.begin(), total.end()) - total.begin());
  for (const BlameShare& share : blame.shares) {
    if (share.rank_index != origin.rank_index) continue;
    origin.part = share.part;
    break;
  }
  return origin;
}

void ScoreOrigin(Trial& trial, Score& score) {
  const TruthOfCause& cause = trial.sim().truth.causes.front();
  if (SavingRatio(cause) < 0.004) return;
  const Origin origin = WorstOrigin(trial.blame(), trial.ranks().ranks.size());
  const int32_t rank = trial.RankOf(origin.rank_index);
  const bool right = std::find(cause.origin_ranks.begin(), cause.origin_ranks.end(), rank) != cause.origin_ranks.end();
  score.Count("origin rank", right);
  const OriginCause explained =
      ExplainOrigin(trial.sim().run, trial.ranks(), trial.graph(), origin.rank_index, origin.part);
  const bool kind = right && Name(explained.kind) == cause.category;
  score.Count("with its cause", kind);
  if (!kind) {
    score.Note(fmt::format("{}: rank {} as {} (truth: rank {}, {}, saving {:.2f} %)", cause.cause.name, rank,
                           Name(explained.kind), cause.origin_ranks.front(), cause.category, SavingRatio(cause) * 100));
  }
}

FigureRow OriginRow(const Plan& plan) {
  FigureRow row{.id = "cause_origin",
                .figure = "origin through two and more communicators, saving >= 0.4 %",
                .claims = {{.name = "origin rank", .target = 0.98}, {.name = "with its cause", .target = 0.95}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(6, 216, 432); ++t) {
    row.tasks.push_back(TrialTask(row, Words(Flags(t)), SeedOf(plan, row.id, t), true, ScoreOrigin));
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
  for (int t = 0; t < plan.Trials(4, 18, 36); ++t) {
    row.tasks.push_back(TrialTask(row, Words(Flags(t)), SeedOf(plan, row.id, t), false, ScoreParts));
  }
  return row;
}

void ScoreWhatIf(Trial& trial, Score& score) {
  const TruthOfCause& cause = trial.sim().truth.causes.front();
  const auto step = static_cast<double>(cause.step_ns_with);
  const double truth = static_cast<double>(cause.step_ns_with - cause.step_ns_without);
  Idealisation ideal;
  for (size_t r = 0; r < trial.ranks().ranks.size(); ++r) {
    const int32_t rank = trial.RankOf(static_cast<int32_t>(r));
    if (std::find(cause.origin_ranks.begin(), cause.origin_ranks.end(), rank) != cause.origin_ranks.end()) {
      ideal.rank_indices.push_back(static_cast<int32_t>(r));
    }
  }
  const auto what_if = trial.replay().Saving(ideal);
  if (!what_if) return;  // counted by "what-if printed"
  const double error = std::abs(static_cast<double>(what_if->saving_ns_per_step) - truth);
  const bool held = error <= std::max(0.1 * std::abs(truth), 0.001 * step);
  score.Count("within max(10 %, 0.1 % of the step)", held);
  score.Value("error of the step", error / step * 100);
  if (!held) {
    score.Note(fmt::format("{}: saving {:.0f} us, truth {:.0f} us of {:.0f} us", cause.cause.name,
                           static_cast<double>(what_if->saving_ns_per_step) / 1e3, truth / 1e3, step / 1e3));
  }
}

FigureRow WhatIfRow(const Plan& plan) {
  FigureRow row{.id = "cause_what_if",
                .figure = "saving of the what-if against a rerun without the cause",
                .claims = {{.name = "within max(10 %, 0.1 % of the step)", .target = 0.95}},
                .unit = "%",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(6, 108, 216); ++t) {
    row.tasks.push_back(TrialTask(row, Words(Flags(t)), SeedOf(plan, row.id, t), true, ScoreWhatIf));
  }
  return row;
}

}  // namespace

std::vector<FigureRow> CauseRows(const Plan& plan) { return {OriginRow(plan), PartsRow(plan), WhatIfRow(plan)}; }

}  // namespace lockstep
