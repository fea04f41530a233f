// Stragglers found, not invented, and honestly left open.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/metrics/summary/summary.h"
#include "bench/accuracy/rows.h"

namespace lockstep {
namespace {

struct Size {
  int tp;
  int dp;
  int hosts;
};

std::string Healthy(Size size, double rho) {
  return fmt::format(
      "--program decode --tp {} --dp {} --hosts {} --gpus-per-host 8 --layers 2 --steps 60 --ids groups "
      "--noise device_spread=0.001,rho={},rho_sigma=0.002 --clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5",
      size.tp, size.dp, size.hosts, rho);
}

void ScoreHealthy(Trial& trial, Score& score) {
  const StragglerResult& result = trial.stragglers();
  const auto found = std::count_if(result.stragglers.begin(), result.stragglers.end(), [](const Straggler& s) {
    return s.kind == Recurrence::kPersistent && (!s.what_if || s.what_if->saving_ratio >= kMinSavingRatio);
  });
  score.Count("runs without a false finding", found == 0);
  if (found > 0) {
    const Straggler& s = result.stragglers.front();
    score.Note(fmt::format("{} ranks: {} {} saving {:.2f} %", trial.ranks().ranks.size(), Name(s.scope), s.id,
                           s.what_if ? s.what_if->saving_ratio * 100 : 0));
  }
}

FigureRow FalseFindings(const Plan& plan) {
  FigureRow row{.id = "straggler_false",
                .figure = "false persistent stragglers, no cause, rho 0 to 0.99",
                .claims = {{.name = "runs without a false finding", .target = 598.0 / 600, .min_trials = 600}},
                .unit = "",
                .tasks = {}};
  const Size sizes[] = {{8, 1, 1}, {8, 8, 8}, {8, 64, 64}, {8, 128, 128}};
  const double rhos[] = {0, 0.3, 0.9, 0.99};
  // Mostly small ones; every tenth 512 ranks, every twentieth 1,024.
  for (int t = 0; t < plan.Trials(24, 600, 2'000); ++t) {
    const Size size = t % 20 == 19 ? sizes[3] : t % 10 == 9 ? sizes[2] : sizes[t % 2];
    row.tasks.push_back(
        TrialTask(row, Words(Healthy(size, rhos[t / 2 % 4])), SeedOf(plan, row.id, t), false, ScoreHealthy));
  }
  return row;
}

std::string Sick(int t, int steps) {
  const bool decode = t / 8 % 2 == 0;
  // Savings from half a percent of the step to several. A host that launches late costs nothing in training: it is far
  // ahead of its device.
  const double slow[] = {1.016, 1.03, 1.06, 1.1};
  const double slow_decode[] = {1.06, 1.08, 1.1, 1.15};
  const double more[] = {1.014, 1.02, 1.04, 1.08};
  const int strength = t / 2 % 4;
  std::string cause = fmt::format("slow_gpu:factor={}", decode ? slow_decode[strength] : slow[strength]);
  if (t % 2 == 1) {
    cause = decode ? fmt::format("late_host:us={},p=0.3", 20 + 20 * strength)
                   : fmt::format("more_work:factor={}", more[strength]);
  }
  const std::string layout = decode ? "--program decode --tp 8 --hosts 1" : "--program train --tp 4 --dp 4 --hosts 2";
  return fmt::format(
      "{} --gpus-per-host 8 --layers 8 --steps {} --ids groups --noise device_spread=0.001 "
      "--clock offset_ms=5,drift_ppm=10,bias_us=2,jitter_us=0.5 --cause {}",
      layout, steps, cause);
}

bool Names(const StragglerResult& result, const RankResolution& ranks, const std::vector<int32_t>& origins) {
  return std::any_of(result.stragglers.begin(), result.stragglers.end(), [&](const Straggler& s) {
    return std::any_of(s.rank_indices.begin(), s.rank_indices.end(), [&](int32_t r) {
      const int32_t rank = ranks.ranks[static_cast<size_t>(r)].rank;
      return std::find(origins.begin(), origins.end(), rank) != origins.end();
    });
  });
}

void ScoreFound(Trial& trial, Score& score) {
  const TruthOfCause& cause = trial.sim().truth.causes.front();
  const double saving = SavingRatio(cause);
  const StragglerResult& result = trial.stragglers();
  if (!EnoughSteps(trial, cause)) return;
  const bool named = Names(result, trial.ranks(), cause.origin_ranks);
  score.Value("saving", saving * 100);
  if (saving >= 0.01) score.Count("saving >= 1 %: found", named);
  if (saving >= 0.005 && saving < 0.01) score.Count("saving 0.5 to 1 %: found", named);
  if (!named && saving >= 0.01)
    score.Note(fmt::format("missed rank {} of {}: {} saving {:.2f} %", cause.origin_ranks.front(),
                           trial.ranks().ranks.size(), cause.category, saving * 100));
}

FigureRow Found(const Plan& plan) {
  FigureRow row{
      .id = "straggler_found",
      .figure = "straggler found, enough effective steps",
      .claims = {{.name = "saving >= 1 %: found", .target = 0.99}, {.name = "saving 0.5 to 1 %: found", .target = 0.9}},
      .unit = "%",
      .tasks = {}};
  for (int t = 0; t < plan.Trials(16, 640, 1'280); ++t) {
    row.tasks.push_back(TrialTask(row, Words(Sick(t, 60)), SeedOf(plan, row.id, t), true, ScoreFound));
  }
  return row;
}

void ScoreNotEnough(Trial& trial, Score& score) {
  const StragglerResult& result = trial.stragglers();
  if (EnoughSteps(trial, trial.sim().truth.causes.front())) return;
  const bool more = std::all_of(result.undecided.begin(), result.undecided.end(),
                                [](const Undecided& u) { return u.steps_needed > u.steps; });
  const bool says = !result.undecided.empty() || result.reason.rfind("not enough data", 0) == 0;
  const bool right = result.stragglers.empty() && more && says;
  score.Count("says so, and how many would do", right);
  if (right) return;
  score.Note(fmt::format("{} named, {} undecided{}: {}", result.stragglers.size(), result.undecided.size(),
                         more ? "" : " with steps enough", result.reason));
}

FigureRow NotEnough(const Plan& plan) {
  FigureRow row{.id = "straggler_undecided",
                .figure = "too few steps: not enough data",
                .claims = {{.name = "says so, and how many would do", .kind = ClaimKind::kExact, .min_trials = 60}},
                .unit = "",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(4, 64, 120); ++t) {
    row.tasks.push_back(
        TrialTask(row, Words(Sick(4 * (t / 4) + 3 - t % 2, 6)), SeedOf(plan, row.id, t), false, ScoreNotEnough));
  }
  return row;
}

// 64 ranks on 8 hosts, kernel names only, clocks apart, records lost, windows that begin at different times.
std::string Everyday(int t, std::string_view cause) {
  const std::string_view layouts[] = {"--tp 8 --dp 8", "--tp 16 --dp 4", "--tp 64"};
  return fmt::format(
      "--program decode {} --hosts 8 --gpus-per-host 8 --layers 8 --steps 48 --ids names "
      "--clock offset_ms=5,drift_ppm=10,bias_us=2 --defect loss:p=0.005 --defect stagger:s=0.02 --cause {}",
      layouts[t % 3], cause);
}

void ScoreEveryday(Trial& trial, Score& score) {
  const TruthOfCause& cause = trial.sim().truth.causes.front();
  const StragglerResult& result = trial.stragglers();
  const bool named = result.stragglers.size() == 1 && result.stragglers[0].scope == StragglerScope::kRank &&
                     Names(result, trial.ranks(), cause.origin_ranks);
  score.Count("rank named, alone", named);
  if (!named) {
    score.Note(fmt::format("rank {}: {} named", cause.origin_ranks.front(), result.stragglers.size()));
    return;
  }
  const Straggler& it = result.stragglers[0];
  score.Count("with its cause", !it.parts.empty() && it.parts[0].cause == CauseKind::kHostDelay);
  const double truth = SavingRatio(cause);
  const double told = it.what_if ? it.what_if->saving_ratio : 0;
  const auto [low, high] = SavingInterval(it.what_if.value_or(WhatIf{}));
  score.Count("saving inside its interval", it.what_if && low <= truth && truth <= high);
  score.Value("saving error", 100 * (told - truth) / truth);
}

void ScoreNobody(Trial& trial, Score& score) {
  score.Count("without it nobody", trial.stragglers().stragglers.empty());
}

FigureRow EverydayRow(const Plan& plan) {
  FigureRow row{.id = "straggler_names_only",
                .figure = "a host that launches late among 64 ranks, kernel names only, records lost",
                .claims = {{.name = "rank named, alone", .target = 0.98, .min_trials = 30},
                           {.name = "with its cause", .target = 0.95, .min_trials = 30},
                           {.name = "saving inside its interval", .target = 0.95, .min_trials = 30},
                           {.name = "without it nobody", .target = 598.0 / 600, .min_trials = 30}},
                .unit = "%",
                .tasks = {}};
  for (int t = 0; t < plan.Trials(3, 36, 150); ++t) {
    const uint64_t seed = SeedOf(plan, row.id, t);
    row.tasks.push_back(TrialTask(row, Words(Everyday(t, "late_host:us=50,p=0.3")), seed, true, ScoreEveryday));
    row.tasks.push_back(TrialTask(row, Words(Everyday(t, "none")), seed, false, ScoreNobody));
  }
  return row;
}

}  // namespace

std::vector<FigureRow> StragglerRows(const Plan& plan) {
  return {FalseFindings(plan), Found(plan), NotEnough(plan), EverydayRow(plan)};
}

}  // namespace lockstep
